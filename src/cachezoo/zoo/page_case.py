"""A trace in front of a page cache at one capacity: what the systems that serve one are evaluated on."""

from dataclasses import dataclass

from cachezoo.arrays import U8
from cachezoo.contest.counting import first_access
from cachezoo.kernels.outcome import HIT
from cachezoo.settings.page_cache import BenefitLabel
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import Trace


@dataclass(frozen=True)
class PageCase:
    """A case."""

    category: str  # the trace's
    key: str  # the trace
    trace: Trace  # its requests
    pages: PageAccesses  # their page accesses
    fraction: float  # the capacity as a part of the distinct pages
    capacity: int  # pages
    warmup: int  # page accesses before counting
    benefit: BenefitLabel  # `label.benefit`, which says what its labels file holds


def counted_hit_ratio(outcome: U8, pages: PageAccesses) -> float:
    """Page hits per page access where a trace counts, of outcomes uint8[m], as the stage evaluate has them."""
    return float((outcome[first_access(pages) :] == HIT).mean())
