"""Section `policy.share`: which ways to share one cache are compared, what each may vary, and on how large caches."""

from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from cachezoo.settings.base import Part, Strict

Texts = Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1, max_length=1000)]
EQUAL = "equal"  # the family that all others are compared with: it has to be listed


class SharePolicy(Strict):
    """`policy.share`."""

    # Of the cache, as parts of the summed footprint of a mix's applications; rising.
    sizes: list[Part] = Field(min_length=1, max_length=100)
    # Of a mix's references: by the traces' clocks where all have one, or else one of each in turn; or always so.
    order: Literal["auto", "lockstep"]
    pairs: int = Field(ge=0, le=1000)  # most pairs of categories of which mixes are made
    families: dict[str, Texts]  # ways to share by name, each with what validation may choose from
    bounds: dict[str, str]  # ways that know the future, by name: nothing to run, only to be compared with
    near: float = Field(ge=0, le=10)  # the best fixed split: transfers no more than so much above its own

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if any(a >= b for a, b in pairwise(self.sizes)):
            raise ValueError(f"sizes {self.sizes} must rise")
        if EQUAL not in self.families:
            message = f"families: list {EQUAL}, which the others are compared with, beside {', '.join(self.families)}"
            raise ValueError(message)
        both = sorted(set(self.families) & set(self.bounds))
        if both:
            raise ValueError(f"bounds: {', '.join(both)} is a family too; take another name")
        return self
