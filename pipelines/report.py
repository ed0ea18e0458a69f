"""Stage report: one page and its plots from stage outputs."""

from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.questions.wear import report as streams
from cachezoo.report.page import write_report
from cachezoo.show import formats, section, style, table
from cachezoo.stage import stage
from cachezoo.zoo import registry
from cachezoo.zoo.reuse import report as reuse
from cachezoo.zoo.virtual import report as virtual
from cachezoo.zoo.workload import report as workload

if TYPE_CHECKING:
    from cachezoo.config.schema import Params

# What it finds through the registry, and how it looks: the imports put that on the stage's list of sources.
PARTS = (registry, reuse, streams, formats, section, style, table, virtual, workload)


def main(params: "Params") -> None:
    """Write report/."""
    write_report(Path(), params)


if __name__ == "__main__":
    stage(main)()
