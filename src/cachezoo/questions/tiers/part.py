"""A cache of a hierarchy, in RAM or on the SSD: a composition of the zoo, and what hierarchies alone have beside it."""

import re
from dataclasses import dataclass

from cachezoo.arrays import Bool
from cachezoo.errors import ConfigError
from cachezoo.policies.admissions import ACCEPT_ALL, by_decision
from cachezoo.policies.components import Composition
from cachezoo.policies.engine import hits_only, simulate
from cachezoo.policies.evictions.classics import LRU
from cachezoo.policies.prefetches import NONE
from cachezoo.policies.registry import Policy, policy
from cachezoo.policies.spec import Spec, parse, split
from cachezoo.questions.tiers.evictions import HCALFU

BUNDLE = "bundle"  # the admission of a model, whose decisions are given
WHOLE = re.compile(r"(hca|l2arc)\b")


def trimmed(text: str, sign: str) -> list[str]:
    """What stands between the signs that no bracket holds, without the blanks around it."""
    return [piece.strip() for piece in split(text, sign)]


@dataclass(frozen=True)
class Part:
    """A cache as `read_part` reads it.

    Attributes:
        spec: as one of the zoo's.
        counted: its eviction is `hcalfu`, in place of the spec's.
        decided: its admission is `bundle`, in place of the spec's, which has none.
    """

    spec: Spec
    counted: bool = False
    decided: bool = False

    def __str__(self) -> str:
        """The canonical text."""
        admission = BUNDLE if self.decided else str(self.spec.admission)
        eviction = HCALFU.id if self.counted else str(self.spec.eviction)
        return eviction if admission == ACCEPT_ALL.id else f"{admission}+{eviction}"

    def composition(self, decisions: Bool | None = None) -> Composition:
        """Its components.

        Args:
            decisions: what `bundle` admits, as `cachezoo.policies.admissions.by_decision` takes it.

        Raises:
            ConfigError: it is decided and there are no decisions, or it is a follower.
        """
        found = self.spec.composition()
        eviction = (HCALFU, {}) if self.counted else (found.eviction, found.eviction_values)
        admission = found.admission, found.admission_values
        if self.decided:
            if decisions is None:
                message = f"{self}: a bundle's decisions admit to it, and none were given; name the bundle (--bundle)"
                raise ConfigError(message)
            admission = by_decision(decisions, BUNDLE), {}
        return Composition(eviction[0], admission[0], eviction[1], admission[1])

    def policy(self, decisions: Bool | None = None) -> Policy:
        """As a policy of the zoo.

        Raises:
            ConfigError: as `composition`.
        """
        if not (self.counted or self.decided):
            return policy(str(self.spec))
        parts = self.composition(decisions)
        return Policy(
            str(self), "composed", "a composition of hierarchies",
            lambda stream, capacity: simulate(parts, stream, capacity),
            lambda page_ids, n_pages, capacity: hits_only(parts, page_ids, n_pages, capacity),
        )  # fmt: skip


def read_part(text: str, where: str) -> Part:
    """The cache of a text.

    Args:
        text: e.g. ``rejectx+hcalfu``, ``bundle+arc``.
        where: RAM or SSD, for messages; a follower is none for the SSD.

    Raises:
        ConfigError: no cache, a whole hierarchy, a bound, a virtual I/O cache, one that prefetches, or on the SSD a
            follower.
    """
    if not text:
        raise ConfigError(f"{where} is empty; write a cache such as lru")
    whole = WHOLE.match(text)
    if whole is not None:
        raise ConfigError(f"{where}: {whole[1]} is a whole hierarchy; it stands alone")
    pieces = trimmed(text, "+")
    decided, counted = pieces[0] == BUNDLE, HCALFU.id in pieces
    zoos = [LRU.id if piece == HCALFU.id else piece for piece in pieces[decided:]] or [LRU.id]
    try:
        spec = parse("+".join(zoos))
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error
    _check(spec, where)
    if decided and spec.is_follower:
        raise ConfigError(f"{where}: {spec} takes no admission: each of its experts has its own; leave {BUNDLE} out")
    if decided and spec.admission.id != ACCEPT_ALL.id:
        raise ConfigError(f"{where}: a cache has one admission, not {BUNDLE} and {spec.admission}; name one")
    return Part(spec, counted, decided)


def _check(spec: Spec, where: str) -> None:
    if spec.is_bound:
        raise ConfigError(f"{where}: {spec} is a bound, which no tier can be; name a cache")
    if spec.prefetch.id != NONE.id:
        raise ConfigError(f"{where}: {spec} prefetches, which hierarchies do not; leave +{spec.prefetch} out")
    if spec.is_virtual:
        raise ConfigError(f"{where}: {spec} does not say which pages leave, so no tier can be one; name another cache")
    if spec.is_follower and where == "SSD":
        message = f"{where}: {spec} follows several caches and is none to remove pages from; name one of its experts"
        raise ConfigError(message)
