"""What decides the split of a cache among applications: partitioners by their texts, and what each did.

A text is an id, or an id with values as in ``gvpa(cost=1, reach=4)``, ``shared(policy=s3fifo)``; `PARTITIONERS` lists
them. All give whole fragments, so that none is ahead by what its rounding leaves: a cache is cut to whole ones first.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

import numpy as np

from cachezoo.arrays import I32, I64, Bool
from cachezoo.errors import ConfigError
from cachezoo.numerals import number
from cachezoo.policies.components import Parameter, Whole, settle
from cachezoo.policies.spec import split
from cachezoo.questions.share.bench import Bench
from cachezoo.sizes import human_pages
from cachezoo.traces.wording import many

FRAGMENT = Whole("fragment", 256, 1, 65536, "pages of 4 KiB in a fragment, the least that is given")
FORM = re.compile(r"([^\s()=,]+)\s*(?:\((.*)\))?")
NOTHING = ""


class TooSmall(ConfigError):
    """A cache has too few fragments for its applications."""


@dataclass(frozen=True)
class Shared:
    """What a partitioner did with the M references of a mix.

    Attributes:
        hit: bool[M].
        fragmentation: int32[M] pages that entered a run away from the head at each reference, or were otherwise read
            beside misses; 0 but of virtual I/O caches. Where nothing is told of splits it has all pages read beside
            misses, those of new mappings too.
        begins: int64[W], rising from 0: the reference from which on each split holds; W = 0 of a cache that does not
            say whose pages it holds.
        splits: int64[W, A] pages that each application may have, or, of a cache that nobody splits, has.
        allocation: int64[W, A] pages that each application read because of a split or a mapping when it began.
    """

    hit: Bool
    fragmentation: I32
    begins: I64
    splits: I64
    allocation: I64

    @classmethod
    def of_hits(cls, hit: Bool, begins: I64, splits: I64) -> "Shared":
        """Of a partitioner that reads no page but those that miss."""
        return cls(hit, np.zeros(len(hit), np.int32), begins, splits, np.zeros(splits.shape, np.int64))

    @property
    def tells(self) -> bool:
        """Whether it is known who has how much of the cache, and what was read for a new split or mapping."""
        return len(self.begins) > 0

    @property
    def moved(self) -> I32:
        """int32[M]: pages read beside misses at each reference; those of a new split at the last one before it."""
        moved = self.fragmentation.copy()
        moved[np.maximum(self.begins - 1, 0)] += self.allocation.sum(axis=1).astype(np.int32)
        return moved


@dataclass(frozen=True)
class Task:
    """What a partitioner is asked.

    Attributes:
        bench: the mix.
        pages: of the whole cache.
        counted: bool[M], which references are judged: what the future's optimum is the optimum of.
    """

    bench: Bench
    pages: int
    counted: Bool

    def total(self, fragment: int, least: int = 1) -> int:
        """Whole fragments of the cache.

        Args:
            fragment: pages of one.
            least: fragments that each application gets.

        Raises:
            TooSmall: there are too few for that.
        """
        total, count = self.pages // fragment, self.bench.mix.count
        if total < count * least:
            fits = self.pages // (count * least)
            fitting = human_pages(count * least * fragment)
            smaller = f", or smaller fragments (--fragment {1 << fits.bit_length() - 1})" if fits else ""
            message = (
                f"a cache of {human_pages(self.pages)} has {many(total, 'fragment')} of {many(fragment, 'page')}, and "
                f"{count} applications take {least} each: give at least {fitting}{smaller}"
            )
            raise TooSmall(message)
        return total


@dataclass(frozen=True)
class Text:
    """A value of a partitioner that is no number.

    Attributes:
        name: of the value.
        default: where none is given.
        check: the canonical text of one; raises ConfigError.
        meaning: for people.
    """

    name: str
    default: str
    check: Callable[[str], str]
    meaning: str


@dataclass(frozen=True)
class Options:
    """Values of a partitioner, all of them.

    Attributes:
        numbers: by name.
        texts: by name.
    """

    numbers: Mapping[str, float]
    texts: Mapping[str, str]

    def whole(self, name: str) -> int:
        """A number that is a whole one."""
        return int(self.numbers[name])


@dataclass(frozen=True)
class Partitioner:
    """One way to decide the split.

    Attributes:
        id: lower case.
        title: one line for people.
        knows: what it knows of the future, in words; `NOTHING` of what any cache can do.
        run: what it does.
        parameters: its numbers.
        texts: its texts.
    """

    id: str
    title: str
    knows: str
    run: Callable[[Task, Options], Shared]
    parameters: tuple[Parameter, ...] = (FRAGMENT,)
    texts: tuple[Text, ...] = ()


@dataclass(frozen=True)
class Asked:
    """A partitioner with its values, as `parse` reads them; equal ones are equal, and so are their texts.

    Attributes:
        partitioner: which.
        given: values that differ from the defaults, texts as they are and numbers in their shortest form.
        options: all values.
    """

    partitioner: Partitioner
    given: tuple[tuple[str, str], ...] = ()
    options: Options = field(default_factory=lambda: Options({}, {}), compare=False)

    def __str__(self) -> str:
        """The canonical text, which `parse` takes back."""
        own = ", ".join(f"{name}={value}" for name, value in self.given)
        return f"{self.partitioner.id}({own})" if own else self.partitioner.id

    @property
    def knows(self) -> str:
        """What it knows of the future, in words; empty where any cache can do it."""
        return self.partitioner.knows

    def run(self, bench: Bench, pages: int, counted: Bool | None = None) -> Shared:
        """What it does with a mix.

        Args:
            bench: the mix.
            pages: of the whole cache.
            counted: bool[M], as of `Task`; None: all.

        Raises:
            TooSmall: the cache has too few fragments.
            ConfigError: the cache is too large for it.
        """
        every = np.ones(len(bench.mix), np.bool_) if counted is None else counted
        try:
            return self.partitioner.run(Task(bench, pages, every), self.options)
        except ConfigError as error:
            raise type(error)(f"{self}: {error}") from error


def parse(text: str, fragment: int = int(FRAGMENT.default)) -> Asked:
    """Read the text that names a partitioner.

    Args:
        text: e.g. ``equal``, ``gvpa(cost=1, reach=4)``, ``shared(policy=s3fifo)``; blanks do not matter.
        fragment: its fragment where it does not give one itself, pages.

    Raises:
        ConfigError: it names none, or a value that it does not take.
    """
    own = " ".join(text.split())
    try:
        return _parsed(own, fragment)
    except ConfigError as error:
        raise ConfigError(f"partitioner {own[:120] or '(empty)'}: {error}") from error


def parse_several(text: str, fragment: int = int(FRAGMENT.default)) -> list[Asked]:
    """Partitioners between commas, each once; a comma within brackets parts none.

    Args:
        text: as of `parse`, with commas.
        fragment: as of `parse`, for each.

    Raises:
        ConfigError: as `parse`.
    """
    return list(dict.fromkeys(parse(piece, fragment) for piece in split(text, ",")))


def _parsed(text: str, fragment: int) -> Asked:
    from cachezoo.questions.share.registry import PARTITIONERS

    known = {one.id: one for one in PARTITIONERS}
    match = FORM.fullmatch(text)
    if match is None or match[1] not in known:
        close = get_close_matches(match[1].lower() if match else text, known, n=1)
        meant = f"did you mean {close[0]}? " if close else ""
        raise ConfigError(f"{meant}use one of {', '.join(known)}, with values in brackets as in gvpa(cost=1)")
    own = known[match[1]]
    numbers, texts = _values(own, match[2])
    settled = settle(own.id, own.parameters, {FRAGMENT.name: float(fragment), **numbers})
    said = {one.name: one.check(texts.get(one.name, one.default)) for one in own.texts}
    given = [(one.name, said[one.name]) for one in own.texts if said[one.name] != one.default]
    given += [(one.name, f"{settled[one.name]:.12g}") for one in own.parameters if settled[one.name] != one.default]
    return Asked(own, tuple(given), Options(settled, said))


def _values(own: Partitioner, inside: str | None) -> tuple[dict[str, float], dict[str, str]]:
    """Numbers and texts that are given in brackets."""
    names, texts = [one.name for one in own.parameters], [one.name for one in own.texts]
    found, said = dict[str, float](), dict[str, str]()
    for piece in split(inside, ",") if inside and inside.strip() else []:
        name, equals, value = (word.strip() for word in piece.partition("="))
        if not equals or name not in (*names, *texts):
            message = (
                f"{piece.strip()[:40] or 'nothing'} is no value of {own.id}; it takes {', '.join((*texts, *names))}"
            )
            raise ConfigError(message)
        if name in found or name in said:
            raise ConfigError(f"{own.id}: {name} is given twice")
        if name in texts:
            said[name] = value
            continue
        own_value = number(value)
        if own_value is None:
            raise ConfigError(f"{own.id}: {name} = {value[:24] or 'nothing'} is no number")
        found[name] = own_value
    return found, said
