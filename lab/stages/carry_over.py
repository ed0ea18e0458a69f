"""Stage carry_over of lab/dvc.yaml: the next-use forest on programs and set-ups that its fit has not seen."""

from lab.carry_over.document import FILE, PLOT
from lab.carry_over.plot import draw
from lab.carry_over.run import carry_over
from lab.stages.written import pooled, run

if __name__ == "__main__":
    run(pooled(carry_over), FILE, {PLOT: draw})
