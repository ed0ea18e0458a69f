"""Stage hca of lab/dvc.yaml: HCA's tables and figures, on workloads made anew and on captured traces."""

from lab.hca.document import CURVES_PLOT, FILE, TABLES_PLOT, TIME_PLOT
from lab.hca.plot import draw_curves, draw_tables, draw_time
from lab.hca.run import hca
from lab.stages.written import pooled, run

if __name__ == "__main__":
    run(pooled(hca), FILE, {TABLES_PLOT: draw_tables, TIME_PLOT: draw_time, CURVES_PLOT: draw_curves})
