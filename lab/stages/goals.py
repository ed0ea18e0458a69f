"""Stage goals of lab/dvc.yaml: the cache at three capacities, as trained and retrained, on all test traces."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.io import write_json
from cachezoo.jobs import processes, side_by_side
from cachezoo.stage import stage
from lab.goals.document import FILE
from lab.goals.run import goals

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


def main(params: "Params") -> None:
    """Run, and write the rows and their summary."""
    with tempfile.TemporaryDirectory() as folder, processes(side_by_side(2)) as pool:
        found = goals(params, pool, Path(folder))
    write_json(FILE, found.model_dump(mode="json"))


if __name__ == "__main__":
    stage(main)()
