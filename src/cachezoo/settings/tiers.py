"""Section `policy.tiers`: which hierarchies of RAM, SSD and disk are compared, what each may vary, at which budgets."""

from itertools import pairwise
from typing import Annotated, Self

from pydantic import Field, model_validator

from cachezoo.settings.base import Part, Strict

Few = Annotated[int, Field(ge=1, le=1000)]
Texts = Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1, max_length=1000)]
Shares = Annotated[list[Annotated[float, Field(gt=0, lt=1)]], Field(min_length=1, max_length=100)]
PLACES = ("{ram}", "{ssd}")


class Zoo(Strict):
    """`policy.tiers.zoo`: the hierarchies of any policies, every order with every pair of policies.

    Attributes:
        orders: hierarchies with `{ram}` and `{ssd}` where the policies go.
        ram, ssd: the policies.
    """

    orders: Texts
    ram: Texts
    ssd: Texts

    @model_validator(mode="after")
    def _places(self) -> Self:
        for order in self.orders:
            if any(order.count(place) != 1 for place in PLACES) or "{" in order.replace("{ram}", "").replace(
                "{ssd}", ""
            ):
                raise ValueError(f"orders: {order!r} must hold {{ram}} and {{ssd}} once each, and no other braces")
        return self


class TiersPolicy(Strict):
    """`policy.tiers`.

    Attributes:
        budgets: what RAM and SSD may cost together, as parts of what RAM for the whole footprint would cost; rising.
        splits: parts of the money that are tried for RAM, rising; the rest buys SSD.
        least_pages: RAM or an SSD of fewer pages is not tried.
        families: rivals by name, each with the hierarchies that validation may choose from; `ram` is of RAM alone.
        zoo: the hierarchies of any policies, which are a family too.
        finalists: so many hierarchies of a family, best at every other split, are tried at every split.
        shortlist: so many of a family, best by their hit ratios, are replayed on the devices; the fastest is chosen.
        enough: the cheapest budget is advised whose best choice takes no more than so much longer, on validation, than
            that of the largest.
    """

    budgets: list[Part] = Field(min_length=1, max_length=100)
    splits: Shares
    least_pages: Few
    families: dict[str, Texts]
    zoo: Zoo
    finalists: Few
    shortlist: Few
    enough: float = Field(ge=0, le=10)

    @model_validator(mode="after")
    def _rise(self) -> Self:
        for name in ("budgets", "splits"):
            values = getattr(self, name)
            if any(a >= b for a, b in pairwise(values)):
                raise ValueError(f"{name} {values} must rise")
        return self
