"""A trace's tables."""

from collections.abc import Mapping, Sequence

import numpy as np

from cachezoo.characteristics.arrivals import Arrivals
from cachezoo.characteristics.latency import Latency
from cachezoo.characteristics.papers import FiosRow, RcRnnRow
from cachezoo.characteristics.sizes import Sizes
from cachezoo.characteristics.summary import Footprint
from cachezoo.characteristics.who import Senders
from cachezoo.characteristics.whole import Characteristics
from cachezoo.curves.curve import Curve
from cachezoo.features.fios import HIGH
from cachezoo.show.formats import NONE, duration, number, share, significant, size
from cachezoo.show.table import Cell, Column, Table, number_cell
from cachezoo.sizes import PAGE_BYTES
from cachezoo.trace_report.plots import NAMES
from cachezoo.trace_report.sentences import WHO

ROWS = 7  # of the curves' table


def _size(n_bytes: float | None) -> Cell:
    return Cell(NONE) if n_bytes is None else Cell(size(n_bytes), n_bytes)


def _time(value: float | None) -> Cell:
    return Cell(NONE) if value is None else Cell(duration(value), value)


def _share(value: float | None) -> Cell:
    return Cell(NONE) if value is None else Cell(share(value), value)


def _number(value: float | None) -> Cell:
    return Cell(NONE) if value is None else Cell(significant(value, 3), value)


def curves_table(curves: Sequence[Curve]) -> Table:
    """Page hit ratios at some of the sizes that all curves have."""
    sizes = curves[-1].capacities
    most = int(sizes[-1])
    rows = []
    for k in range(len(sizes) - 1, -1, -max(1, len(sizes) // ROWS)):
        pages = int(sizes[k])
        rows.append([Cell(size(pages * PAGE_BYTES), note=f"{number(pages)} p, {share(pages / most)} of all")])
        for curve in curves:
            at = int(np.searchsorted(curve.capacities, pages))
            error = "" if curve.error is None else f"± {significant(100 * float(curve.error[at]))}"
            rows[-1].append(Cell(share(float(curve.hit_ratio[at])), float(curve.hit_ratio[at]), error))
    columns = [Column("cache size", numeric=False), *(Column(NAMES.get(own.policy, own.policy)) for own in curves)]
    sampled = any(curve.error is not None for curve in curves)
    caption = "Page hit ratio in the second half of the trace"
    return Table(f"{caption}; ± one standard error, in points" if sampled else caption, columns, rows[::-1])


def footprint_table(own: Footprint) -> Table:
    """What was touched, by type."""
    named = {
        "touched": own.bytes, "read": own.read_bytes, "written": own.written_bytes, "read and written": own.both_bytes,
        "read only": own.read_only_bytes, "written only": own.written_only_bytes,
    }  # fmt: skip
    rows = [[Cell(name), _size(value), _share(value / own.bytes)] for name, value in named.items()]
    rows.append([Cell("from lowest to highest address"), _size(own.address_span_bytes), Cell(NONE)])
    columns = [Column("pages", numeric=False), Column("size"), Column("share")]
    return Table("Footprint: distinct pages of 4 KiB", columns, rows)


def sizes_table(sizes: Mapping[str, Sizes | None]) -> Table:
    """Sizes by type."""
    columns = [Column(title) for title in ("requests", "mean", "median", "90 %", "99 %", "largest", "on page edges")]
    rows = [
        [
            Cell(name), number_cell(own.requests), _size(own.mean_bytes), _size(own.median_bytes), _size(own.p90_bytes),
            _size(own.p99_bytes), _size(own.max_bytes), _share(own.aligned_share),
        ]
        for name, own in sizes.items() if own is not None
    ]  # fmt: skip
    return Table("Sizes", [Column("requests of", numeric=False), *columns], rows)


def common_table(own: Sizes) -> Table:
    """The most common sizes."""
    rows = [[Cell(size(one.size_bytes), one.size_bytes), _share(one.share)] for one in own.common]
    return Table("Most common sizes", [Column("size", numeric=False), Column("share of requests")], rows)


def bursts_table(own: Arrivals) -> Table:
    """Load at each scale of time."""
    titles = ("windows", "busiest, requests/s", "busiest over mean", "index of dispersion", "idle", "autocorrelation")
    rows = [
        [
            Cell(duration(scale.window_s)), number_cell(scale.windows), _number(scale.peak_per_s),
            _number(scale.peak_to_mean), _number(scale.index_of_dispersion), _share(scale.idle_share),
            Cell(NONE) if scale.autocorrelation is None else number_cell(scale.autocorrelation, 2),
        ]
        for scale in own.scales
    ]  # fmt: skip
    return Table("Load in windows of each width", [Column("window", numeric=False), *map(Column, titles)], rows)


def gaps_table(own: Arrivals) -> Table:
    """Times between requests, and Hurst's exponent."""
    gaps, hurst = own.gaps, own.hurst
    rows = [
        [Cell("mean"), _time(gaps.mean_us / 1e6)], [Cell("median"), _time(gaps.median_us / 1e6)],
        [Cell("99 %"), _time(gaps.p99_us / 1e6)], [Cell("longest"), _time(gaps.max_us / 1e6)],
        [Cell("standard deviation over mean", note="1 by chance"), _number(gaps.variation)],
        [Cell("at the same time as the one before"), _share(gaps.zero_share)],
    ]  # fmt: skip
    if hurst is not None:
        note = f"± {significant(hurst.error)}, R² {hurst.r2:.2f}"
        rows.append(
            [Cell("Hurst's exponent", note="0.5 by chance"), Cell(f"{hurst.exponent:.2f}", hurst.exponent, note)]
        )
    return Table("Time to the next request", [Column("", numeric=False), Column("")], rows)


def reuse_table(found: Characteristics) -> Table:
    """What follows what, and how soon."""
    again = found.reuse.again
    rows = [
        [Cell("first access of a page"), _share(1 - again.share)],
        [Cell("read of a page that was read before"), _share(again.read_after_read)],
        [Cell("read of a page that was written before"), _share(again.read_after_write)],
        [Cell("write of a page that was written before"), _share(again.write_after_write)],
        [Cell("write of a page that was read before"), _share(again.write_after_read)],
    ]
    return Table("Page accesses by the page's last use", [Column("access", numeric=False), Column("share")], rows)


def marks_table(found: Characteristics) -> Table:
    """Reuse distances and times at some shares."""
    own = found.reuse
    rows = [
        [Cell(f"{mark[:-1]} % within"), _size(value), _time(own.times.below_s[mark] if own.times else None)]
        for mark, value in own.distances.below_bytes.items()
    ]
    columns = [Column("of accesses that come again", numeric=False), Column("other pages"), Column("time")]
    return Table("How soon", columns, rows)


def senders_table(kind: str, own: Senders) -> Table:
    """The busiest of one kind."""
    rows = [
        [
            Cell(one.name, code=True), number_cell(one.requests), _share(one.request_share), _size(one.bytes),
            _share(one.read_share), _size(one.footprint_bytes),
        ]
        for one in own.top
    ]  # fmt: skip
    titles = ("requests", "of all", "bytes", "reads", "footprint")
    more = f", the busiest {len(own.top)} of {own.count:,}" if own.count > len(own.top) else ""
    return Table(f"By {WHO[kind]}{more}", [Column(WHO[kind], numeric=False), *map(Column, titles)], rows)


def latency_table(own: Mapping[str, Latency | None]) -> Table:
    """Response times."""
    rows = [
        [
            Cell(name), number_cell(one.known),
            _time(one.mean_us / 1e6), _time(one.median_us / 1e6), _time(one.p90_us / 1e6), _time(one.p99_us / 1e6),
            _time(one.p999_us / 1e6), _time(one.max_us / 1e6),
        ]
        for name, one in own.items() if one is not None
    ]  # fmt: skip
    titles = ("known", "mean", "median", "90 %", "99 %", "99.9 %", "longest")
    return Table("Response times as traced", [Column("requests", numeric=False), *map(Column, titles)], rows)


def rc_rnn_table(name: str, row: RcRnnRow) -> Table:
    """RC-RNN's Table 4 with this trace."""
    ratio = Cell("all read") if row.read_write_ratio is None else _number(row.read_write_ratio)
    cells = [
        Cell(name, code=True),
        number_cell(row.requests),
        ratio,
        Cell(f"{number(row.mean_request_kb, 2)} KB", row.mean_request_kb),
    ]
    titles = ("# of reqs.", "R/W ratio", "avg. req. size")
    return Table("RC-RNN, Table 4", [Column("trace", numeric=False), *map(Column, titles)], [cells])


def fios_table(name: str, row: FiosRow) -> Table:
    """FIOS's Table II with this trace."""
    high = dict(zip(HIGH, row.high, strict=True))
    values = {
        "ACF": ("acf", row.acf), "RW (%)": ("random_write_percent", row.random_write_percent),
        "R": ("reuse_ratio", row.reuse_ratio), "S (KB)": ("mean_write_kb", row.mean_write_kb),
        "WV (KB)": ("", row.working_volume_kb), "λ (GB/day)": ("written_gb_per_day", row.written_gb_per_day),
        "peak rate (IOPS)": ("", row.peak_iops), "throughput (IOPS)": ("", row.throughput_iops),
    }  # fmt: skip
    cells = [Cell(name, code=True)]
    for key, value in values.values():
        note = "high" if high.get(key) == "1" else ""
        cells.append(Cell(NONE) if value is None else Cell(significant(value, 3), value, note))
    cells.append(Cell(row.features or "none"))
    hints = {"ACF": "of write gaps", "RW (%)": "random writes", "R": "updates over new", "S (KB)": "mean write",
             "WV (KB)": "address span", "λ (GB/day)": "written", "peak rate (IOPS)": "of 5 minutes"}  # fmt: skip
    columns = [Column("trace", numeric=False), *(Column(title, hints.get(title, "")) for title in values)]
    columns.append(Column("features", numeric=False))
    return Table("FIOS, Table II, and the features that it would choose", columns, [cells])
