"""Stage hca of lab/dvc.yaml: HCA's tables and figures, on workloads made anew and on captured traces."""

from typing import TYPE_CHECKING

from cachezoo.io import write_json
from cachezoo.jobs import processes, side_by_side
from cachezoo.stage import stage
from lab.hca.document import CURVES_PLOT, FILE, TABLES_PLOT
from lab.hca.plot import draw_curves, draw_tables
from lab.hca.run import hca

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


def main(params: "Params") -> None:
    """Run, write the tables and their plots."""
    with processes(side_by_side(2)) as pool:
        found = hca(params, pool)
    draw_tables(found, TABLES_PLOT)
    draw_curves(found, CURVES_PLOT)
    write_json(FILE, found.model_dump(mode="json"))


if __name__ == "__main__":
    stage(main)()
