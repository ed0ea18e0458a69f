"""Stage judge_workload: that classifier beside a decision tree on validation."""

from cachezoo.kept import Each, whole
from cachezoo.stage import stage
from cachezoo.zoo.workload.judge import Settings, judge_workload

EACH = Each(
    whole,
    Settings,
    [
        "data/requests",
        "models/fitted/workload/workload.{arch_workload}",
    ],
    [
        "models/trained/workload/workload.{arch_workload}",
    ],
)

if __name__ == "__main__":
    stage(judge_workload, EACH)()
