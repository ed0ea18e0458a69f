"""The kinds of model that this release can run, by name."""

from cachezoo.bundles.kinds.admission import ADMISSION
from cachezoo.bundles.kinds.base import Kind, Replay, Session
from cachezoo.bundles.kinds.caching import CACHING
from cachezoo.bundles.kinds.prefetch import PREFETCH
from cachezoo.bundles.kinds.workload import WORKLOAD

KINDS: dict[str, Kind] = {"admission": ADMISSION, "caching": CACHING, "prefetch": PREFETCH, "workload": WORKLOAD}

__all__ = ["KINDS", "Kind", "Replay", "Session"]
