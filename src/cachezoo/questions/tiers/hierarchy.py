"""The text that names a hierarchy: `RAM`, `RAM | SSD`, `RAM | tb=64K | SSD`, `promotion: RAM | SSD`, `l2arc` ...

RAM and SSD are caches as `cachezoo.policies.spec` reads them, with two components more: `hcalfu`, HCA's LFU, and the
admission `bundle`, a model's decisions. `hca` stands for `hcalfu | tb=64K | lru`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from typing import Literal, cast

from cachezoo.arrays import Bool
from cachezoo.errors import ConfigError
from cachezoo.kernels import tier_counts
from cachezoo.numerals import number
from cachezoo.policies.admissions import ACCEPT_ALL, by_decision
from cachezoo.policies.components import Composition, Eviction, Parameter, settle
from cachezoo.policies.engine import hits_only, simulate
from cachezoo.policies.evictions.classics import LRU
from cachezoo.policies.following import FOLLOW
from cachezoo.policies.grammar import split
from cachezoo.policies.prefetches import NONE
from cachezoo.policies.registry import Policy, policy
from cachezoo.policies.spec import BOUNDS, TABLES, Spec, parse
from cachezoo.policies.virtual import VRM
from cachezoo.sizes import PAGE_BYTES

Kind = Literal["exclusive", "promotion", "inclusive", "l2arc", "ram"]
MARKED = ("promotion", "inclusive")  # kinds that stand before a colon
FORM = "RAM | SSD, RAM | tb=SIZE | SSD, promotion: RAM | SSD, inclusive: RAM | SSD, l2arc, hca, or RAM alone"
HCA = "hca"
BUFFER = re.compile(r"tb\s*=\s*(\S.*)")
BUFFER_SIZE = re.compile(r"([0-9]{1,12})\s*(?:([kmg])(?:i?b)?|b?)", re.IGNORECASE)
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
MOST_BUFFER = 1 << 30
L2ARC = (
    Parameter("rate", 8 << 20, PAGE_BYTES, 1 << 40, "bytes a second that the feed copies to the SSD at most"),
    Parameter("headroom", 2, 1, 1e6, "how deep the feed looks into each list, in what it may copy at once"),
    Parameter("feed", 200, 1, 3_600_000, "milliseconds between two feeds"),
)
BRACKETS = re.compile(r"\([^()]*\)")
PARTED = re.compile(r"[|+:]")
NAME = re.compile(r"[A-Za-z]\w*")
L2ARC_TEXT = re.compile(r"l2arc\s*(?:\((.*)\))?")
BUNDLE = "bundle"  # the admission of a model, whose decisions are given
HCALFU = Eviction(
    "hcalfu", "LFU as in HCA: every page enters, counts survive eviction",
    lambda stream, capacity, _: tier_counts.make(stream.n_pages, capacity, keeps=True, refuses=False, removes=False),
    tier_counts.has, tier_counts.touch, tier_counts.insert,
)  # fmt: skip
WHOLE = re.compile(r"(hca|l2arc)\b")


def trimmed(text: str, sign: str) -> list[str]:
    """The pieces between the signs that no bracket holds, without the blanks around them."""
    return [piece.strip() for piece in split(text, sign)]


@dataclass(frozen=True)
class Part:
    """A cache of a hierarchy, in RAM or on the SSD: a composition of the zoo, and what hierarchies alone have."""

    spec: Spec
    counted: bool = False  # its eviction is `hcalfu`, in place of the spec's
    decided: bool = False  # its admission is `bundle`, in place of the spec's, which has none

    def __str__(self) -> str:
        """The canonical text."""
        admission = BUNDLE if self.decided else str(self.spec.admission)
        eviction = HCALFU.id if self.counted else str(self.spec.eviction)
        return eviction if admission == ACCEPT_ALL.id else f"{admission}+{eviction}"

    def composition(self, decisions: Bool | None = None) -> Composition:
        """Its components; a bundle's decisions are as `cachezoo.policies.admissions.by_decision` takes them.

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


@cache
def read_part(text: str, where: str) -> Part:
    """The cache of a text; each is read once, as to read it takes a fifth of a small simulation.

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


@dataclass(frozen=True)
class Hierarchy:
    """RAM, and what is below it before the disk.

    `exclusive`: a page is in RAM or on the SSD. `promotion`: RAM's victims are copied to the SSD, a page found there is
    copied up. `inclusive`: what RAM misses is written to the SSD at once. `l2arc`: ZFS's ARC, the tails of whose lists
    are copied to the SSD now and then. `ram`: no SSD.
    """

    kind: Kind
    ram: str  # canonical text of RAM's cache
    buffer_bytes: int = 0  # of the transient buffer, which is not in RAM's pages; 0 without one
    ssd: str = ""  # canonical text of the SSD's cache; empty without one, and of `l2arc`, whose SSD is a ring
    options: Mapping[str, float] = field(default_factory=dict, hash=False)  # all of `L2ARC` by name; of others none

    def __str__(self) -> str:
        """The canonical text, which `parse_hierarchy` takes back."""
        if self.kind == "ram":
            return self.ram
        if self.kind == "l2arc":
            given = [
                f"{one.name}={_bytes(value) if one.name == 'rate' else f'{value:.12g}'}"
                for one in L2ARC
                if (value := self.options[one.name]) != one.default
            ]
            return f"l2arc({', '.join(given)})" if given else "l2arc"
        buffer = [f"tb={_bytes(self.buffer_bytes)}"] if self.buffer_bytes else []
        parts = " | ".join([self.ram, *buffer, self.ssd])
        return parts if self.kind == "exclusive" else f"{self.kind}: {parts}"

    @property
    def has_ssd(self) -> bool:
        """Is there an SSD?"""
        return self.kind != "ram"

    @property
    def buffer_pages(self) -> int:
        """Of the transient buffer."""
        return self.buffer_bytes // PAGE_BYTES

    @property
    def is_decided(self) -> bool:
        """Does a bundle admit to RAM or to the SSD?"""
        return any(read_part(text, "tier").decided for text in (self.ram, self.ssd) if text)

    def ram_policy(self, decisions: Bool | None = None) -> Policy:
        """RAM's cache, to be simulated on a stream; a bundle's decisions are those of each request or each access.

        Raises:
            ConfigError: a bundle admits to it and there are no decisions.
        """
        return read_part(self.ram, "RAM").policy(decisions)

    def ssd_composition(self, decisions: Bool | None = None) -> Composition:
        """The SSD's components; a bundle's decisions are those of each question.

        Raises:
            ConfigError: there is no SSD, it is a ring, or a bundle admits to it and there are no decisions.
        """
        if not self.ssd:
            raise ConfigError(f"hierarchy {self}: no composition runs its SSD")
        return read_part(self.ssd, "SSD").composition(decisions)


def _bytes(size: float) -> str:
    """The shortest exact text of a size: 64K, 8M."""
    for unit in ("g", "m", "k"):
        if size % UNITS[unit] == 0:
            return f"{int(size) // UNITS[unit]}{unit.upper()}"
    return f"{size:.12g}"


def _size(text: str, what: str) -> int:
    match = BUFFER_SIZE.fullmatch(text.strip())
    if match is None:
        raise ConfigError(f"{what} = {text.strip()[:24]!r} is no size; write it as 64K or 1M (powers of 1024)")
    return int(match[1]) * UNITS[(match[2] or "").lower()]


def _buffer(text: str) -> int:
    match = BUFFER.fullmatch(text)
    if match is None:
        raise ConfigError(f"{text[:40] or '(empty)'} stands where the transient buffer should; write tb=64K")
    size = _size(match[1], "tb")
    if size % PAGE_BYTES or size > MOST_BUFFER:
        message = (
            f"tb = {match[1].strip()}: a buffer holds whole pages of 4 KiB, at most 1 GiB; write 0, 16K, 64K or 1M"
        )
        raise ConfigError(message)
    return size


def _l2arc(text: str | None) -> Hierarchy:
    names = [one.name for one in L2ARC]
    given: dict[str, float] = {}
    for piece in trimmed(text, ",") if text and text.strip() else []:
        name, equals, value = (word.strip() for word in piece.partition("="))
        if not equals or name not in names or name in given:
            fault = "is given twice" if name in given else f"is no value of l2arc; it takes {', '.join(names)}"
            raise ConfigError(f"{piece[:40] or '(empty)'} {fault}; write l2arc(rate=8M, headroom=2, feed=200)")
        found = _size(value, name) if name == "rate" else number(value)
        if found is None:
            raise ConfigError(f"l2arc: {name} = {value[:24] or 'nothing'} is no number")
        given[name] = found
    options = settle("l2arc", L2ARC, given)
    if options["rate"] * options["feed"] < 1000 * PAGE_BYTES:
        message = (
            f"l2arc: rate={_bytes(options['rate'])} is less than a page in each {options['feed']:g} ms; raise rate, "
            "or feed more rarely"
        )
        raise ConfigError(message)
    return Hierarchy("l2arc", "arc", options=options)


def _parsed(text: str) -> Hierarchy:
    found = L2ARC_TEXT.fullmatch(text)
    if found is not None:
        return _l2arc(found[1])
    if text == HCA:
        return Hierarchy("exclusive", HCALFU.id, 64 << 10, "lru")
    head, *tail = trimmed(text, ":")
    if len(tail) > 1 or (tail and head not in MARKED):
        close = get_close_matches(head.lower(), MARKED, n=1)
        meant = f", did you mean {close[0]}?" if close else ""
        raise ConfigError(f"{head[:40] or '(empty)'} stands before a colon{meant}; kinds named so: {', '.join(MARKED)}")
    kind = cast(Kind, head) if tail else "exclusive"
    tiers = trimmed(tail[0] if tail else head, "|")
    if len(tiers) == 1 and not tail:
        return Hierarchy("ram", str(read_part(tiers[0], "RAM")))
    if not (len(tiers) == 2 or (len(tiers) == 3 and not tail)):
        message = f"{len(tiers)} tier{'s' if len(tiers) != 1 else ''}{f' of {kind}' if tail else ''}; write {FORM}"
        raise ConfigError(message)
    size = _buffer(tiers[1]) if len(tiers) == 3 else 0
    return Hierarchy(kind, str(read_part(tiers[0], "RAM")), size, str(read_part(tiers[-1], "SSD")))


def parse_hierarchy(text: str) -> Hierarchy:
    """Read the text that names a hierarchy.

    Args:
        text: e.g. ``hca``, ``arc | tb=64K | rejectx+lru``, ``promotion: lru | rejectx+fifo``, ``l2arc(rate=4M)``,
            ``arc``; blanks do not matter.

    Raises:
        ConfigError: it names nothing, or something that no hierarchy has.
    """
    own = " ".join(text.split())
    if not own:
        raise ConfigError(f"hierarchy (empty): write {FORM}")
    try:
        return _parsed(own)
    except ConfigError as error:
        raise ConfigError(f"hierarchy {own[:120]}: {error}") from error


def parse_by(text: str) -> list[Hierarchy]:
    """The hierarchies of `--hierarchy`, each once; a comma within brackets separates none.

    Raises:
        ConfigError: one names no hierarchy, or there is none.
    """
    pieces = split(text, ",")
    for piece in pieces:
        _check_names(piece)
    return list({str(own): own for own in map(parse_hierarchy, pieces)}.values())


def _check_names(text: str) -> None:
    """Refuse a name that neither policies nor hierarchies have, more briefly than a policy is refused.

    Raises:
        ConfigError: there is one, outside of brackets.
    """
    bare = text
    while (inner := BRACKETS.sub("", bare)) != bare:
        bare = inner
    parts = [*(name for table in TABLES for name in table), *BOUNDS, FOLLOW.id, VRM.id, HCALFU.id, BUNDLE]
    known = [HCA, "l2arc", *MARKED, *parts]
    for name in (word.strip() for word in PARTED.split(bare)):
        if NAME.fullmatch(name) and name not in known:
            close = get_close_matches(name.lower(), known, n=2)
            meant = f", did you mean {' or '.join(close)}?" if close else ""
            what = "cachezoo policies lists what RAM and SSD may run"
            raise ConfigError(f"--hierarchy {text.strip()[:40]}: {name[:24]} is unknown{meant}; {what}")
