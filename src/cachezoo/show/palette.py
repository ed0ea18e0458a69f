"""The look of a policy: one colour, line and marker in every plot of the project.

Colours are Okabe and Ito's, which colour-blind readers tell apart. A family of policies shares one; its members differ
by line and marker. Models of the zoo are BLUE, LRU is SKY, what knows the future is black and dotted.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from cachezoo.show.style import AMBER, BLACK, BLUE, GREEN, GREY, LIGHT, PINK, SKY, VERMILION

LINES, DOTTED, MARKERS = ("-", "--", "-."), ":", "os^vDxP*<>"


class Look(NamedTuple):
    """How a policy is drawn."""

    colour: str
    line: str = "-"
    marker: str = "o"


OURS, BOUND, OTHER = Look(BLUE), Look(GREY, DOTTED, "."), GREY
# By family: the colour, then the policies with their line and marker.
FAMILIES: Mapping[str, Sequence[tuple[str, str, str]]] = {
    # the order of use alone
    SKY: [("lru", "-", "."), ("fifo", "--", "s"), ("clock", "-.", "^"), ("sieve", "--", "v"), ("mru", "-.", "x")],
    # several queues, their sizes set by a rule
    AMBER: [("s3fifo", "-", "D"), ("twoq", "--", "s"), ("clock2qplus", "-.", "^"), ("coin_flip", "--", "o"),
            ("vrm", "-", "P"), ("reca", "-.", "x")],
    # parts that adapt to the requests
    GREEN: [("arc", "-", "s"), ("larc", "--", "^"), ("marc", "-.", "v"), ("lirs", "--", "D")],
    # counts of use, also before something may enter
    PINK: [("rejectx", "-", "^"), ("bloom_rejectx", "--", "v"), ("lfu", "-", "x"), ("inlfu", "--", "s"),
           ("lrfu", "-.", "o"), ("wtinylfu", "-", "D"), ("azor", "--", "P"), ("hystor", "-.", "*")],
    # what learns or chooses as it runs
    VERMILION: [("cacheus", "-", "v"), ("lrb", "--", "^"), ("threelcache", "-.", "D"), ("follow", "-", "P")],
    # bounds, which know the future
    BLACK: [("belady_bypass", DOTTED, "."), ("belady", DOTTED, "^"), ("opt", DOTTED, "."), ("oracle", DOTTED, "s")],
    GREY: [("accept_all", "-", "o")],
    # the systems of the zoo
    BLUE: [("reuse", "-", "o"), ("caching", "-", "s"), ("workload", "--", "^"), ("admission", "-", "D"),
           ("baleen", "--", "D"), ("virtual", "-.", "P")],
}  # fmt: skip
POLICIES: Mapping[str, Look] = {
    name: Look(colour, line, marker) for colour, own in FAMILIES.items() for name, line, marker in own
}
# Ways to share a cache, and hierarchies of RAM and SSD, by family.
HATCH = "////"
SHARINGS: Mapping[str, tuple[str, str]] = {  # the colour and the hatch
    "equal": (GREY, ""), "equal_any": (GREY, HATCH), "shared_lru": (SKY, ""), "shared": (AMBER, ""),
    "learned": (BLUE, ""), "learned_lru": (BLUE, HATCH), "ucp": (GREEN, ""), "ucp_any": (GREEN, HATCH),
    "climb": (BLACK, HATCH), "gvpa": (VERMILION, ""), "gvpa_cost": (PINK, ""),
}  # fmt: skip
HIERARCHIES: Mapping[str, Look] = {
    "ram": Look(GREY, "-", "s"), "inclusive": Look(SKY, "-", "v"), "promotion": Look(AMBER, "-", "D"),
    "l2arc": Look(VERMILION, "-", "^"), "hca": Look(GREEN, "-", "P"), "zoo": Look(BLUE, "-", "o"),
}  # fmt: skip
SERVERS: Mapping[str, str] = {"RAM": BLUE, "buffer": SKY, "SSD": AMBER, "disk": GREY}  # what a read is served by
NAME = re.compile(r"^[A-Za-z0-9_]+")


def look_of(policy: str, kind: str = "") -> Look:
    """A policy's look: its own, that of what evicts in it, of its model's system, or of its kind.

    Args:
        policy: its text, `rejectx+arc` or `s3fifo(small=0.2)`, or the id of a model.
        kind: of the policy: `model`, `bound` or another.
    """
    for text in (policy.rsplit("+", 1)[-1], policy):
        name = NAME.match(text)
        if name and name[0] in POLICIES:
            return POLICIES[name[0]]
    return {"model": OURS, "bound": BOUND}.get(kind, Look(OTHER))


def colour_of(policy: str, kind: str = "") -> str:
    """A policy's colour, for bars; bounds but the optimum are light."""
    look = look_of(policy, kind)
    return LIGHT if look is BOUND else look.colour


def looks(policies: Sequence[tuple[str, str]]) -> dict[str, Look]:
    """The looks of policies in one plot, no two alike: of two with the same, the second takes another line or marker.

    Args:
        policies: texts and kinds.
    """
    taken = set[Look]()
    found = dict[str, Look]()
    exact = sorted(policies, key=lambda own: own[0] not in POLICIES)  # who has a look of its own keeps it
    for policy, kind in exact:
        look = look_of(policy, kind)
        found[policy] = next((one for one in (look, *_others(look)) if one not in taken), look)
        taken.add(found[policy])
    return {policy: found[policy] for policy, _ in policies}


def _others(look: Look) -> Iterator[Look]:
    """Looks of the same colour; dotted lines stay with what knows the future."""
    lines = [DOTTED] if look.line == DOTTED else list(LINES)
    return (Look(look.colour, line, marker) for marker, line in product((look.marker, *MARKERS), lines))
