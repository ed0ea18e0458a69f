"""Tables of the virtual I/O cache's figures: transfers stand beside every hit ratio."""

from collections.abc import Sequence

from cachezoo.show.formats import number, percent
from cachezoo.show.table import Cell, Column, Table
from lab.virtual.document import KINDS, QUEUES, Mixed, Part, Point, Profile, Swept, VirtualFigure

SHOWN_MB = (2, 8, 32, 64, 128, 256, 512)  # of Fig. 3
APPLICATION_MB, SWEPT_MB = 64, 128
HEADS = ("hits, plain", "hits, virtual", "reads, plain", "reads, virtual", "of them allocation", "fragmentation")
"""Of a hit ratio and its transfers; reads are pages read a reference."""
NAMES = {"f": "f", "alpha": "alpha", "q": "q", "n": "N, MB", "cost": "cost"}


def tables(found: VirtualFigure) -> list[Table]:
    """All of them, for the terminal."""
    return [curve_table(found), part_table(found), application_table(found), shared_table(found), sweep_table(found),
            disk_table(found)]  # fmt: skip


def _costs(one: Point | Part | Profile | Mixed | Swept) -> list[Cell]:
    reads = (1 - one.plain, 1 - one.hits + one.moved, one.allocation, one.fragmentation)
    ratios = [Cell(percent(value), value) for value in (one.plain, one.hits)]
    return [*ratios, *(Cell(number(value, 3), value) for value in reads)]


def _table(caption: str, named: Sequence[str], rows: Sequence[Sequence[Cell]], heads: Sequence[str] = HEADS) -> Table:
    columns = [*(Column(head, numeric=False) for head in named), *(Column(head) for head in heads)]
    return Table(caption, columns, rows)


def curve_table(found: VirtualFigure) -> Table:
    """Fig. 3; a line a queue and size."""
    rows = [
        [Cell(KINDS[kind]), Cell(queue.upper()), Cell(f"{one.megabytes} MB"), *_costs(one)]
        for kind in KINDS
        for queue in QUEUES
        for one in found.curve(kind, queue)
        if one.megabytes in SHOWN_MB
    ]
    return _table("Fig. 3: means over applications", ("applications", "queue", "cache"), rows)


def part_table(found: VirtualFigure) -> Table:
    """Fig. 3 by parts of the pages; a line a part."""
    rows = [[Cell(KINDS[one.kind]), Cell(f"1/{round(1 / one.part)}"), *_costs(one)] for one in found.parts]
    return _table("The same with LRU queues, the cache a part of each one's pages", ("applications", "cache"), rows)


def application_table(found: VirtualFigure) -> Table:
    """Fig. 4; a line an application, by its gain."""
    rows = []
    for kind in KINDS:
        own = [found.profile(name)[APPLICATION_MB] for name in found.applications(kind)]
        for one in sorted(own, key=lambda one: -one.gain):
            rows.append([Cell(KINDS[kind]), Cell(one.application), *_costs(one)])
    return _table(f"Fig. 4: LRU queues in {APPLICATION_MB} MB", ("applications", "application"), rows)


def shared_table(found: VirtualFigure) -> Table:
    """Fig. 6; a line a workload and size. Plain is one LRU over all."""
    rows = [
        [Cell(one.workload), Cell(f"{one.megabytes} MB"), *_costs(one), Cell(percent(one.split), one.split)]
        for one in found.mixed
    ]
    caption = "Fig. 6: applications in lockstep; plain is one LRU over all"
    return _table(caption, ("workload", "cache"), rows, (*HEADS, "hits, UCP"))


def sweep_table(found: VirtualFigure) -> Table:
    """Fig. 8; a line a parameter's value."""
    rows = [
        [Cell(KINDS[one.kind]), Cell(NAMES[one.parameter]), Cell(f"{one.value:g}"), *_costs(one)]
        for one in found.swept
        if one.megabytes == SWEPT_MB
    ]
    return _table(f"Fig. 8: LRU queues in {SWEPT_MB} MB", ("applications", "parameter", "value"), rows)


def disk_table(found: VirtualFigure) -> Table:
    """Fig. 9; a line a disk's speed."""
    rows = []
    for one in found.disk:
        shares = [Cell(percent(value), value) for value in (one.plain, one.demand, one.busy)]
        times = [Cell(number(value), value) for value in (one.plain_us, one.mean_us)]
        rows.append([Cell(one.application), Cell(f"{one.latency_us} µs"), *shares, *times])
    heads = ("busy, plain", "busy, virtual's misses", "busy, virtual", "µs a reference, plain", "virtual")
    return _table("Fig. 9: a disk of constant latency before 32 MB", ("application", "a page"), rows, heads)
