"""Models beside a category's admission forest, for caches that give it less: no names, or little time.

A cache below a block device sees neither the user nor the namespace of a request. A forest that learned with them turns
7 to 13 % of its decisions where they are unknown, so those without (profile ``block``) are trained without. The small
one is a block model too: who counts the microseconds of a decision sits in the block layer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cachezoo.features.history import feature_list
from cachezoo.settings.forest import ForestShape
from cachezoo.systems.admission.settings import Model


@dataclass(frozen=True)
class Variant:
    """One of a category's admission models.

    Attributes:
        suffix: behind the name of the full one's architecture.
        names: whether it looks at names: of users and namespaces.
        small: whether it has the shape `model.admission.small`.
    """

    suffix: str
    names: bool
    small: bool

    def arch(self, full: str) -> str:
        """The name of its architecture, from the full one's."""
        return full + self.suffix

    def shape(self, model: Model) -> ForestShape:
        """Its forest's shape."""
        own = model.small.model_dump() if self.small else {}
        return ForestShape(**{**model.model_dump(exclude={"small"}), **own})

    def features(self, windows: Sequence[int]) -> list[dict[str, Any]]:
        """Its inputs in order, see `feature_list`."""
        return [row for row in feature_list(windows) if self.names or not row["formula"].startswith("code.")]


FULL = Variant("", names=True, small=False)
BLOCK = Variant("_block", names=False, small=False)
SMALL = Variant("_small", names=False, small=True)
BESIDE = (BLOCK, SMALL)
VARIANTS = (FULL, *BESIDE)
