"""Stage carry_over of experiments/dvc.yaml: the next-use forest on programs and set-ups that its fit has not seen."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import active_children, get_context
from typing import TYPE_CHECKING

from cachezoo.io import write_json
from cachezoo.stage import die_with_parent, stage
from cachezoo.systems.reuse.carried import FILE, PLOT
from cachezoo.systems.reuse.carried_plot import draw
from cachezoo.systems.reuse.carry_over import carry_over

if TYPE_CHECKING:
    from cachezoo.config.schema import Params

JOBS = 2


def main(params: "Params") -> None:
    """Fit, run, write the table and its plot."""
    with ProcessPoolExecutor(JOBS, get_context("spawn"), die_with_parent) as pool:
        try:
            found = carry_over(params, pool)
        except BaseException:
            # Else the pool would wait for fits whose results nobody takes.
            for worker in active_children():
                worker.terminate()
            raise
    draw(found, PLOT)
    write_json(FILE, found.model_dump(mode="json"))


if __name__ == "__main__":
    stage(main)()
