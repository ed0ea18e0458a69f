"""Stage rcrnn of lab/dvc.yaml: RC-RNN's figures, with what the paper says of each."""

from cachezoo.stage import stage
from lab.rcrnn.figures import write_figures

if __name__ == "__main__":
    stage(write_figures)()
