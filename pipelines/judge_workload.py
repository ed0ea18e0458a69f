"""Stage judge_workload: that classifier beside a decision tree on validation."""

from cachezoo.stage import stage
from cachezoo.systems.workload.judge import judge_workload

if __name__ == "__main__":
    stage(judge_workload)()
