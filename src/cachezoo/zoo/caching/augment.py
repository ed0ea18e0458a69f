"""Copies of train traces as they would be elsewhere: moved on the disk, at another pace, with other sizes.

Each changes the inputs alone and leaves the oracles' tags right, for these count page accesses:

- *Offset*: the same pages, moved by a whole number of pages. Only the address is another.
- *Rate*: the same requests, with all gaps longer or shorter.
- *Size*: all requests, and the distances between them, larger or smaller, as if pages were. A request touches as many
  of these pages as before, in the same order, so reuse and capacity in pages are the same. What must not be scaled is a
  request's size alone: it would touch other pages, and so have other tags.

The response times of the copy would differ a little; the tags are those of the trace's own.
"""

from dataclasses import dataclass, replace

import numpy as np

from cachezoo.features.sequence import COMMON_NAMES, Columns
from cachezoo.seeds import derive_seed
from cachezoo.zoo.caching.settings import Augment

CONTEXT = "augment_caching"
PLACE = {name: place for place, name in enumerate(COMMON_NAMES)}


@dataclass(frozen=True)
class Change:
    """How a copy differs.

    Attributes:
        pages: that all addresses are moved by.
        rate: factor of all gaps, above 0.
        size: factor of sizes, addresses and distances, above 0.
    """

    pages: int
    rate: float
    size: float


def drawn_changes(columns: Columns, options: Augment, seed: int, category: str, key: str) -> list[Change]:
    """The changes of a trace's copies, the same in every run.

    Args:
        columns: the trace's raw inputs.
        options: how many copies, and how far each may go.
        seed: of params.yaml.
        category: workload category.
        key: the trace.
    """
    address = columns.common[:, PLACE["address"]].astype(np.float64)
    span = float(address.max() - address.min())
    found = []
    for copy in range(options.copies):
        rng = np.random.default_rng(derive_seed(seed, CONTEXT, category, key, copy))
        offset, rate, size = rng.uniform(-1.0, 1.0, 3)
        found.append(
            Change(
                round(offset * options.offset_spans * span),
                float(2.0 ** (rate * options.rate_octaves)),
                float(2.0 ** (size * options.size_octaves)),
            )
        )
    return found


def changed(columns: Columns, change: Change) -> Columns:
    """A trace's raw inputs with a change.

    Args:
        columns: raw inputs, unchanged.
        change: what is another.
    """
    common = columns.common.astype(np.float64)
    gap, delta, address, size = (common[:, PLACE[name]] for name in ("gap", "delta", "address", "size"))
    common[:, PLACE["gap"]] = np.log1p(change.rate * np.expm1(gap))
    sectors = np.exp2(np.abs(delta)) - 1.0
    common[:, PLACE["delta"]] = np.sign(delta) * np.log2(1.0 + change.size * sectors)
    common[:, PLACE["address"]] = change.size * address + change.pages
    common[:, PLACE["size"]] = size + np.log2(change.size)
    return replace(columns, common=common.astype(np.float32))
