"""Stage fit_workload: RC-RNN's workload classifier over all categories."""

from cachezoo.kept import Each, whole
from cachezoo.stage import stage
from cachezoo.zoo.workload.fit import Settings, fit_workload

EACH = Each(
    whole,
    Settings,
    [
        "data/requests",
    ],
    [
        "models/fitted/workload/workload.{arch_workload}",
    ],
)

if __name__ == "__main__":
    stage(fit_workload, EACH)()
