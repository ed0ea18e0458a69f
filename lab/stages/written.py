"""What a stage of lab/dvc.yaml does: it measures, draws its plots, and writes its document."""

import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cachezoo.documents import Document
from cachezoo.io import write_json
from cachezoo.jobs import processes, side_by_side
from cachezoo.stage import Stage

if TYPE_CHECKING:
    from cachezoo.settings.params import Params


def run(
    measure: Callable[["Params"], Document], file: Path, plots: Mapping[Path, Callable[[Any, Path], None]] | None = None
) -> None:
    """Run a stage whose script this is called from.

    Args:
        measure: its document, from params.yaml.
        file: where the document goes.
        plots: how each plot is drawn, by where it goes.
    """

    def main(params: "Params") -> None:
        found = measure(params)
        for path, draw in (plots or {}).items():
            draw(found, path)
        write_json(file, found.model_dump(mode="json"))

    Stage(main).start(Path(sys.argv[0]).stem, sys.argv[1:])


def pooled(measure: Callable[..., Document], *, folder: bool = False) -> Callable[["Params"], Document]:
    """A measurement that two processes share, with a temporary folder where it takes one."""

    def measured(params: "Params") -> Document:
        with tempfile.TemporaryDirectory() as own, processes(side_by_side(2)) as pool:
            return measure(params, pool, *[Path(own)] * folder)

    return measured
