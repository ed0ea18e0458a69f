"""Points with all pages of a trace: simulated and replayed, to choose by one half and judge by the other."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cachezoo.errors import TraceError
from cachezoo.questions.tiers.judged import Judged, Terms, judge, terms_of
from cachezoo.questions.tiers.response import Tiered, depth_of, respond
from cachezoo.questions.tiers.run import DISK
from cachezoo.questions.tiers.sizing.points import Point
from cachezoo.questions.tiers.sizing.shared import Shared
from cachezoo.questions.tiers.stream import TierStream
from cachezoo.settings.device import AnalyticDevice
from cachezoo.settings.prices import Prices
from cachezoo.traces.pages import PageAccesses

BEGIN = 0.25
"""Of the page accesses, those before the window that chooses: they warm the tiers up."""


@dataclass(frozen=True)
class Whole:
    """A trace with the devices that its tiers are replayed on.

    Attributes:
        stream: all of it.
        head: its first half, which chooses.
        first: page access of the head from which on it counts; begins a request.
        device: models of the disk and the SSD.
        terms: by which the second half judges.
        depth: requests outstanding, in both halves.
    """

    stream: TierStream
    head: TierStream
    first: int
    device: AnalyticDevice
    terms: Terms
    depth: int

    @classmethod
    def of(cls, stream: TierStream, device: AnalyticDevice, prices: Prices) -> "Whole":
        """Take a trace.

        Raises:
            DeviceError: all requests arrive at once.
            TraceError: its first half has no request.
        """
        terms = terms_of(stream, device, prices)
        first = int(stream.pages.request_start[stream.request_of[int(BEGIN * len(stream))]])
        return cls(stream, _head(stream, terms.first), first, device, terms, depth_of(stream))

    def chosen(self, points: Sequence[Point]) -> list[Tiered]:
        """What each point does in the window that chooses; points with the same RAM, one after another, share its run.

        Raises:
            TraceError: nothing is read in it.
        """
        shared, terms = Shared(self.head), self.terms
        return [
            respond(self.head, shared.run(point), self.device, self.first, loop=terms.loop, depth=self.depth)
            for point in points
        ]

    def judged(self, points: Sequence[Point]) -> list[Judged]:
        """What each point does in the second half, which chose nothing; otherwise as `chosen`."""
        shared = Shared(self.stream)
        return [judge(self.stream, shared.run(point), self.terms) for point in points]

    def disk_alone_us(self) -> float:
        """Mean time of a page read of the second half where there is no cache."""
        run = replace(
            Shared(self.stream).run(Point("lru", 1, 0)), tier=np.full(len(self.stream), DISK, np.uint8)
        )  # fmt: skip
        return respond(self.stream, run, self.device, self.terms.first, loop=self.terms.loop).amat_us


def _head(stream: TierStream, end: int) -> TierStream:
    """The accesses before one that begins a request, with the pages that they touch.

    Raises:
        TraceError: there are none.
    """
    if end == 0:
        name = stream.trace.meta.trace_id
        raise TraceError(f"{name}: no request lies in its first half, which chooses; give a longer trace")
    requests = int(stream.request_of[end])
    whole, asked = stream.pages, stream.stream
    n_pages = int(whole.page_ids[:end].max()) + 1  # ids are numbered by first appearance
    parts = {name: getattr(asked, name)[:end] for name in ("page_ids", "flags", "page_bytes")}
    return replace(
        stream,
        trace=stream.trace.take(np.arange(requests)),
        pages=PageAccesses(whole.request_start[: requests + 1], whole.page_ids[:end], n_pages),
        stream=replace(asked, n_pages=n_pages, **parts),
        address=stream.address[:n_pages], time_us=stream.time_us[:end], write=stream.write[:end],
        request_of=stream.request_of[:end],
    )  # fmt: skip
