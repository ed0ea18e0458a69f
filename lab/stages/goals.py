"""Stage goals of lab/dvc.yaml: the cache at three capacities, as trained and retrained, on all test traces."""

from lab.goals.document import FILE
from lab.goals.run import goals
from lab.stages.written import pooled, run

if __name__ == "__main__":
    run(pooled(goals, folder=True), FILE)
