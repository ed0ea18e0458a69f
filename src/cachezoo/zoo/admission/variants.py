"""Models beside a category's admission forest, for caches that give it less: no names, or little time.

A cache below a block device sees neither the user nor the namespace of a request. Where a forest that learned with
them knows none, up to 14 % of its decisions turn and its threshold misses the write budget (docs/baleen.md); so these
learn without. The small one is a block model too: who counts the microseconds of a decision sits where no names are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cachezoo.features.history import feature_list
from cachezoo.settings.forest import ForestShape
from cachezoo.zoo.admission.settings import Model


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
