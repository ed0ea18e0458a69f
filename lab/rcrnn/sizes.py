"""lab/results/rcrnn/sizes.json: caches on the test traces at all sizes, and how often the networks' tags are right."""

from typing import Annotated, Literal

from cachezoo.documents import Document
from cachezoo.meanings import Each, Means
from lab.rcrnn.files import FOLDER, Network

FILE = FOLDER / "sizes.json"
Kind = Literal["classic", "bound"] | Network


class CacheRun(Document):
    """A cache on a test trace at one size, counted after the warm-up."""

    trace: Annotated[str, Means("test trace")]
    capacity_fraction: Annotated[float, Means("of the cache", "share of the distinct pages")]
    policy: Annotated[str, Means("policy or model")]
    kind: Annotated[Kind, Means("classic with its defaults, bound, our caching model or one of the paper's network")]
    hit_ratio: Annotated[float, Means("page hits per page access", "ratio")]
    ssd_writes: Annotated[
        float, Means("pages admitted, and pages written on write hits", "4 KiB pages per 100 requests")
    ]
    replacements: Annotated[
        float | None, Means("pages evicted; null where it was not counted", "4 KiB pages per 100 requests")
    ]
    response_us: Annotated[float, Means("mean service time, decision_us included", "µs")]
    decision_us: Annotated[float, Means("charged to every request for a model's decision", "µs")]


class TagRow(Document):
    """A caching model's tags on a test trace, beside the oracle's that taught it.

    `cached_*` and `duration_*` are of the requests that its cache asks about, `all_*` of all requests. Of ours a hit
    counts as rightly called cached, as its cache does not ask then; the paper's network names the tags of every
    request, fed the oracle's tags of the request before, as in its training.
    """

    trace: Annotated[str, Means("test trace")]
    capacity_fraction: Annotated[float, Means("of the cache", "share of the distinct pages")]
    network: Annotated[Network, Means("whose network it is")]
    model: Annotated[str, Means("caching model")]
    asked: Annotated[float | None, Means("requests that the cache asks about", "requests")]
    cached_accuracy: Annotated[float | None, Means("cached tags equal to the oracle's", "share")]
    cached_majority: Annotated[float | None, Means("the same of always naming the commoner tag", "share")]
    cached_balanced_accuracy: Annotated[float | None, Means("cached tags, both weighing the same", "share")]
    cached_mcc: Annotated[float | None, Means("Matthews correlation of the cached tags")]
    duration_accuracy: Annotated[float | None, Means("queues equal to the oracle's where that cached", "share")]
    duration_majority: Annotated[float | None, Means("the same of always naming the commonest queue", "share")]
    all_cached_accuracy: Annotated[float | None, Means("as cached_accuracy, of all requests", "share")]
    all_cached_majority: Annotated[float | None, Means("as cached_majority, of all requests", "share")]
    all_duration_accuracy: Annotated[
        float | None, Means("as duration_accuracy, of all requests; of ours of those asked about", "share")
    ]
    all_duration_majority: Annotated[float | None, Means("the same of always naming the commonest queue", "share")]

    @property
    def improvement(self) -> float | None:
        """Eq. 4 less 1, of all requests; None where it is undefined."""
        return _improvement(
            (self.all_cached_accuracy, self.all_duration_accuracy),
            (self.all_cached_majority, self.all_duration_majority),
        )

    @property
    def most_improvement(self) -> float | None:
        """What `improvement` is of tags that are all right."""
        return _improvement((1.0, 1.0), (self.all_cached_majority, self.all_duration_majority))

    @property
    def improvement_asked(self) -> float | None:
        """The same of the requests that the cache asks about."""
        return _improvement(
            (self.cached_accuracy, self.duration_accuracy), (self.cached_majority, self.duration_majority)
        )


Pair = tuple[float | None, float | None]


def _improvement(ours: Pair, commonest: Pair) -> float | None:
    """Eq. 4 less 1: both tags' accuracies multiplied, over those of the commonest tags."""
    (cached, duration), (cached_base, duration_base) = ours, commonest
    if cached is None or duration is None or not cached_base or not duration_base:
        return None
    return cached * duration / (cached_base * duration_base) - 1


class Sizes(Document):
    """The caching models, the classics and the optimum on every test trace, at every size."""

    rows: Annotated[list[CacheRun], Each("one cache on a test trace", "trace, capacity_fraction and policy")]
    tags: Annotated[list[TagRow], Each("one model's tags on a test trace", "trace, capacity_fraction and network")]
