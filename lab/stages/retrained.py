"""Stage retrained of lab/dvc.yaml: the cache that was also trained on each test stream's first half."""

from lab.retrained.document import FILE
from lab.retrained.run import retrained
from lab.stages.written import pooled, run

if __name__ == "__main__":
    run(pooled(retrained, folder=True), FILE)
