"""Labels of the caching model, as a stage reads them: the tags of each request by each oracle at each capacity."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cachezoo.arrays import F32, U8, Bool
from cachezoo.errors import TraceError
from cachezoo.io import read_rows
from cachezoo.kernels.oracle_cache import (
    CACHED,
    CONSULTED,
    DURATION_MASK,
    DURATION_SHIFT,
    FORCED,
    KEPT,
    KEPT_SETTLED,
    SETTLED,
)
from cachezoo.settings.page_cache import BenefitLabel
from cachezoo.traces.pages import percent

BELADY, COST_BELADY = "belady", "cost_belady"
METADATA_KEY = "cachezoo.benefit_labels"


@dataclass(frozen=True)
class Tags:
    """Tags of each request at one capacity; see `cachezoo.kernels.oracle_cache.request_tags`.

    Attributes:
        bits: uint8[n].
    """

    bits: U8

    def _flag(self, bit: int) -> Bool:
        flag: Bool = (self.bits & bit) != 0
        return flag

    @property
    def cached(self) -> Bool:
        """At least half of the missing pages were admitted, or nothing was missing."""
        return self._flag(CACHED)

    @property
    def consulted(self) -> Bool:
        """Something was missing."""
        return self._flag(CONSULTED)

    @property
    def settled(self) -> Bool:
        """A longer trace has the same tag."""
        return self._flag(SETTLED)

    @property
    def forced(self) -> Bool:
        """Free space decided, not the page's worth."""
        return self._flag(FORCED)

    @property
    def kept(self) -> Bool:
        """At least half of its pages are used again, within the teacher's horizon, before they leave."""
        return self._flag(KEPT)

    @property
    def kept_settled(self) -> Bool:
        """A longer trace has the same `kept`."""
        return self._flag(KEPT_SETTLED)

    @property
    def duration(self) -> U8:
        """uint8[n]: 0 unknown, 1 soon, 2 mean, 3 late."""
        duration: U8 = (self.bits >> np.uint8(DURATION_SHIFT)) & np.uint8(DURATION_MASK)
        return duration

    @property
    def taught(self) -> Bool:
        """Rows whose cached tag a model learns from."""
        return self.consulted & self.settled & ~self.forced


@dataclass(frozen=True)
class Labels:
    """Labels of a trace.

    Attributes:
        tags: by teacher (``benefit_3``, ``belady``, ``cost_belady``) and capacity in percent.
        hit_ratio: the oracle's page hit ratio, by the same.
        decided_hit_ratio: the same when one decision is taken for all of a request's missing pages.
        benefit: float32[n], mean benefit of a request's pages at the first horizon and the smallest capacity.
    """

    tags: dict[tuple[str, int], Tags]
    hit_ratio: dict[tuple[str, int], float]
    decided_hit_ratio: dict[tuple[str, int], float]
    benefit: F32


def teacher_names(params: BenefitLabel) -> list[str]:
    """Every teacher labelled, the benefit oracle's horizons first; `COST_BELADY` where it is asked for."""
    asked = [COST_BELADY] if params.oracle == COST_BELADY else []
    return [*(f"benefit_{horizon}" for horizon in params.horizons), BELADY, *asked]


def tag_column(teacher: str, capacity: int) -> str:
    """Column of a teacher's tags in the labels file, e.g. ``tags_benefit_3_10``."""
    return f"tags_{teacher}_{capacity:02d}"


def read_benefit_labels(path: Path, params: BenefitLabel, requests: int | None = None) -> Labels:
    """Read what `write_benefit_labels` wrote.

    Raises:
        TraceError: the file is damaged, has not as many rows as there are `requests`, or holds other labels than
            `params` asks for.
    """
    table, metadata = read_rows(path, "label_benefit", requests)
    keys = [(teacher, percent(c)) for c in params.capacities for teacher in teacher_names(params)]
    missing = [tag_column(*key) for key in keys if tag_column(*key) not in table.column_names]
    if METADATA_KEY not in metadata or missing:
        raise TraceError(f"{path}: holds no {(missing or ['labels'])[0]}; run the stage label_benefit")
    figures = json.loads(metadata[METADATA_KEY])
    name = {key: tag_column(*key).removeprefix("tags_") for key in keys}
    return Labels(
        {key: Tags(table.column(tag_column(*key)).to_numpy()) for key in keys},
        {key: figures["hit_ratio"][name[key]] for key in keys},
        {key: figures["decided_hit_ratio"][name[key]] for key in keys},
        table.column("benefit").to_numpy(),
    )
