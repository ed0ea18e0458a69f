"""Figs. 10 to 15: the caching models beside the paper's rivals, the best classic and the Oracle.

Source: RC-RNN, Sec. 5.3. The paper's size is 20 % of the working set; the claims are held at that size, and the same
number at the size that our models were judged at stands beside it. Access is Azor's rule, the Oracle is Belady with
bypass, and the best classic is that with the most hits on the trace among those with their defaults.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Annotated

from cachezoo.documents import Document
from cachezoo.errors import CachezooError
from cachezoo.meanings import Each, Means
from cachezoo.metrics.files import MAKE
from lab.finding import Figure, Finding, Unit, held
from lab.rcrnn.sizes import FILE, CacheRun

PAPER_SIZE = 0.2
PAPER_NETWORK = (3, 256)
LRU, ACCESS, LARC, RECA, BEST, OURS, ORACLE = (
    "LRU", "Access", "LARC", "ReCA", "best classic", "caching LSTM", "Oracle",
)  # fmt: skip
RIVALS = {LRU: "lru", ACCESS: "azor", LARC: "larc", RECA: "reca"}
UNDECIDING = "caching LSTM, decision free"
ALL = (*RIVALS, BEST, OURS, ORACLE)
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
class Bench:
    """All runs, and the models that ran.

    Attributes:
        runs: by size and trace, by cache.
        own_size: the size that the models were judged at.
        network: layers and units of the caching models.
        apart: why no claim on the models can be held; empty where it can.
        note: on the models.
    """

    runs: Mapping[float, Mapping[str, Caches]]
    own_size: float
    network: tuple[int, int]
    apart: str
    note: str

    @classmethod
    def of(cls, runs: Iterable[CacheRun], own_size: float, network: tuple[int, int], apart: str, note: str) -> "Bench":
        """Put the runs in order.

        Raises:
            CachezooError: a cache is missing of a trace and size.
        """
        every = list(runs)
        found: dict[float, dict[str, Caches]] = {}
        for fraction in sorted({run.capacity_fraction for run in every}):
            for trace in dict.fromkeys(run.trace for run in every):
                own = [run for run in every if (run.capacity_fraction, run.trace) == (fraction, trace)]
                found.setdefault(fraction, {})[trace] = _named(own, trace, fraction)
        return cls(found, own_size, network, apart, note)

    def over(self, fraction: float, figure: Callable[[Caches], float | None]) -> list[float]:
        """A figure of each trace at one size; traces of which it is undefined are left out."""
        own = (figure(caches) for caches in self.runs.get(fraction, {}).values())
        return [value for value in own if value is not None]

    def claim(
        self, claim: str, measured: str, sum_up: Callable[[Sequence[float]], float],
        figure: Callable[[Caches], float | None], bound: float, unit: Unit = "share", *, at_most: bool = False,
        apart: str = "",
    ) -> Finding:  # fmt: skip
        """Hold a claim at the paper's size, with the same at our own beside it."""
        there, here = self.over(PAPER_SIZE, figure), self.over(self.own_size, figure)
        return held(
            claim, f"{measured}, at {100 * PAPER_SIZE:g} %", sum_up(there) if there else None, bound, unit,
            at_most=at_most, own_size=sum_up(here) if here else None, apart=apart or self.apart,
        )  # fmt: skip


def _named(runs: Sequence[CacheRun], trace: str, fraction: float) -> Caches:
    """The figure's caches by their names in it.

    Raises:
        CachezooError: one is missing.
    """
    by_policy = {run.policy: run for run in runs}
    found = {name: by_policy[policy] for name, policy in RIVALS.items() if policy in by_policy}
    classics = [run for run in runs if run.kind == "classic"]
    if classics:
        found[BEST] = max(classics, key=lambda run: run.hit_ratio)
    found |= {{"model": OURS, "bound": ORACLE}[run.kind]: run for run in runs if run.kind != "classic"}
    lacking = [name for name in ALL if name not in found]
    if lacking:
        message = f"{FILE} and metrics/: have no {lacking[0]} on {trace} at {100 * fraction:g} %; run `{MAKE}`"
        raise CachezooError(message)
    return {name: found[name] for name in ALL}


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def _hits(one: str, other: str) -> Callable[[Caches], float | None]:
    """Hit ratio of a cache over another's."""
    return lambda caches: _ratio(caches[one].hit_ratio, caches[other].hit_ratio)


def _earlier(caches: Caches) -> CacheRun:
    """The paper's rival with the most hits."""
    return max((caches[name] for name in RIVALS), key=lambda run: run.hit_ratio)


def _points(bench: Bench, sizes: Iterable[float], names: Iterable[str], number: Number) -> list[Point]:
    every = list(names)
    return [
        Point(trace=trace, capacity_fraction=fraction, cache=name, policy=own[name].policy, value=number(own[name]))
        for fraction in sizes for trace, own in bench.runs.get(fraction, {}).items() for name in every
    ]  # fmt: skip


def cache_size(bench: Bench) -> CachesFigure:
    """Fig. 10."""
    sizes = sorted(bench.runs)

    def bend(name: str) -> float | None:
        """How much more a point of size brings at first than at last, mean over the traces."""
        if len(sizes) < 3:
            return None
        steps = ((sizes[0], sizes[1]), (sizes[-2], sizes[-1]))
        slopes = [
            fmean((bench.runs[high][trace][name].hit_ratio - bench.runs[low][trace][name].hit_ratio) / (high - low)
                  for trace in bench.runs[low])
            for low, high in steps
        ]  # fmt: skip
        return _ratio(slopes[0], slopes[1])

    listed = ", ".join(f"{100 * size:g}" for size in sizes)
    measured = f"hits that a page more brings at first, over those that it brings at last; sizes {listed} %"
    return CachesFigure(
        id="fig10",
        source="Fig. 10",
        title=f"Hit ratio over cache size, {listed} % of the pages",
        note=bench.note,
        findings=[
            held("the Oracle's hit ratio does not rise linearly with the cache", measured, bend(ORACLE), 1.0, "times"),
            held("RC-RNN's neither", measured, bend(OURS), 1.0, "times", apart=bench.apart),
        ],
        quantity="page hit ratio",
        percent=True,
        points=_points(bench, sizes, ALL, lambda run: run.hit_ratio),
    )  # fmt: skip


def hit_ratio(bench: Bench) -> CachesFigure:
    """Fig. 11."""
    return CachesFigure(
        id="fig11",
        source="Fig. 11",
        title="Hit ratio",
        note=bench.note,
        findings=[
            bench.claim("up to 7 times the hits of LARC", "highest of a trace", max, _hits(OURS, LARC), 7, "times"),
            bench.claim("twice the hits of the earlier caches on average", "mean over the test traces, best of four",
                        fmean, lambda own: _ratio(own[OURS].hit_ratio, _earlier(own).hit_ratio), 2.0, "times"),
            bench.claim("more hits than every earlier cache", "lowest lead over the best of four", min,
                        lambda own: own[OURS].hit_ratio - _earlier(own).hit_ratio, 0.0, "points"),
        ],
        quantity="page hit ratio",
        percent=True,
        points=_points(bench, _sizes(bench), ALL, lambda run: run.hit_ratio),
    )  # fmt: skip


def normalised(bench: Bench) -> CachesFigure:
    """Fig. 12."""
    points = [
        Point(trace=trace, capacity_fraction=fraction, cache=name, policy=own[name].policy,
              value=_hits(name, ORACLE)(own))
        for fraction in _sizes(bench) for trace, own in bench.runs[fraction].items() for name in ALL[:-1]
    ]  # fmt: skip
    return CachesFigure(
        id="fig12",
        source="Fig. 12",
        title="Hit ratio over the Oracle's",
        note=bench.note,
        findings=[
            bench.claim("95 % of the Oracle's hits on average", "mean over the test traces", fmean,
                        _hits(OURS, ORACLE), 0.95),
            bench.claim("up to 90 % of them (elsewhere in the paper)", "highest of a trace", max,
                        _hits(OURS, ORACLE), 0.90),
            bench.claim("the earlier caches have less than 63 % of them", "mean over the test traces, best of four",
                        fmean, lambda own: _ratio(_earlier(own).hit_ratio, own[ORACLE].hit_ratio), 0.63, at_most=True),
        ],
        quantity="share of the Oracle's page hit ratio",
        percent=True,
        points=points,
    )  # fmt: skip


def replacements(bench: Bench) -> CachesFigure:
    """Fig. 13; the size that metrics/ is of does not say how many pages were evicted."""
    counted = [
        size for size in sorted(bench.runs)
        if all(run.replacements is not None for own in bench.runs[size].values() for run in own.values())
    ]  # fmt: skip

    def fewer(own: Caches) -> float | None:
        return _ratio(own[LARC].replacements, own[OURS].replacements)

    return CachesFigure(
        id="fig13",
        source="Fig. 13",
        title="Replacements",
        note=bench.note,
        findings=[
            bench.claim("up to 8 times fewer replacements than LARC", "highest of a trace", max, fewer, 8, "times"),
            bench.claim("fewer replacements in several workloads",
                        "share of the test traces with fewer than LARC (several: from 25 % on)", fmean,
                        lambda own: None if (ratio := fewer(own)) is None else float(ratio > 1), 0.25),
        ],
        quantity="pages replaced per 100 requests",
        percent=False,
        points=_points(bench, counted, ALL, lambda run: run.replacements),
    )  # fmt: skip


def writes(bench: Bench) -> CachesFigure:
    """Fig. 14."""

    def saved(own: Caches) -> float | None:
        least = min(own[LARC].ssd_writes, own[RECA].ssd_writes)
        share = _ratio(own[OURS].ssd_writes, least)
        return None if share is None else 1 - share

    return CachesFigure(
        id="fig14",
        source="Fig. 14",
        title="SSD writes",
        note=bench.note,
        findings=[
            bench.claim("1.7 % fewer SSD writes on average", "mean over the test traces, LARC or ReCA, the lower",
                        fmean, saved, 0.017),
            bench.claim("22 % fewer at best", "highest of a trace", max, saved, 0.22),
            bench.claim("as few as LARC and ReCA, or fewer, on almost all workloads",
                        "share of the test traces (almost all: from 80 % on)", fmean,
                        lambda own: None if (share := saved(own)) is None else float(share >= 0), 0.8),
        ],
        quantity="4 KiB pages written per 100 requests",
        percent=False,
        points=_points(bench, _sizes(bench), ALL, lambda run: run.ssd_writes),
    )  # fmt: skip


def response(bench: Bench) -> CachesFigure:
    """Fig. 15, the decision's time included and without."""

    def shorter(without: bool) -> Callable[[Caches], float | None]:
        def saved(own: Caches) -> float | None:
            free = own[OURS].decision_us if without else 0.0
            share = _ratio(own[OURS].response_us - free, own[RECA].response_us)
            return None if share is None else 1 - share

        return saved

    layers, units = bench.network
    alike = bench.network == PAPER_NETWORK
    apart = "" if alike else f"{layers} x {units} units here, {PAPER_NETWORK[0]} x {PAPER_NETWORK[1]} there"
    charged = "charged to a request for its decision"
    free = _points(bench, _sizes(bench), (OURS,), lambda run: (run.response_us - run.decision_us) / 1000)
    return CachesFigure(
        id="fig15",
        source="Fig. 15",
        title="Mean response time, with the time of the model's decision and without",
        note=bench.note,
        findings=[
            bench.claim("15 % shorter than with ReCA on average, decisions included", "mean over the test traces",
                        fmean, shorter(without=False), 0.15),
            bench.claim("the same without the decisions' time", "mean over the test traces", fmean,
                        shorter(without=True), 0.15),
            bench.claim("43 % shorter at best", "highest of a trace", max, shorter(without=False), 0.43),
            bench.claim("a decision costs 0.3 ms a request", charged, max,
                        lambda own: own[OURS].decision_us / 1000, 0.3, "ms", at_most=True, apart=apart),
        ],
        quantity="mean response time, ms",
        percent=False,
        points=[
            *_points(bench, _sizes(bench), ALL, lambda run: run.response_us / 1000),
            *(one.model_copy(update={"cache": UNDECIDING}) for one in free),
        ],
    )  # fmt: skip


def _sizes(bench: Bench) -> list[float]:
    """The paper's size, and our own."""
    return [size for size in sorted({bench.own_size, PAPER_SIZE}) if size in bench.runs]


FIGURES: Mapping[str, Callable[[Bench], CachesFigure]] = {
    "fig10": cache_size, "fig11": hit_ratio, "fig12": normalised, "fig13": replacements, "fig14": writes,
    "fig15": response,
}  # fmt: skip
