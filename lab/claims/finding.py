"""What the paper says of a figure, what stands against it here, and the verdict; the base of all figures' documents."""

from typing import Annotated, Literal

from pydantic import Field

from cachezoo.documents import Document
from cachezoo.meanings import Each, Means
from cachezoo.show.formats import NONE, UNIT_SPACE, number, percent, points

Verdict = Literal["holds", "does not hold", "undecided", "not comparable"]
Unit = Literal["share", "points", "times", "ms", "epochs", "MB", "pages"]


GOAL = "Goal: "  # begins a claim that is not the paper's, but what the project set out to reach


class Finding(Document):
    """A claim of the paper, held against our figures by a rule that is fixed beforehand."""

    claim: Annotated[str, Means("what the paper says; after `Goal:` what the project set out to reach")]
    measured: Annotated[str, Means("what is held against it")]
    unit: Annotated[Unit, Means("of the numbers")]
    bound: Annotated[float, Means("the paper's number, from which or up to which the claim holds", "unit")]
    at_most: Annotated[bool, Means("the claim holds up to the bound; else from it on")]
    ours: Annotated[float | None, Means("our number; null where there is none", "unit")]
    spread: Annotated[float, Means("standard deviation of ours, a mean over seeds; 0 of one training", "unit")]
    own_size: Annotated[float | None, Means("ours at the size that the models were judged at", "unit")]
    verdict: Annotated[
        Verdict,
        Means("holds; does not hold; undecided: the seeds' spread could turn it; not comparable: see why"),
    ]
    why: Annotated[str, Means("why it is not comparable; empty where it is")]

    @property
    def stated(self) -> str:
        """The claim and whose it is, for people."""
        return self.claim if self.claim.startswith(GOAL) else f"Paper: {self.claim}"

    @property
    def shown(self) -> str:
        """Our number for people."""
        text = shown(self.ours, self.unit)
        return (
            f"{text} ± {shown(self.spread, self.unit).lstrip('+')}" if self.spread and self.ours is not None else text
        )

    @property
    def judged(self) -> str:
        """The verdict and its reason for people."""
        return f"{self.verdict}: {self.why}" if self.why else self.verdict


class Figure(Document):
    """A figure or table of the paper, made anew."""

    id: Annotated[str, Means("name of its files")]
    source: Annotated[str, Means("what it is in the paper")]
    title: Annotated[str, Means("what it shows")]
    note: Annotated[str, Means("what a reader has to know; may be empty")]
    findings: Annotated[list[Finding], Each("one claim of the paper", "claim and measured")]
    published: Annotated[
        list[Finding], Each("the same claims of the paper's own network; none where it has none", "claim and measured")
    ] = Field(default_factory=list)


def shown(value: float | None, unit: Unit) -> str:
    """A number with its unit for people; a dash for none."""
    if value is None:
        return NONE
    if unit == "share":
        return percent(value)
    if unit == "points":
        return points(100 * value)
    if unit == "epochs":
        return f"{number(value)}{UNIT_SPACE}epochs"
    return f"{number(value, 2)}{UNIT_SPACE}{unit}"


def held(
    claim: str, measured: str, ours: float | None, bound: float, unit: Unit = "share", *, at_most: bool = False,
    spread: float = 0.0, at_best: float | None = None, own_size: float | None = None, apart: str = "",
) -> Finding:  # fmt: skip
    """Hold a claim against our number.

    Args:
        claim: what the paper says.
        measured: what is held against it.
        ours: our number; None where it is undefined.
        bound: the paper's.
        unit: of all numbers.
        at_most: the claim holds up to the bound, else from it on.
        spread: standard deviation of ours, a mean over seeds; within it nothing is decided.
        at_best: of a share that counts what is decided alone: the share if all the rest spoke for the claim, from the
            bound on which nothing is decided; None where all is decided.
        own_size: ours at the size that the models were judged at, for people.
        apart: why the two cannot be compared; empty where they can.
    """
    why = apart or ("" if ours is not None else "undefined here")
    verdict: Verdict
    if why or ours is None:
        verdict = "not comparable"
    elif (spread and abs(ours - bound) <= spread) or (at_best is not None and ours < bound <= at_best):
        verdict = "undecided"
    else:
        verdict = "holds" if (ours <= bound if at_most else ours >= bound) else "does not hold"
    return Finding(
        claim=claim, measured=measured, unit=unit, bound=bound, at_most=at_most, ours=ours, spread=spread,
        own_size=own_size, verdict=verdict, why=why,
    )  # fmt: skip
