"""Stage rcrnn_grid of lab/dvc.yaml: the workload classifier with other units and windows (RC-RNN, Fig. 8)."""

from lab.rcrnn.grid_fit import fit_grid
from lab.rcrnn.trained import GRID
from lab.stages.written import run

if __name__ == "__main__":
    run(fit_grid, GRID)
