"""Evaluates a paper's claims (lab/claims/PAPER.yaml) on measured values: what was found, and whether the claim holds.

A file holds `names` (the paper's numbers), `where` (expressions that several claims share) and `claims`, by section. In
a section are claims and groups of claims. A group repeats its claims for `each` value of some names; what it says holds
for those of its claims that say nothing else. `head` begins a claim's sentence. `value`, `comparable` and, where they
are text, `bound`, `spread` and `at_best` are expressions; `sentence`, `measured`, `apart` and `head` may hold some in
braces. `own` is another `size`, at which `value` is shown as well. An expression is Python over the measured values,
the file's names and `TOOLS`. None is what is undefined.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise, product
from math import hypot
from operator import attrgetter
from pathlib import Path
from statistics import fmean, median, pstdev
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from cachezoo.errors import CachezooError
from cachezoo.show.formats import number, percent
from cachezoo.yaml_file import read_yaml
from lab.claims.finding import Figure, Finding, Unit, held

FOLDER = Path(__file__).parent
Names = dict[str, Any]
F = TypeVar("F", bound=Figure)


def _of_some(function: Callable[[list[float]], float]) -> Callable[[Iterable[float | None]], float | None]:
    """A function of numbers that is None of none; those that are undefined are left out."""

    def of(values: Iterable[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return function(known) if known else None

    return of


def over(part: float | None, whole: float | None) -> float | None:
    """A quotient; None where either is undefined, or the whole is nothing."""
    return part / whole if part is not None and whole else None


def less(one: float | None, other: float | None) -> float | None:
    """A difference; None where either is undefined."""
    return None if one is None or other is None else one - other


def grouped(rows: Iterable[Any], by: Callable[[Any], Any], along: Callable[[Any], Any]) -> list[list[Any]]:
    """Rows by some of their values, each group in the order of another."""
    found: dict[Any, list[Any]] = {}
    for row in sorted(rows, key=along):
        found.setdefault(by(row), []).append(row)
    return list(found.values())


TOOLS: Names = {
    "abs": abs, "float": float, "len": len, "list": list, "map": map, "max": max, "min": min, "next": next,
    "round": round, "set": set, "sorted": sorted, "str": str, "sum": sum, "attr": attrgetter, "hypot": hypot,
    "pairwise": pairwise, "number": number, "percent": percent, "over": over, "less": less, "grouped": grouped,
    "mean": _of_some(fmean), "median": _of_some(median), "pstdev": _of_some(pstdev), "least": _of_some(min),
    "most": _of_some(max),
}  # fmt: skip


class Shared(BaseModel):
    """What a claim says itself, or the groups that it is in."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    head: str = ""
    unit: Unit = "share"
    at_most: bool = False
    comparable: str = "True"
    apart: str = ""
    own: str = ""
    where: dict[str, str] = {}

    def given(self) -> dict[str, Any]:
        """What is said here, but for expressions."""
        return {name: getattr(self, name) for name in self.model_fields_set & (set(Shared.model_fields) - {"where"})}


class Claim(Shared):
    """A claim of the paper and the rule that it is judged by; see the module for what may be an expression."""

    id: str
    sentence: str
    measured: str
    value: str
    bound: float | str
    spread: str | float = 0.0
    at_best: str = "None"


class Group(Shared):
    """Claims that share something."""

    claims: list["Claim | Group"]
    each: dict[str, list[Any]] = {}


class Claims(BaseModel):
    """All that a paper says."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    paper: str
    names: dict[str, Any] = {}
    where: dict[str, str] = {}
    claims: dict[str, list[Claim | Group]]


def read_claims(paper: str) -> Claims:
    """lab/claims/PAPER.yaml.

    Raises:
        CachezooError: it is missing, or no file of claims.
    """
    path = FOLDER / f"{paper}.yaml"
    try:
        return Claims.model_validate(read_yaml(path))
    except ValidationError as error:
        message = f"{path}: holds no claims ({error.errors()[0]['loc']}: {error.errors()[0]['msg']})"
        raise CachezooError(message) from error


def evaluate(paper: str, measured: Mapping[str, Any], section: str | None = None) -> list[Finding]:
    """Every claim of a paper, or of a section, with what was measured and the verdict.

    Args:
        paper: the file's name.
        measured: values by the names that the file calls them.
        section: of the file; None for all.

    Raises:
        CachezooError: the file is missing or wrong; an expression cannot be evaluated, says of which claim.
    """
    found = read_claims(paper)
    names = _with(TOOLS | found.names | dict(measured), found.where, paper)
    sections = found.claims.values() if section is None else [found.claims[section]]
    return [one for items in sections for one in _all(items, names, {}, paper)]


def judged(
    figure: F, paper: str, section: str | None = None, published: Mapping[str, object] | None = None, **more: object
) -> F:
    """A figure with its claims, which call it `found`, and what they need `more` of.

    Args:
        figure: to judge.
        paper: whose claims.
        section: of them; None for all.
        published: what differs in `more` or in the file's names for the paper's own network; None where it has none.
        more: further names.

    Raises:
        CachezooError: see `evaluate`.
    """
    names = {"found": figure, **more}
    found = {"findings": evaluate(paper, names, section)}
    if published is not None:
        found["published"] = evaluate(paper, {**names, **published}, section)
    return figure.model_copy(update=found)


def _all(items: Iterable[Claim | Group], names: Names, given: Mapping[str, Any], at: str) -> Iterator[Finding]:
    for item in items:
        said = {**given, **item.given()}
        if isinstance(item, Claim):
            place = f"{at}: {item.id}"
            yield _finding(item.model_copy(update=said), _with(names, item.where, place), place)
            continue
        for values in product(*item.each.values()):
            own = names | dict(zip(item.each, values, strict=True))
            yield from _all(item.claims, _with(own, item.where, at), said, at)


def _finding(claim: Claim, names: Names, at: str) -> Finding:
    def value(text: float | str) -> Any:  # noqa: ANN401 - whatever the expression is
        return _value(text, names, at) if isinstance(text, str) else text

    head, sentence = (_text(text, names, at) for text in (claim.head, claim.sentence))
    return held(
        f"{head}: {sentence}" if head else sentence,
        _text(claim.measured, names, at),
        value(claim.value),
        value(claim.bound),
        claim.unit,
        at_most=claim.at_most,
        spread=value(claim.spread),
        at_best=value(claim.at_best),
        own_size=_value(claim.value, names | {"size": value(claim.own)}, at) if claim.own else None,
        apart="" if value(claim.comparable) else _text(claim.apart, names, at),
    )


def _with(names: Names, where: Mapping[str, str], at: str) -> Names:
    """Names, and what expressions over them and over each other give."""
    own = dict(names)
    for name, text in where.items():
        own[name] = _value(text, own, f"{at}: {name}")
    return own


def _text(template: str, names: Names, at: str) -> str:
    """A text with its expressions in braces evaluated."""
    return str(_value(f'f"""{template}"""', names, at)) if "{" in template else template


def _value(text: str, names: Names, at: str) -> Any:  # noqa: ANN401 - whatever the expression is
    """An expression of a file of claims, which is the project's own source.

    Raises:
        CachezooError: it cannot be evaluated.
    """
    names["__builtins__"] = {}
    try:
        return eval(text.strip(), names)
    except (ArithmeticError, AttributeError, LookupError, NameError, SyntaxError, TypeError, ValueError) as error:
        raise CachezooError(f"lab/claims: {at}: {text.strip()}: {error}") from error
