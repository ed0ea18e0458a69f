"""What validation chooses of a family at a budget.

Every family goes the same way. All its hierarchies are simulated at every other split of the money. The best of these
are simulated at every split. Of all that was simulated, the best by where their reads were served are replayed on the
devices, and the fastest is chosen. So no family has freedoms that another has not, but for how many hierarchies
it lists.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cachezoo.errors import ConfigError
from cachezoo.questions.tiers.bench import Bench
from cachezoo.questions.tiers.columns import ZOO, Chosen, Served
from cachezoo.questions.tiers.hierarchy import Hierarchy, parse_hierarchy
from cachezoo.questions.tiers.money import Bought, Market
from cachezoo.questions.tiers.response import Tiered
from cachezoo.settings.tiers import TiersPolicy, Zoo
from cachezoo.traces.table import PAGE_BYTES

SECTION = "policy.tiers"
Families = dict[str, list[Hierarchy]]


@dataclass(frozen=True)
class Choice:
    """A family's choice at a budget.

    Attributes:
        bought: the hierarchy and its sizes.
        tried, replayed: how many were simulated, and of these replayed on the devices.
        validation: its figures there.
    """

    bought: Bought
    tried: int
    replayed: int
    validation: Served

    def document(self) -> Chosen:
        """As the metrics have it."""
        return Chosen(
            **sized(self.bought), tried=self.tried, replayed=self.replayed, validation=self.validation
        )  # fmt: skip


def sized(bought: Bought) -> dict[str, Any]:
    """A hierarchy and its sizes as the metrics have them."""
    return {
        "hierarchy": str(bought.hierarchy),
        "ram_bytes": bought.ram_pages * PAGE_BYTES,
        "buffer_bytes": bought.hierarchy.buffer_bytes,
        "ssd_bytes": bought.ssd_pages * PAGE_BYTES,
    }


def _every(zoo: Zoo) -> list[str]:
    """Every order with every pair of policies."""
    return [
        order.replace("{ram}", ram).replace("{ssd}", ssd) for order in zoo.orders for ram in zoo.ram for ssd in zoo.ssd
    ]


def families(settings: TiersPolicy) -> Families:
    """The hierarchies of each family, those of any policies last; the same one is listed once.

    Raises:
        ConfigError: one cannot be read.
    """
    texts = {f"families.{name}": (name, listed) for name, listed in settings.families.items()}
    texts["zoo"] = (ZOO, _every(settings.zoo))
    found: Families = {}
    for place, (name, listed) in texts.items():
        try:
            found[name] = list({str(own): own for own in map(parse_hierarchy, listed)}.values())
        except ConfigError as error:
            raise ConfigError(f"{SECTION}.{place}: {error}") from error
    return found


def choose(
    benches: Sequence[Bench], hierarchies: Sequence[Hierarchy], market: Market, usd: float, settings: TiersPolicy
) -> Choice | None:
    """A family's choice at a budget.

    Args:
        benches: validation traces.
        hierarchies: of the family.
        market: what there is to buy.
        usd: the budget.
        settings: how much is tried.

    Returns:
        None where the budget buys none of the hierarchies.
    """
    estimates: dict[Bought, float] = {}

    def best(found: Sequence[Bought]) -> list[Bought]:
        for one in sorted(set(found) - set(estimates), key=_by_ram):
            estimates[one] = sum(bench.estimate_us(one) for bench in benches)
        return sorted(set(found), key=lambda one: (estimates[one], one.key))

    def bought(some: Sequence[Hierarchy], splits: Sequence[float]) -> list[Bought]:
        every = (market.buy(hierarchy, usd, split) for split in splits for hierarchy in some)
        return [one for one in every if one is not None]

    ranked = best(bought(hierarchies, settings.splits[::2]))
    finalists = list(dict.fromkeys(one.hierarchy for one in ranked))[: settings.finalists]
    tried = best(bought(finalists, settings.splits))
    replayed = [(one, served(benches, one)) for one in tried[: settings.shortlist]]
    if not replayed:
        return None
    fastest, figures = min(replayed, key=lambda pair: (pair[1].amat_us, pair[0].key))
    return Choice(fastest, len(estimates), len(replayed), figures)


def _by_ram(one: Bought) -> tuple[str, int, str, int]:
    """Those with the same RAM next to each other, so that it is simulated once."""
    return one.hierarchy.ram, one.ram_pages, str(one.hierarchy), one.ssd_pages


def served(benches: Sequence[Bench], bought: Bought) -> Served:
    """A hierarchy's figures over the counted page reads of several traces."""
    found = [bench.replay(bought).tiered for bench in benches]
    reads = sum(one.reads for one in found)

    def mean(of: Callable[[Tiered], float]) -> float:
        return sum(of(one) * one.reads for one in found) / reads

    return Served(
        amat_us=mean(lambda one: one.amat_us),
        rhr=mean(lambda one: one.rhr),
        shr=mean(lambda one: one.shr),
        dhr=mean(lambda one: one.dhr),
    )
