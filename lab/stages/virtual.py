"""Stage virtual of lab/dvc.yaml: the virtual I/O cache's figures, on applications made anew and captured."""

from typing import TYPE_CHECKING

from cachezoo.io import write_json
from cachezoo.jobs import processes, side_by_side
from cachezoo.stage import stage
from lab.virtual.document import FILE
from lab.virtual.plot import PLOTS
from lab.virtual.run import virtual

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


def main(params: "Params") -> None:
    """Run, write the figures and their plots."""
    with processes(side_by_side(2)) as pool:
        found = virtual(params, pool)
    for path, draw in PLOTS.items():
        draw(found, path)
    write_json(FILE, found.model_dump(mode="json"))


if __name__ == "__main__":
    stage(main)()
