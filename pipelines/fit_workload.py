"""Stage fit_workload: RC-RNN's workload classifier over all categories."""

from cachezoo.stage import stage
from cachezoo.systems.workload.fit import fit_workload

if __name__ == "__main__":
    stage(fit_workload)()
