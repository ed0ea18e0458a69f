"""Stage reconfigure of lab/dvc.yaml: caches that change their model when the workload changes."""

from lab.reconfigure.document import FILE, PLOT
from lab.reconfigure.measure import reconfigure
from lab.reconfigure.plot import draw
from lab.stages.written import run

if __name__ == "__main__":
    run(reconfigure, FILE, {PLOT: draw})
