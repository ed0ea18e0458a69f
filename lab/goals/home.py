"""The gap closed on each trace at home, by capacity, from lab/results/goals.json."""

from rich.table import Table

from cachezoo.show.formats import number, percent
from lab.goals.document import PROTOCOLS, Goals


def home_table(found: Goals) -> Table:
    """The gap closed on each trace at home, by capacity."""
    rows = {(row.protocol, row.trace, row.capacity_fraction): row for row in found.rows if row.where == "home"}
    sizes = sorted({size for _, _, size in rows})
    table = Table(title="Gap closed on each trace at home, mean of the seeds (lead over the best classic, points)")
    for k, name in enumerate(("forest", "trace", *(f"{100 * size:g} %" for size in sizes))):
        table.add_column(name, justify="left" if k < 2 else "right")
    for protocol, trace in sorted({key[:2] for key in rows}, key=lambda own: (PROTOCOLS.index(own[0]), own[1])):
        own = [rows[protocol, trace, size] for size in sizes]
        table.add_row(
            protocol, trace, *(f"{percent(row.gap_closed)} ({number(100 * row.lead, 1, True)})" for row in own)
        )  # fmt: skip
    return table
