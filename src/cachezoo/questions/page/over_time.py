"""Hit ratio over time: a trace in windows of equal length, and what a cache hit in each."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cachezoo.arrays import F64, I64, U8
from cachezoo.io import atomic_file
from cachezoo.kernels.outcome import HIT
from cachezoo.questions.page.bench import Bench, Row, share_hit
from cachezoo.show.palette import looks
from cachezoo.show.style import NARROW, legend_room, settings, write
from cachezoo.traces.clock import Clock


@dataclass(frozen=True)
class Windows:
    """Parts of a trace, one after another from its first request to its last."""

    requests: I64  # int64[w + 1]; window k has the requests [requests[k], requests[k + 1])
    accesses: I64  # int64[w + 1] their page accesses likewise
    seconds: F64 | None  # float64[w + 1] on the trace's clock; None where it has none

    @classmethod
    def of(cls, bench: Bench, count: int) -> "Windows":
        """So many windows of equal length in time, or without a clock of equally many requests."""
        trace, starts = bench.trace, bench.pages.request_start
        clock, time = Clock(), trace.time_us
        clock.add(time)
        if not clock.ticks(trace.meta.extra):
            requests = np.arange(count + 1, dtype=np.int64) * len(trace) // count
            return cls(requests, starts[requests], None)
        edges = np.linspace(float(time[0]), float(time[-1]), count + 1)
        requests = np.searchsorted(time, edges).astype(np.int64)
        requests[-1] = len(trace)
        return cls(requests, starts[requests], edges / 1e6)

    def rows(self, bench: Bench, outcome: U8) -> list[Row]:
        """What a cache hit in each window, those before counting begins among them.

        Args:
            bench: the trace.
            outcome: uint8[m] of each page access.

        Returns:
            JSON values, one for each window: `from_s` and `to_s` (None without a clock), `requests`, `page_accesses`,
            `hits`, `hit_ratio`, `read_hit_ratio` and `write_hit_ratio`; a ratio is None where nothing is requested.
        """
        rows = list[Row]()
        for k, (low, high) in enumerate(zip(self.accesses[:-1].tolist(), self.accesses[1:].tolist(), strict=True)):
            hits, writes = outcome[low:high] == HIT, bench.writes[low:high]
            rows.append(
                {
                    "from_s": None if self.seconds is None else float(self.seconds[k]),
                    "to_s": None if self.seconds is None else float(self.seconds[k + 1]),
                    "requests": int(self.requests[k + 1] - self.requests[k]),
                    "page_accesses": high - low,
                    "hits": int(hits.sum()),
                    "hit_ratio": share_hit(hits, np.ones(high - low, np.bool_)),
                    "read_hit_ratio": share_hit(hits, ~writes),
                    "write_hit_ratio": share_hit(hits, writes),
                }
            )
        return rows


def draw_over_time(runs: Sequence[tuple[str, list[Row]]], title: str, path: Path) -> None:
    """Write a PNG, or an SVG by the name, of hit ratios over time; its bytes depend on the rows alone.

    Args:
        runs: a name and the rows of its windows, which are the same for all.
        title: above it.
        path: where to.

    Raises:
        CachezooError: the file cannot be written.
    """
    from matplotlib.figure import Figure

    columns, room = legend_room([name for name, _ in runs])
    styles = looks([(name, "") for name, _ in runs])
    with settings(narrow=True), atomic_file(path) as temporary:
        canvas = Figure(figsize=(NARROW, 3.6 + room), layout="constrained")
        axes = canvas.subplots()
        for name, rows in runs:
            clocked = rows[0]["from_s"] is not None
            ends = np.cumsum([0, *(row["requests"] for row in rows)]).tolist()
            edges = [rows[0]["from_s"], *(row["to_s"] for row in rows)] if clocked else ends
            ratios = [float("nan") if row["hit_ratio"] is None else row["hit_ratio"] for row in rows]
            look = styles[name]
            axes.stairs(ratios, edges, baseline=None, color=look.colour, linestyle=look.line, label=name)
            axes.set_xlabel("seconds of the trace" if clocked else "requests")
        axes.set_ylabel("page hit ratio")
        axes.set_ylim(-0.02, 1.02)
        axes.set_title(title, loc="left")
        canvas.legend(loc="outside lower center", ncols=columns)
        write(canvas, temporary, path)
