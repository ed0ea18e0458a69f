"""Stage fios of lab/dvc.yaml: write amplification by combination of FIOS's features, on every drive."""

from lab.fios.document import FILE, PLOT
from lab.fios.plot import draw
from lab.fios.run import fios
from lab.stages.written import pooled, run

if __name__ == "__main__":
    run(pooled(fios), FILE, {PLOT: draw})
