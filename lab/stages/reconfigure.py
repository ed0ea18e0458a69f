"""Stage reconfigure of lab/dvc.yaml: caches that change their model when the workload changes."""

from typing import TYPE_CHECKING

from cachezoo.io import write_json
from cachezoo.stage import stage
from lab.reconfigure.document import FILE, PLOT
from lab.reconfigure.measure import reconfigure
from lab.reconfigure.plot import draw

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


def main(params: "Params") -> None:
    """Run, write the table and its plot."""
    found = reconfigure(params)
    draw(found, PLOT)
    write_json(FILE, found.model_dump(mode="json"))


if __name__ == "__main__":
    stage(main)()
