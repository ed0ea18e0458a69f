"""What decides the split of a cache among applications: a partitioner, its values, and what it did."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TypeVar

import numpy as np

from cachezoo.arrays import I32, I64, Bool
from cachezoo.errors import ConfigError
from cachezoo.policies.components import Parameter, Whole
from cachezoo.questions.share.mix import Mix
from cachezoo.sizes import human_pages
from cachezoo.traces.wording import many

FRAGMENT = Whole("fragment", 256, 1, 65536, "pages of 4 KiB in a fragment, the least that is given")
NOTHING = ""
OF_EACH = "/"  # between values of the applications, in their order
Kept = TypeVar("Kept")
SHARED = "shared"


class Unfit(ConfigError):
    """A partitioner cannot have this case: too few fragments for its applications, or nothing to learn from."""


@dataclass(frozen=True)
class Floor:
    """The least service that an application is to have."""

    pages: int = 0  # of the cache
    hits: float = 0.0  # hit ratio of its references that count

    def missed(self, references: int) -> int:
        """Misses of so many references that the hit ratio allows."""
        return int((1 - Fraction(str(self.hits))) * references)


@dataclass(frozen=True)
class Hull:
    """The corners of a curve's hull on both sides of a part's size, by which a hash deals out the part's pages."""

    ends: tuple[int, int]  # pages at each corner, equal where the size is one
    policies: tuple[str, str]  # the best of each

    def parts(self, pages: int) -> bool:
        """Whether a part of so many pages is dealt out."""
        return self.ends[0] < pages < self.ends[1]


@dataclass(frozen=True)
class Shared:
    """What a partitioner did with the M references of a mix.

    Attributes:
        hit: bool[M].
        fragmentation: int32[M] pages that entered a run away from the head at each reference, or were otherwise read
            besides misses; 0 but of virtual I/O caches. Where splits are not known it has all pages read besides
            misses, those of new mappings too.
        begins: int64[W], rising from 0: the reference from which on each split holds; W = 0 of a cache that does not
            say whose pages it holds.
        splits: int64[W, A] pages that each application may have, or, of a cache that nobody splits, has.
        allocation: int64[W, A] pages that each application read because of a split or a mapping when it began.
        policies: the policy in each application's part, of a split that stays as it is; empty of others.
        hulls: of each part's curve, where parts are dealt out by them; else empty.
    """

    hit: Bool
    fragmentation: I32
    begins: I64
    splits: I64
    allocation: I64
    policies: tuple[str, ...] = ()
    hulls: tuple[Hull, ...] = ()

    @classmethod
    def of_hits(cls, hit: Bool, begins: I64, splits: I64, policies: Sequence[str] = ()) -> "Shared":
        """Of a partitioner that reads no page but those that miss."""
        nothing = np.zeros(splits.shape, np.int64)
        return cls(hit, np.zeros(len(hit), np.int32), begins, splits, nothing, tuple(policies))

    @property
    def known(self) -> bool:
        """Whether it is known who has how much of the cache, and what was read for a new split or mapping."""
        return len(self.begins) > 0

    @property
    def moved(self) -> I32:
        """int32[M]: pages read besides misses at each reference; those of a new split at the last one before it."""
        moved = self.fragmentation.copy()
        moved[np.maximum(self.begins - 1, 0)] += self.allocation.sum(axis=1).astype(np.int32)
        return moved


@dataclass(frozen=True)
class Task:
    """A mix in front of a cache."""

    mix: Mix
    pages: int  # of the whole cache
    counted: Bool  # bool[M], which references count: what the future's optimum is the optimum of
    floors: tuple[Floor, ...] = ()  # of each application; empty where none has one
    rate: float = 1.0  # of a sample, for which `pages` and fragments are as much smaller than those of the whole cache

    def whole(self, pages: int) -> int:
        """Pages of the whole cache that some of this one stand for."""
        return round(pages / self.rate)

    @cached_property
    def earlier(self) -> tuple[int, ...]:
        """How many references of each application come before those that count: what may be learned from.

        Raises:
            Unfit: there are none.
        """
        found = tuple(int(np.count_nonzero(~self.counted[places])) for places in self.mix.at)
        if not any(found):
            raise Unfit("it learns from page accesses before those that count, and all count: leave --count at half")
        return found

    def least(self, fragment: int, total: int, each: int = 1) -> I64:
        """int64[A]: fragments that each application gets at least, by the sizes of its floor.

        Args:
            fragment: pages of one.
            total: fragments of the cache.
            each: fragments that every application gets.

        Raises:
            Unfit: together they are more than the cache.
        """
        own = [max(each, -(-floor.pages // fragment)) for floor in self.floors] or [each] * self.mix.count
        if sum(own) > total:
            message = (
                f"floors take {human_pages(self.whole(sum(own) * fragment))}, and the cache has "
                f"{human_pages(self.whole(total * fragment))}: lower one (--floor)"
            )
            raise Unfit(message)
        return np.array(own, np.int64)

    def served(self, misses: I64, references: Sequence[int], least: I64) -> I64:
        """int64[A]: the least sizes at which each application has the hit ratio of its floor.

        A floor that no size reaches is left out; if all of them take more than the cache, all are. What a sample has
        too many or too few references of is hits, so that its misses are held against what all have of so many pages.

        Args:
            misses: int64[A, k + 1] with 0 to k steps.
            references: of each application, that these are misses of.
            least: int64[A] steps that each gets anyway.
        """
        found = least.copy()
        for a, floor in enumerate(self.floors):
            own = round(references[a] * self.mix.applications[a].adjusted)
            enough = np.flatnonzero(misses[a] <= floor.missed(own))
            if floor.hits and len(enough):
                found[a] = max(found[a], enough[0])
        return found if found.sum() < misses.shape[1] else least

    def total(self, fragment: int, least: int = 1) -> int:
        """Whole fragments of the cache.

        Args:
            fragment: pages of one.
            least: fragments that each application gets.

        Raises:
            Unfit: there are too few for that.
        """
        total, count = self.pages // fragment, self.mix.count
        if total < count * least:
            fits = self.pages // (count * least)
            power = 1 << fits.bit_length() - 1 if fits else 0
            if power * self.mix.rate >= self.rate:  # a page of the sample at least
                smaller = f", or smaller fragments (--fragment {self.whole(power)})"
            else:
                smaller = ", or a higher --sample" if self.mix.rate < 1 else ""
            have, each = human_pages(self.whole(self.pages)), many(self.whole(fragment), "page")
            message = (
                f"a cache of {have} has {many(total, 'fragment')} of {each}, and {count} applications take {least} "
                f"each: give at least {human_pages(self.whole(count * least * fragment))}{smaller}"
            )
            raise Unfit(message)
        return total


@dataclass(frozen=True)
class Text:
    """A value of a partitioner that is no number."""

    name: str
    default: str
    check: Callable[[str], str]  # the canonical text of one; raises ConfigError
    meaning: str  # for people


@dataclass(frozen=True)
class Options:
    """All values of a partitioner, by name."""

    numbers: Mapping[str, float]
    texts: Mapping[str, str]
    each: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # numbers that each application has its own of

    def of_each(self, name: str, count: int) -> list[float]:
        """A number of each application.

        Raises:
            ConfigError: as many are given as there are no applications.
        """
        return list(self._counted(self.each.get(name, (self.numbers[name],)), name, count))

    def text_of_each(self, name: str, count: int) -> list[str]:
        """A text of each application, as `of_each`."""
        return list(self._counted(self.texts[name].split(OF_EACH), name, count))

    def _counted(self, given: Sequence[Kept], name: str, count: int) -> Sequence[Kept]:
        if len(given) not in (1, count):
            own = OF_EACH.join(map(str, given))
            raise ConfigError(f"{name}={own}: {len(given)} values for {count} applications; give one each, or one")
        return given if len(given) == count else [*given] * count

    def integer(self, name: str) -> int:
        """A number without fractions."""
        return int(self.numbers[name])


@dataclass(frozen=True)
class Partitioner:
    """One way to decide the split."""

    id: str  # lower case
    title: str  # one line for people
    knows: str  # what it knows of the future, in words; `NOTHING` of what any cache can do
    run: Callable[[Task, Options], Shared]
    parameters: tuple[Parameter, ...] = (FRAGMENT,)
    texts: tuple[Text, ...] = ()
    each: tuple[str, ...] = ()  # parameters that each application may have its own of
    pages: tuple[str, ...] = (FRAGMENT.name,)  # parameters that count pages
    windows: tuple[str, ...] = ()  # parameters that count references


@dataclass(frozen=True)
class Candidate:
    """A partitioner with its values, as `parse` reads them; equal ones are equal, and so are their texts."""

    partitioner: Partitioner
    given: tuple[tuple[str, str], ...] = ()  # values that differ from the defaults, numbers in their shortest form
    options: Options = field(default_factory=lambda: Options({}, {}), compare=False)

    def __str__(self) -> str:
        """The canonical text, which `parse` takes back."""
        own = ", ".join(f"{name}={value}" for name, value in self.given)
        return f"{self.partitioner.id}({own})" if own else self.partitioner.id

    @property
    def knows(self) -> str:
        """What it knows of the future, in words; empty where any cache can do it."""
        return self.partitioner.knows

    @property
    def splits(self) -> bool:
        """Whether each application has a part of its own."""
        return self.partitioner.id != SHARED

    @property
    def fragment(self) -> int:
        """Pages that it gives out together."""
        return self.options.integer(FRAGMENT.name)

    def run(self, mix: Mix, pages: int, counted: Bool | None = None, floors: Sequence[Floor] = ()) -> Shared:
        """What it does with a mix.

        Args:
            mix: the applications.
            pages: of the whole cache.
            counted: bool[M], as of `Task`; None: all.
            floors: as of `Task`.

        Raises:
            Unfit: the cache has too few fragments, or there is nothing to learn from.
            ConfigError: the cache is too large for it.
        """
        every = np.ones(len(mix), np.bool_) if counted is None else counted
        with self.named():
            return self.partitioner.run(Task(mix, pages, every, tuple(floors)), self.options)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Errors within are this candidate's, and say so."""
        try:
            yield
        except ConfigError as error:
            raise type(error)(f"{self}: {error}") from error
