"""Stage virtual of lab/dvc.yaml: the virtual I/O cache's figures, on applications made anew and captured."""

from lab.stages.written import pooled, run
from lab.virtual.document import FILE
from lab.virtual.plot import PLOTS
from lab.virtual.run import virtual

if __name__ == "__main__":
    run(pooled(virtual), FILE, PLOTS)
