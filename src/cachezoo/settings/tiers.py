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
    """`policy.tiers.zoo`: the hierarchies of any policies, every order with every pair of policies."""

    orders: Texts  # hierarchies with `{ram}` and `{ssd}` where the policies go
    ram: Texts
    ssd: Texts

    @model_validator(mode="after")
    def _places(self) -> Self:
        for order in self.orders:
            bare = order.replace("{ram}", "").replace("{ssd}", "")
            if any(order.count(place) != 1 for place in PLACES) or "{" in bare:
                raise ValueError(f"orders: {order!r} must hold {{ram}} and {{ssd}} once each, and no other braces")
        return self


class TiersPolicy(Strict):
    """`policy.tiers`: the budgets and families that are compared, and how much of each family is tried.

    The cheapest budget is advised whose best choice takes no more than a part `enough` longer, on validation, than that
    of the largest.
    """

    budgets: list[Part] = Field(min_length=1, max_length=100)  # for RAM and SSD, of what all in RAM would cost; rising
    splits: Shares  # parts of the money that are tried for RAM, rising; the rest buys SSD
    least_pages: Few  # RAM or an SSD of fewer pages is not tried
    families: dict[str, Texts]  # rivals by name: hierarchies that validation may choose from; `ram` is of RAM alone
    zoo: Zoo  # the hierarchies of any policies, which are a family too
    finalists: Few  # so many hierarchies of a family, best at every other split, are tried at every split
    shortlist: Few  # so many of a family, best by their hit ratios, are replayed; the fastest is chosen
    enough: float = Field(ge=0, le=10)

    @model_validator(mode="after")
    def _rise(self) -> Self:
        for name in ("budgets", "splits"):
            values = getattr(self, name)
            if any(a >= b for a, b in pairwise(values)):
                raise ValueError(f"{name} {values} must rise")
        return self
