"""Stage rcrnn_sizes of lab/dvc.yaml: caching models and classics at other sizes (RC-RNN, Figs. 10 to 15)."""

from lab.rcrnn.sizes import FILE
from lab.rcrnn.sizes_run import run_sizes
from lab.stages.written import run

if __name__ == "__main__":
    run(run_sizes, FILE)
