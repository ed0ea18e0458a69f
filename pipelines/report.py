"""Stage report: one page and its plots from stage outputs."""

from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.evaluation.report.page import write_report
from cachezoo.stage import stage

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


@stage
def main(params: "Params") -> None:
    """Write report/."""
    write_report(Path(), params)


if __name__ == "__main__":
    main()
