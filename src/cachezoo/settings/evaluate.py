"""Section `evaluate`."""

from typing import Annotated

from pydantic import Field

from cachezoo.settings.base import Part, Strict


class Evaluate(Strict):
    """`evaluate`: the common comparison on test traces.

    Attributes:
        capacity_fraction: cache size as a part of a trace's distinct pages.
        policies: what is shown besides every classic and the optimum, such as further bounds.
        decision_cost_us: µs that a decision of each kind of model adds to a request; classics cost nothing.
    """

    capacity_fraction: Part
    decision_cost_us: dict[str, Annotated[float, Field(ge=0, le=1e9)]]
    policies: list[str] = Field(min_length=1)
