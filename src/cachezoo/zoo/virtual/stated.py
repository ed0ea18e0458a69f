"""What a model of virtual caches states for runtimes: its `features`, `geometry` and `policy` in train.json."""

from typing import Any

from cachezoo.models.trained import Feature
from cachezoo.traces.table import PAGE_BYTES

FEATURES = [Feature(name="page", formula="request.page", unit="pages of 4 KiB from the volume's start")]
GEOMETRY = {"page_bytes": PAGE_BYTES}
MAPPING = (
    "A page is in the cache while its position in the queue is mapped. After each quantum the most valued fragments "
    "are mapped, in so many runs; docs/virtual-model.md."
)


def policy_of(start: str) -> dict[str, Any]:
    """`policy` of train.json: `start` is `warm`, from profile.bin, or `cold`, from the head of the queue."""
    return {"type": "virtual_cache", "start": start, "mapping": MAPPING}
