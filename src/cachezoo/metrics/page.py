"""metrics/page/<category>.json: policies, bounds and models in one page cache."""

from typing import Annotated, Literal

from pydantic import ConfigDict

from cachezoo.documents import Document, Figures, Interval
from cachezoo.meanings import Each, Means
from cachezoo.metrics.base import Judged, Role

RowKind = Literal["classic", "online", "follower", "bound", "composed", "model"]
PAGES = "4 KiB pages"


class PolicyRow(Document):
    """A policy or model on a trace, where it counts."""

    policy: Annotated[str, Means("policy or model")]
    kind: Annotated[RowKind, Means("classic, online, follower, bound, composed or model")]
    hits: Annotated[int, Means("page hits that count", "page accesses")]
    hit_ratio: Annotated[float, Means("page hits per page access", "ratio")]
    hit_ratio_interval: Annotated[Interval, Means("its 90 % interval over blocks of time", "ratio")]
    request_hit_ratio: Annotated[float, Means("requests with every page resident before them per request", "ratio")]
    byte_hit_ratio: Annotated[float, Means("bytes of page hits per byte asked for", "ratio")]
    ssd_writes: Annotated[int, Means("pages admitted, and pages written on write hits", PAGES)]
    ssd_writes_per_100_io: Annotated[float, Means("the same for each 100 requests", "4 KiB pages per 100 requests")]
    mean_response_us: Annotated[
        float,
        Means(
            "mean service time: the SSD's where all pages of a request were resident before it, else the disk's for "
            "the missing span, admitted or not, and decision_us; dirty pages are written back in the background",
            "µs",
        ),
    ]
    mean_response_waiting_us: Annotated[
        float | None,
        Means("the same where requests wait while dirty pages are written back, one disk I/O a page", "µs"),
    ]
    dirty_evictions: Annotated[
        int | None, Means("written pages evicted; null of a cache that does not say who left", PAGES)
    ]
    decision_us: Annotated[
        float, Means("charged to every request for a model's decision (evaluate.decision_cost_us)", "µs")
    ]
    gap_closed: Annotated[
        float | None, Means("of the gap from the best classic to the optimum; null where that is below 0.02", "share")
    ]
    gap_closed_interval: Annotated[Interval | None, Means("its 90 % interval", "share")]
    gap_points: Annotated[float, Means("hit ratio less the best classic's", "points of 0.01")]

    @property
    def shown(self) -> str:
        """The name in tables and plots; the models of a kind, one for each category, share one."""
        parts = self.policy.split(".")
        return f"{parts[0]} {parts[-1]}" if self.kind == "model" else self.policy


class ModelRow(PolicyRow):
    """A model's row on a test trace, with the figures that its system adds."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: Figures

    gap_to_choice_points: Annotated[
        float | None, Means("hit ratio less that of validation_choice; null without one", "points of 0.01")
    ]
    choice_gap_closed: Annotated[
        float | None,
        Means(
            "of the gap from validation_choice to the optimum; null without one, or where that is below 0.02", "share"
        ),
    ]
    above_floor: Annotated[bool, Means("at most 0.01 below the best classic")]


class PageTrace(Document):
    """A validation or test trace: every policy at one capacity and one warm-up index, most hits first."""

    role: Annotated[Role, Means("validation or test")]
    requests: Annotated[int, Means("in the trace", "requests")]
    page_accesses: Annotated[int, Means("in the trace", "page accesses")]
    distinct_pages: Annotated[int, Means("in the trace", PAGES)]
    capacity: Annotated[int, Means("of the cache", PAGES)]
    warmup: Annotated[int, Means("replayed before counting", "page accesses")]
    best_classic: Annotated[str, Means("classic, with its defaults or tuned, with the most hits on this trace")]
    optimum: Annotated[str, Means("policy that bounds all hits")]
    tuned: Annotated[
        dict[str, float],
        Each(
            "one classic with values of policy.classics",
            "trace and policy",
            "policy",
            "page hits per page access",
            "ratio",
            presence="sometimes",
        ),
    ]
    tags: Annotated[
        dict[str, Figures],
        Each(
            "one model on a test trace",
            "trace and model",
            "model",
            "figures that the model's system adds",
            presence="sometimes",
        ),
    ]
    rows: Annotated[list[PolicyRow], Each("one policy on a trace", "trace and policy")]

    def row(self, policy: str) -> PolicyRow | None:
        """A policy's or model's row."""
        return next((row for row in self.rows if row.policy == policy), None)

    def best(self) -> PolicyRow:
        """The row of the trace's best classic."""
        return next(row for row in self.rows if row.policy == self.best_classic)


class PageModel(Judged):
    """A model of the category: its verdict, and its row on each test trace."""

    test: Annotated[dict[str, ModelRow], Each("one model on a test trace", "model and trace", "trace")]


class CategoryMetrics(Document):
    """The page cache's figures of a category's validation and test traces, and what was promoted."""

    category: Annotated[str, Means("category")]
    response_times: Annotated[
        str, Means("what the response times come from: analytic, emulated, real, or real, on a virtual disk")
    ]
    capacity_fraction: Annotated[float, Means("capacity of the cache", "share of the distinct pages")]
    validation_choice: Annotated[
        str | None,
        Means(
            "classic, with its defaults or tuned, with the best mean hit ratio on validation: what one would have "
            "deployed"
        ),
    ]
    traces: Annotated[dict[str, PageTrace], Each("one validation or test trace", "trace", "trace")]
    models: Annotated[dict[str, PageModel], Each("one model of the category", "model", "model")]

    def tests(self) -> dict[str, PageTrace]:
        """The test traces by key."""
        return {key: trace for key, trace in self.traces.items() if trace.role == "test"}
