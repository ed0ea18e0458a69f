"""What the same money does as RAM alone, or as RAM and an SSD in front of the disk.

At each budget every family of hierarchies chooses its policies and the split of the money on validation
(`cachezoo.questions.tiers.choose`). What it chose, with the very sizes, runs on the test traces, which choose nothing.
Of each trace the first half warms the tiers and the second is counted.

Source: HCA, Sec. VI and VIII, asks what the sizes should be; equal money, tuning on validation and intervals are ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cachezoo import paths
from cachezoo.console import progress
from cachezoo.contest.blocks import LEAST_BLOCKS, LEAST_IN_BLOCK
from cachezoo.devices.built_in import BUILT_IN, DEFAULT_IS
from cachezoo.params import At, Picked
from cachezoo.questions.tiers.bench import Bench
from cachezoo.questions.tiers.choose import Choice, Families, choose, families
from cachezoo.questions.tiers.columns import Budget, Prices, TiersMetrics, TiersTrace
from cachezoo.questions.tiers.judge import judge
from cachezoo.questions.tiers.money import Market
from cachezoo.settings import prices as listed
from cachezoo.settings.data import Roles
from cachezoo.settings.device import AnalyticDevice, Device, RealDevice
from cachezoo.settings.tiers import TiersPolicy
from cachezoo.traces.store import read_pages, read_trace
from cachezoo.traces.table import PAGE_BYTES

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

Choices = dict[float, dict[str, Choice]]


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    device: Annotated[Device, At("device")]
    prices: Annotated[listed.Prices, At("prices")]
    roles: Annotated[Roles, At("data.roles.{category}")]
    tiers: Annotated[TiersPolicy, At("policy.tiers")]


def modelled(device: Device) -> tuple[AnalyticDevice, str]:
    """The models that tiers are replayed on, and what they are of.

    A real device would have to replay every hierarchy that is tried, for days; the models of the built-in one stand
    for it, and the metrics say so.
    """
    if isinstance(device, RealDevice):
        return BUILT_IN, f"{DEFAULT_IS}; the real devices were not asked"
    return AnalyticDevice(source="analytic", hdd=device.hdd, ssd=device.ssd), "the models of conf/device"


def benches(category: str, keys: Sequence[str], device: AnalyticDevice) -> list[Bench]:
    """The traces of some keys whose second half has enough reads for blocks of time."""
    found = []
    for key in keys:
        path = paths.requests(category, key)
        bench = Bench.of(key, read_trace(path), read_pages(path), device)
        if min(bench.requests // LEAST_IN_BLOCK, bench.reads // bench.largest) >= LEAST_BLOCKS:
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


def fastest(found: Mapping[str, Choice]) -> str:
    """The family of the fastest choice on validation; of equals the first by name."""
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
    validation = benches(category, settings.roles.get("validation", []), device)
    tests = benches(category, settings.roles.get("test", []), device)
    footprint = max((bench.footprint for bench in validation), default=0)
    market = Market.of(prices, footprint, settings.tiers.least_pages)
    made = choices(validation, known, market, settings.tiers) if validation and tests else {}
    return TiersMetrics(
        category=category,
        reason=_reason(validation, tests, made),
        device=devices,
        prices=Prices(
            name=prices.name, dated=prices.dated, ram_gb=prices.ram.usd_per_gb, ssd_gb=prices.ssd.usd_per_gb,
            hdd_gb=prices.hdd.usd_per_gb,
        ),
        footprint_bytes=footprint * PAGE_BYTES,
        budgets=_budgets(made, market),
        advised=enough(made, settings.tiers.enough) if made else None,
        traces=_judged(category, tests if made else [], made, settings),
    )  # fmt: skip


def _budgets(made: Choices, market: Market) -> list[Budget]:
    return [
        Budget(
            share=share,
            usd=market.usd(share),
            choices={name: choice.document() for name, choice in own.items()},
            best=fastest(own),
        )
        for share, own in made.items()
    ]


def _judged(category: str, tests: Sequence[Bench], made: Choices, settings: Settings) -> dict[str, TiersTrace]:
    """What was chosen, on each test trace."""
    found: dict[str, TiersTrace] = {}
    with progress("hierarchies on test traces", len(tests)) as advance:
        for bench in tests:
            found[bench.key] = judge(bench, made, settings.prices)
            advance(len(found), bench.key)
    return found


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
