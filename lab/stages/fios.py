"""Stage fios of lab/dvc.yaml: write amplification by combination of FIOS's features, on every drive."""

from typing import TYPE_CHECKING

from cachezoo.io import write_json
from cachezoo.jobs import processes, side_by_side
from cachezoo.stage import stage
from lab.fios.document import FILE, PLOT
from lab.fios.plot import draw
from lab.fios.run import fios

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


def main(params: "Params") -> None:
    """Run the drives, write the table and its plot."""
    with processes(side_by_side(2)) as pool:
        found = fios(params, pool)
    draw(found, PLOT)
    write_json(FILE, found.model_dump(mode="json"))


if __name__ == "__main__":
    stage(main)()
