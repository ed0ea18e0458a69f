"""Stage rcrnn of lab/dvc.yaml: RC-RNN's figures, with what the paper says of each."""

import sys
from pathlib import Path

from cachezoo.stage import Stage
from lab.rcrnn.figures import write_figures

if __name__ == "__main__":
    Stage(write_figures).start(Path(sys.argv[0]).stem, sys.argv[1:])
