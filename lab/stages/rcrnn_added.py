"""Stage rcrnn_added of lab/dvc.yaml: the classifier trained for fewer categories (RC-RNN, Figs. 9 and 16)."""

from lab.rcrnn.added_fit import fit_added
from lab.rcrnn.trained import ADDED
from lab.stages.written import run

if __name__ == "__main__":
    run(fit_added, ADDED)
