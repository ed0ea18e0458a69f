"""Figs. 10 to 15: the caching models beside the paper's rivals, the best classic and the Oracle.

Source: RC-RNN, Sec. 5.3. The paper's size is 20 % of the working set; the claims are held at that size, and the same
number at the size that our models were judged at stands beside it. Access is Azor's rule, the Oracle is Belady with
bypass, and the best classic is that with the most hits on the trace among those with their defaults. The paper's
network is its own model, `lab.rcrnn.published`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from cachezoo.documents import Document
from cachezoo.errors import CachezooError
from cachezoo.meanings import Each, Means
from cachezoo.metrics.files import MAKE
from lab.claims.evaluate import judged, over
from lab.claims.finding import Figure
from lab.rcrnn.files import PAPER_SIZE, Network
from lab.rcrnn.sizes import FILE, CacheRun, Kind

LRU, ACCESS, LARC, RECA, BEST, OURS, PAPER, ORACLE = (
    "LRU", "Access", "LARC", "ReCA", "best classic", "caching LSTM", "the paper's network", "Oracle",
)  # fmt: skip
RIVALS = {LRU: "lru", ACCESS: "azor", LARC: "larc", RECA: "reca"}
FREE = {OURS: f"{OURS}, decision free", PAPER: f"{PAPER}, decision free"}
ALL = (*RIVALS, BEST, OURS, PAPER, ORACLE)
Caches = Mapping[str, CacheRun]
Number = Callable[[CacheRun], float | None]


class Point(Document):
    """A cache on a test trace at one size."""

    trace: Annotated[str, Means("test trace")]
    capacity_fraction: Annotated[float, Means("of the cache", "share of the distinct pages")]
    cache: Annotated[str, Means("what it is called in the figure")]
    policy: Annotated[str, Means("policy or model")]
    value: Annotated[float | None, Means("what the figure is of; null where it was not counted", "as quantity says")]


class CachesFigure(Figure):
    """One quantity of all caches on all test traces."""

    quantity: Annotated[str, Means("what the values are, and their unit")]
    percent: Annotated[bool, Means("the values are shares, shown as percents")]
    points: Annotated[list[Point], Each("one cache on a trace", "trace, capacity_fraction and cache")]


@dataclass(frozen=True)
class Models:
    """The caching models of one column: layers and units, and why no claim on them can be held; empty where it can."""

    shape: tuple[int, int]
    untrained: str = ""


@dataclass(frozen=True)
class Bench:
    """All runs, and the models that ran.

    Attributes:
        runs: by size and trace, by cache.
        own_size: the size that our models were judged at.
        models: whose the networks are.
        note: on the models.
    """

    runs: Mapping[float, Mapping[str, Caches]]
    own_size: float
    models: Mapping[Network, Models]
    note: str

    @classmethod
    def of(cls, runs: Iterable[CacheRun], own_size: float, models: Mapping[Network, Models], note: str) -> "Bench":
        """Put the runs in order.

        Raises:
            CachezooError: a cache is missing of a trace and size.
        """
        every = list(runs)
        found: dict[float, dict[str, Caches]] = {}
        for fraction in sorted({run.capacity_fraction for run in every}):
            for trace in dict.fromkeys(run.trace for run in every):
                found.setdefault(fraction, {})[trace] = named(every, trace, fraction)
        return cls(found, own_size, models, note)


def named(runs: Iterable[CacheRun], trace: str, fraction: float) -> Caches:
    """The figures' caches on a trace at one size, by their names there.

    The paper's network is there where the trace's category has one.

    Raises:
        CachezooError: one is missing.
    """
    own = [run for run in runs if (run.capacity_fraction, run.trace) == (fraction, trace)]
    by_policy = {run.policy: run for run in own}
    found = {name: by_policy[policy] for name, policy in RIVALS.items() if policy in by_policy}
    classics = [run for run in own if run.kind == "classic"]
    if classics:
        found[BEST] = max(classics, key=lambda run: run.hit_ratio)
    names: dict[Kind, str] = {"ours": OURS, "paper": PAPER, "bound": ORACLE}
    found |= {names[run.kind]: run for run in own if run.kind in names}
    lacking = [name for name in ALL if name not in found and name != PAPER]
    if lacking:
        message = f"{FILE}: has no {lacking[0]} on {trace} at {100 * fraction:g} %; run `{MAKE}`"
        raise CachezooError(message)
    return {name: found[name] for name in ALL if name in found}


def _points(bench: Bench, sizes: Iterable[float], names: Iterable[str], number: Number) -> list[Point]:
    every = list(names)
    return [
        Point(trace=trace, capacity_fraction=fraction, cache=name, policy=own[name].policy, value=number(own[name]))
        for fraction in sizes for trace, own in bench.runs.get(fraction, {}).items() for name in every if name in own
    ]  # fmt: skip


def _figure(
    bench: Bench, name: str, title: str, quantity: str, points: Sequence[Point], *, percent: bool = False
) -> CachesFigure:
    """A figure and its claims."""
    found = CachesFigure(
        id=name, source=f"Fig. {name.removeprefix('fig')}", title=title, note=bench.note, findings=[],
        quantity=quantity, percent=percent, points=list(points),
    )  # fmt: skip
    ours, published = ({"untrained": own.untrained, "shape": own.shape} for own in bench.models.values())
    published |= {"ours": PAPER, "free": FREE[PAPER]}
    return judged(found, "rcrnn", name, published, own_size=bench.own_size, **ours)


def cache_size(bench: Bench) -> CachesFigure:
    """Fig. 10."""
    sizes = sorted(bench.runs)
    title = f"Hit ratio over cache size, {', '.join(f'{100 * size:g}' for size in sizes)} % of the pages"
    points = _points(bench, sizes, ALL, lambda run: run.hit_ratio)
    return _figure(bench, "fig10", title, "page hit ratio", points, percent=True)


def hit_ratio(bench: Bench) -> CachesFigure:
    """Fig. 11."""
    points = _points(bench, _sizes(bench), ALL, lambda run: run.hit_ratio)
    return _figure(bench, "fig11", "Hit ratio", "page hit ratio", points, percent=True)


def normalised(bench: Bench) -> CachesFigure:
    """Fig. 12."""
    points = [
        Point(trace=trace, capacity_fraction=fraction, cache=name, policy=own[name].policy,
              value=over(own[name].hit_ratio, own[ORACLE].hit_ratio))
        for fraction in _sizes(bench) for trace, own in bench.runs[fraction].items() for name in own if name != ORACLE
    ]  # fmt: skip
    quantity = "share of the Oracle's page hit ratio"
    return _figure(bench, "fig12", "Hit ratio over the Oracle's", quantity, points, percent=True)


def replacements(bench: Bench) -> CachesFigure:
    """Fig. 13."""
    points = _points(bench, _sizes(bench), ALL, lambda run: run.replacements)
    return _figure(bench, "fig13", "Replacements", "pages replaced per 100 requests", points)


def writes(bench: Bench) -> CachesFigure:
    """Fig. 14."""
    points = _points(bench, _sizes(bench), ALL, lambda run: run.ssd_writes)
    return _figure(bench, "fig14", "SSD writes", "4 KiB pages written per 100 requests", points)


def response(bench: Bench) -> CachesFigure:
    """Fig. 15, the decision's time included and without."""
    points = _points(bench, _sizes(bench), ALL, lambda run: run.response_us / 1000)
    free = _points(bench, _sizes(bench), FREE, lambda run: (run.response_us - run.decision_us) / 1000)
    points += [one.model_copy(update={"cache": FREE[one.cache]}) for one in free]
    title = "Mean response time, with the time of the model's decision and without"
    return _figure(bench, "fig15", title, "mean response time, ms", points)


def _sizes(bench: Bench) -> list[float]:
    """The paper's size, and our own."""
    return [size for size in sorted({bench.own_size, PAPER_SIZE}) if size in bench.runs]


FIGURES: Mapping[str, Callable[[Bench], CachesFigure]] = {
    "fig10": cache_size, "fig11": hit_ratio, "fig12": normalised, "fig13": replacements, "fig14": writes,
    "fig15": response,
}  # fmt: skip
