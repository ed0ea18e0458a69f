"""The text that names RC-RNN's cache: `rcrnn(category=auto)`, whose caching models take turns, or one category's.

It is written as the components of `cachezoo.policies.spec` are, but its models are trained and lie in a folder of
bundles; `cachezoo.questions.page.turns` runs it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from cachezoo.errors import ConfigError
from cachezoo.policies.components import Whole
from cachezoo.policies.grammar import COMPONENT, pieces, settled, split, written

ID, CATEGORY, AUTO = "rcrnn", "category", "auto"
MEANING = "seconds from the beginning of a vote to that of the next; 0: they follow on one another, -1: the bundle says"
EVERY = Whole("vote_every_s", -1, -1, 1 << 20, MEANING)
FORM = f"{ID}({CATEGORY}={AUTO})"
TITLE = "RC-RNN's trained caching models, which take turns as the workload changes; in simulate and compare"


@dataclass(frozen=True)
class Rcrnn:
    """RC-RNN's cache, as `parse` reads it; equal caches are equal, and so are their texts."""

    category: str | None = None  # whose model decides throughout; None where a monitor says whose
    vote_every_s: int | None = None  # of the monitor's votes, from beginning to beginning; None: as its bundle says

    def __str__(self) -> str:
        """The canonical text, without a value that is the default."""
        every = [] if self.vote_every_s is None else [(EVERY.name, self.vote_every_s)]
        return written(ID, every, [] if self.category is None else [f"{CATEGORY}={self.category}"])


def parse(text: str) -> Rcrnn | None:
    """Read a policy's text; None where it names another policy.

    Raises:
        ConfigError: another component with it, or what it takes no such value of.
    """
    text = " ".join(text.split())
    matches = [COMPONENT.fullmatch(component) for component in split(text, "+")]
    match = next((one for one in matches if one is not None and one[1] == ID), None)
    if match is None:
        return None
    if len(matches) > 1:
        raise ConfigError(f"policy {text}: {ID} has an admission and queues of its own; name it alone")
    words, others = list[str](), list[str]()
    for piece in pieces(match[2] or ""):
        name, equals, value = (word.strip() for word in piece.partition("="))
        (words if equals and name == CATEGORY else others).append(value if name == CATEGORY else piece)
    try:
        numbers = dict(settled(ID, (EVERY,), others, (CATEGORY,)))
        if len(words) > 1:
            raise ConfigError(f"{ID}: {CATEGORY} is given twice")
        if words == [""]:
            raise ConfigError(f"{ID}: {CATEGORY} = nothing is unknown; use {AUTO}, or a caching bundle's category")
        category = None if words in ([], [AUTO]) else words[0]
        if category is not None and numbers:
            raise ConfigError(f"{ID}: {EVERY.name} is for {CATEGORY}={AUTO}; the model of {category} needs no votes")
    except ConfigError as error:
        raise ConfigError(f"policy {text}: {error}") from error
    return Rcrnn(category, int(numbers[EVERY.name]) if numbers else None)


def rcrnn_of(ids: Iterable[str]) -> dict[str, Rcrnn]:
    """Those of the policies that are RC-RNN's cache, by their texts.

    Raises:
        ConfigError: as `parse`.
    """
    return {own: found for own in ids if (found := parse(own)) is not None}
