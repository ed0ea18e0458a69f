"""Stage baleen of lab/dvc.yaml: Baleen at several budgets and sizes, its ablations, and the paper's claims."""

from lab.baleen.document import ABLATIONS_PLOT, FILE, SWEEP_PLOT, TRACES_PLOT
from lab.baleen.plot import draw_ablations, draw_sweep, draw_traces
from lab.baleen.run import baleen
from lab.stages.written import pooled, run

if __name__ == "__main__":
    run(pooled(baleen), FILE, {TRACES_PLOT: draw_traces, SWEEP_PLOT: draw_sweep, ABLATIONS_PLOT: draw_ablations})
