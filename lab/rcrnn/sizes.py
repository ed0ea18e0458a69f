"""lab/results/rcrnn/sizes.json: caches at the sizes that metrics/page/<category>.json does not have."""

from collections.abc import Iterable
from typing import Annotated, Literal

from cachezoo.documents import Document
from cachezoo.meanings import Each, Means
from cachezoo.metrics.page import CategoryMetrics, PolicyRow
from lab.rcrnn.files import FOLDER

FILE = FOLDER / "sizes.json"
Kind = Literal["classic", "bound", "model"]


class CacheRun(Document):
    """A cache on a test trace at one size, counted after the warm-up."""

    trace: Annotated[str, Means("test trace")]
    capacity_fraction: Annotated[float, Means("of the cache", "share of the distinct pages")]
    policy: Annotated[str, Means("policy or model")]
    kind: Annotated[Kind, Means("classic with its defaults, bound or model")]
    hit_ratio: Annotated[float, Means("page hits per page access", "ratio")]
    ssd_writes: Annotated[
        float, Means("pages admitted, and pages written on write hits", "4 KiB pages per 100 requests")
    ]
    replacements: Annotated[
        float | None, Means("pages evicted; null where it was not counted", "4 KiB pages per 100 requests")
    ]
    response_us: Annotated[float, Means("mean service time, decision_us included", "µs")]
    decision_us: Annotated[float, Means("charged to every request for a model's decision", "µs")]


class Sizes(Document):
    """The caching models, the classics and the optimum on every test trace, at the sizes without metrics."""

    rows: Annotated[list[CacheRun], Each("one cache on a test trace", "trace, capacity_fraction and policy")]


def _run(trace: str, fraction: float, kind: Kind, row: PolicyRow) -> CacheRun:
    return CacheRun(
        trace=trace,
        capacity_fraction=fraction,
        policy=row.policy,
        kind=kind,
        hit_ratio=row.hit_ratio,
        ssd_writes=row.ssd_writes_per_100_io,
        replacements=None,
        response_us=row.mean_response_us,
        decision_us=row.decision_us,
    )


def runs_of(found: CategoryMetrics, model_id: str, classics: Iterable[str], optimum: str) -> list[CacheRun]:
    """The same caches at the size that metrics/page/<category>.json is of.

    Args:
        found: the category's metrics.
        model_id: its caching model.
        classics: with their defaults.
        optimum: the bound of all hits.
    """
    kinds: dict[str, Kind] = dict.fromkeys(classics, "classic")
    kinds |= {optimum: "bound", model_id: "model"}
    return [
        _run(key, found.capacity_fraction, kinds[row.policy], row)
        for key, trace in found.tests().items()
        for row in trace.rows
        if row.policy in kinds
    ]
