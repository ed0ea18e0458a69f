"""Which captured traces run at the same time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from cachezoo.metrics.base import Role
from cachezoo.questions.share.columns import Kind
from cachezoo.settings.data import TraceEntry


@dataclass(frozen=True)
class Named:
    """A mix by the keys of its traces."""

    name: str
    kind: Kind
    keys: tuple[str, ...]


def mixes_of(entries: Mapping[str, TraceEntry], categories: Sequence[str], role: Role, pairs: int) -> list[Named]:
    """The mixes of a role.

    One of a trace of each category, whose program was seen in training; one of all traces, where there are more, as of
    unseen programs; and two and two of the first.

    Args:
        entries: traces by key.
        categories: of page traces.
        role: of the traces.
        pairs: most pairs, those that are farthest apart in the list of categories first, so that few hold all.
    """
    own = {
        category: sorted(key for key, one in entries.items() if (one.category, one.role) == (category, role))
        for category in categories
    }
    seen = [key for keys in own.values() for key in [key for key in keys if not entries[key].unseen][:1]]
    every = [key for keys in own.values() for key in keys]
    found = [Named("all", "all", tuple(seen))] if len(seen) > 1 else []
    if len(every) > max(len(seen), 1):
        found.append(Named("unseen", "unseen", tuple(every)))
    if len(seen) > 2:
        places = sorted(combinations(range(len(seen)), 2), key=lambda two: (abs(two[1] - two[0] - len(seen) // 2), two))
        for left, right in places[:pairs]:
            name = "+".join(entries[seen[at]].category for at in (left, right))
            found.append(Named(name, "pair", (seen[left], seen[right])))
    return found
