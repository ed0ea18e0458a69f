"""What the same money does as RAM alone, or as RAM and an SSD in front of the disk.

At each budget every family of hierarchies chooses its policies and the split of the money on validation. What it chose,
with the very sizes, runs on the test traces, which choose nothing. Of each trace the first half warms the tiers and the
second is counted.

Every family chooses the same way. All its hierarchies are simulated at every other split of the money. The best of
these are simulated at every split. Of all that was simulated, the best by where their reads were served are replayed on
the devices, and the fastest is chosen. So no family has freedoms that another has not, but for how many hierarchies it
lists.

Source: HCA, Sec. VI and VIII, asks what the sizes should be; equal money, tuning on validation and intervals are ours.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cachezoo import paths
from cachezoo.console import progress
from cachezoo.contest.choice import Goal
from cachezoo.devices.built_in import BUILT_IN, DEFAULT_IS
from cachezoo.errors import ConfigError
from cachezoo.params import At, Picked
from cachezoo.questions.tiers.bench import Bench, Scored, blocks_of
from cachezoo.questions.tiers.budget import Market, Point
from cachezoo.questions.tiers.columns import (
    ZOO,
    Budget,
    Chosen,
    Prices,
    Saved,
    Served,
    TiersMetrics,
    TiersRow,
    TiersTrace,
)
from cachezoo.questions.tiers.hierarchy import Hierarchy, parse_hierarchy
from cachezoo.questions.tiers.response import Tiered
from cachezoo.questions.tiers.stream import tier_stream
from cachezoo.settings import prices as listed
from cachezoo.settings.data import Roles
from cachezoo.settings.device import AnalyticDevice, Device, RealDevice
from cachezoo.settings.tiers import TiersPolicy
from cachezoo.traces.store import read_pages, read_trace
from cachezoo.traces.table import PAGE_BYTES

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

SECTION = "policy.tiers"
Families = dict[str, list[Hierarchy]]


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    device: Annotated[Device, At("device")]
    prices: Annotated[listed.Prices, At("prices")]
    roles: Annotated[Roles, At("data.roles.{category}")]
    tiers: Annotated[TiersPolicy, At("policy.tiers")]


@dataclass(frozen=True)
class FamilyChoice:
    """A family's choice at a budget."""

    point: Point
    tried: int  # hierarchies and splits that were simulated
    replayed: int  # of these on the devices
    validation: Served

    def document(self) -> Chosen:
        """As the metrics have it."""
        return Chosen(**sizes(self.point), tried=self.tried, replayed=self.replayed, validation=self.validation)


Choices = dict[float, dict[str, FamilyChoice]]  # by share of the money and family


def sizes(point: Point) -> dict[str, Any]:
    """A hierarchy and its sizes as the metrics have them."""
    return {
        "hierarchy": str(point.hierarchy),
        "ram_bytes": point.ram_pages * PAGE_BYTES,
        "buffer_bytes": point.hierarchy.buffer_bytes,
        "ssd_bytes": point.ssd_pages * PAGE_BYTES,
    }


def families(settings: TiersPolicy) -> Families:
    """The hierarchies of each family, those of any policies last; the same one is listed once.

    Raises:
        ConfigError: one cannot be read.
    """
    texts = {f"families.{name}": (name, own) for name, own in settings.families.items()}
    zoo = settings.zoo
    every = [
        order.replace("{ram}", ram).replace("{ssd}", ssd) for order in zoo.orders for ram in zoo.ram for ssd in zoo.ssd
    ]
    texts["zoo"] = (ZOO, every)
    found: Families = {}
    for place, (name, own) in texts.items():
        try:
            found[name] = list({str(one): one for one in map(parse_hierarchy, own)}.values())
        except ConfigError as error:
            raise ConfigError(f"{SECTION}.{place}: {error}") from error
    return found


def choose(
    benches: Sequence[Bench], hierarchies: Sequence[Hierarchy], market: Market, usd: float, settings: TiersPolicy
) -> FamilyChoice | None:
    """A family's choice at a budget by validation; None where the budget buys none of its hierarchies."""
    estimates: dict[Point, float] = {}

    def best(points: Sequence[Point]) -> list[Point]:
        # Those with the same RAM one after another, so that it is simulated once.
        for one in sorted(set(points) - set(estimates), key=lambda one: (*one.ram_key, *one.key)):
            estimates[one] = sum(bench.estimate_us(one) for bench in benches)
        return sorted(set(points), key=lambda one: (estimates[one], one.key))

    def bought(some: Sequence[Hierarchy], splits: Sequence[float]) -> list[Point]:
        every = (market.split(hierarchy, usd, split) for split in splits for hierarchy in some)
        return [one for one in every if one is not None]

    ranked = best(bought(hierarchies, settings.splits[::2]))
    finalists = list(dict.fromkeys(one.hierarchy for one in ranked))[: settings.finalists]
    tried = best(bought(finalists, settings.splits))
    replayed = [(one, served(benches, one)) for one in tried[: settings.shortlist]]
    if not replayed:
        return None
    fastest, figures = min(replayed, key=lambda pair: (pair[1].amat_us, pair[0].key))
    return FamilyChoice(fastest, len(estimates), len(replayed), figures)


def served(benches: Sequence[Bench], point: Point) -> Served:
    """A hierarchy's figures over the counted page reads of several traces."""
    found = [bench.tiered(point) for bench in benches]
    reads = sum(one.reads for one in found)

    def mean(of: Callable[[Tiered], float]) -> float:
        return sum(of(one) * one.reads for one in found) / reads

    return Served(
        amat_us=mean(lambda one: one.amat_us),
        rhr=mean(lambda one: one.rhr),
        shr=mean(lambda one: one.shr),
        dhr=mean(lambda one: one.dhr),
    )


def judge(bench: Bench, made: Mapping[float, Mapping[str, FamilyChoice]]) -> TiersTrace:
    """Run every family's choice at every budget on a test trace."""
    rows = []
    for share, own in made.items():
        scored = {name: bench.score(choice.point) for name, choice in own.items()}
        rows += [_row(share, name, scored) for name in scored]
    return TiersTrace(
        role="test",
        footprint_bytes=bench.footprint * PAGE_BYTES,
        disk_bytes=bench.ts.span_pages * PAGE_BYTES,
        reads=int(bench.reads.sum()),
        loop=bench.loop,
        depth=bench.depth,
        rows=rows,
    )


def _row(share: float, family: str, scored: Mapping[str, Scored]) -> TiersRow:
    own = scored[family]
    return TiersRow(
        **sizes(own.point),
        **own.metrics(),
        budget=share,
        family=family,
        amat_interval=own.estimate.ends,
        saved={name: _saved(own, rival) for name, rival in scored.items() if name != family},
    )


def _saved(own: Scored, rival: Scored) -> Saved:
    """How much shorter page reads are than a rival's."""
    return Saved(
        share=1 - own.mean / rival.mean,
        interval=own.lead(rival, Goal.COST).ends,
        alone_share=1 - own.tiered.alone_us / rival.tiered.alone_us,
    )


def modelled(device: Device) -> tuple[AnalyticDevice, str]:
    """The models that tiers are replayed on, and what they are of.

    A real device would have to replay every hierarchy that is tried, for days; the models of the built-in one take its
    place, and the metrics say so.
    """
    if isinstance(device, RealDevice):
        return BUILT_IN, f"{DEFAULT_IS}; the real devices were not asked"
    return AnalyticDevice(source="analytic", hdd=device.hdd, ssd=device.ssd), "the models of conf/device"


def benches(category: str, keys: Sequence[str], device: AnalyticDevice, prices: listed.Prices) -> list[Bench]:
    """The traces of some keys whose second half has enough reads for blocks of time."""
    found = []
    for key in keys:
        path = paths.requests(category, key)
        bench = Bench.of(key, tier_stream(read_trace(path), read_pages(path)), device, prices)
        if blocks_of(bench.reads):
            found.append(bench)
    return found


def choices(found: Sequence[Bench], known: Families, market: Market, settings: TiersPolicy) -> Choices:
    """What each family chooses at each budget, by share; without those that a budget buys nothing of."""
    made: Choices = {}
    with progress("hierarchies on validation", len(settings.budgets) * len(known)) as advance:
        for share in settings.budgets:
            made[share] = {}
            for name, hierarchies in known.items():
                own = choose(found, hierarchies, market, market.usd(share), settings)
                if own is not None:
                    made[share][name] = own
                advance(sum(map(len, made.values())), name)
    return {share: own for share, own in made.items() if own}


def fastest(found: Mapping[str, FamilyChoice]) -> str:
    """The family whose choice was the fastest on validation."""
    return min(found, key=lambda name: (found[name].validation.amat_us, name))


def enough(made: Choices, slack: float) -> float:
    """The cheapest budget whose best choice is no more than so much slower than the largest's, on validation."""
    times = {share: own[fastest(own)].validation.amat_us for share, own in made.items()}
    return min(share for share in times if times[share] <= (1 + slack) * times[max(times)])


def evaluate(category: str, settings: Settings) -> TiersMetrics:
    """Choose on the category's validation traces, judge on its test traces."""
    known = families(settings.tiers)
    device, devices = modelled(settings.device)
    prices = settings.prices
    validation, tests = (
        benches(category, settings.roles.get(role, []), device, prices) for role in ("validation", "test")
    )
    footprint = max((bench.footprint for bench in validation), default=0)
    market = Market.of(prices, footprint, settings.tiers.least_pages)
    made = choices(validation, known, market, settings.tiers) if validation and tests else {}
    traces: dict[str, TiersTrace] = {}
    with progress("hierarchies on test traces", len(tests)) as advance:
        for bench in tests if made else []:
            traces[bench.key] = judge(bench, made)
            advance(len(traces), bench.key)
    return TiersMetrics(
        category=category,
        reason=_reason(validation, tests, made),
        device=devices,
        prices=Prices(
            name=prices.name, dated=prices.dated, ram_gb=prices.ram.usd_per_gb, ssd_gb=prices.ssd.usd_per_gb,
            hdd_gb=prices.hdd.usd_per_gb,
        ),
        footprint_bytes=footprint * PAGE_BYTES,
        budgets=[
            Budget(
                share=share,
                usd=market.usd(share),
                choices={name: choice.document() for name, choice in own.items()},
                best=fastest(own),
            )
            for share, own in made.items()
        ],
        advised=enough(made, settings.tiers.enough) if made else None,
        traces=traces,
    )  # fmt: skip


def _reason(validation: Sequence[Bench], tests: Sequence[Bench], made: Choices) -> str:
    """Why nothing was measured; empty where something was."""
    if not validation:
        return "it has no validation trace with enough reads"
    if not tests:
        return "it has no test trace with enough reads"
    return "" if made else "no budget of policy.tiers buys its least pages"


def evaluate_tiers(params: "Params", category: str) -> TiersMetrics:
    """Stage evaluate_tiers, one job, see `evaluate`.

    Raises:
        ConfigError: a hierarchy of policy.tiers cannot be read.
    """
    return evaluate(category, Settings.of(params, category))
