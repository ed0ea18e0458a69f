"""The kinds of model that this release can run, by name."""

from cachezoo.bundles.kinds.admission import ADMISSION
from cachezoo.bundles.kinds.base import Kind, Replay, Session

KINDS: dict[str, Kind] = {"admission": ADMISSION}

__all__ = ["KINDS", "Kind", "Replay", "Session"]
