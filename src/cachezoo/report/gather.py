"""What the report is made from: stage outputs, None or empty where a stage has written none, and figures of traces."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from cachezoo import paths
from cachezoo.arrays import F64
from cachezoo.bundles.protocol import CARD, MANIFEST, REFUSED
from cachezoo.curves.measure import curves
from cachezoo.io import read_refusal
from cachezoo.metrics.files import read_category, read_flash
from cachezoo.metrics.flash import FlashMetrics, FlashRow, FlashTrace
from cachezoo.metrics.page import CategoryMetrics
from cachezoo.models.curves import CURVES_FILE, read_curves
from cachezoo.models.measured import Measured, Model
from cachezoo.models.trained import FILE, TrainedModel, read_trained
from cachezoo.params import categories_of
from cachezoo.policies.registry import OPTIMUM
from cachezoo.questions.share.columns import ShareMetrics, read_share, share_metrics
from cachezoo.questions.tiers.columns import TiersMetrics, read_tiers, tiers_metrics
from cachezoo.sizes import pages_of
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.stats import describe
from cachezoo.traces.store import read_pages, read_trace
from cachezoo.traces.table import OP_READ, Trace
from cachezoo.zoo.registry import SYSTEMS

if TYPE_CHECKING:
    from cachezoo.settings.data import TraceEntry
    from cachezoo.settings.params import Params

WINDOWS = 100
FRACTIONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
SIMULATED = ("lru", OPTIMUM)
MOST_ACCESSES = 2_000_000  # simulated as they are; of longer traces a sample of the pages
PROGRAMS = "programs"


@dataclass(frozen=True)
class TraceFacts:
    """A trace as the report shows it.

    Attributes:
        key: the trace.
        category: its workload.
        role: train, validation or test.
        unseen: a test trace of a program that no train trace of the category was recorded from.
        programs: the programs it was recorded from, as its metadata name them; may be empty.
        figures: see `cachezoo.traces.stats.describe`; besides `iops_mean`, `iops_peak` (the busiest of 100 equal
            windows) and `reuse`, the share of page accesses that touch a page seen before.
        window_s: seconds of a window.
        reads, writes: float64[100] requests a second in each window.
        capacities: cache sizes as parts of the distinct pages.
        hit_ratios: of each policy simulated, float64 at each capacity, counted after the warm-up.
        sampled: one in so many pages was simulated for the hit ratios; 1 for all.
    """

    key: str
    category: str
    role: str
    unseen: bool
    programs: tuple[str, ...]
    figures: dict[str, Any]
    window_s: float
    reads: F64
    writes: F64
    capacities: tuple[float, ...]
    hit_ratios: dict[str, list[float]]
    sampled: int


def trace_facts(root: Path, key: str, entry: "TraceEntry", capacity_fraction: float) -> TraceFacts:
    """Read an ingested trace and describe it.

    Args:
        root: the project's.
        key: the trace.
        entry: its row of the matrix.
        capacity_fraction: a cache size to simulate besides the usual ones.

    Raises:
        CachezooError: it has not been ingested, or the file is damaged.
    """
    path = root / paths.requests(entry.category, key)
    trace, pages = read_trace(path), read_pages(path)
    window_s, reads, writes = load_over_time(trace)
    capacities = tuple(sorted({*FRACTIONS, capacity_fraction}))
    sampled, hit_ratios = hit_ratio_curves(pages, capacities)
    rates = reads + writes
    accesses = len(pages.page_ids)
    figures = {
        **describe(trace, pages),
        "iops_mean": float(rates.mean()),
        "iops_peak": float(rates.max()),
        "reuse": 1 - pages.n_pages / accesses,
    }
    programs = _programs(trace.meta.extra.get(PROGRAMS))
    return TraceFacts(
        key, entry.category, entry.role, entry.unseen, programs, figures, window_s, reads, writes, capacities,
        hit_ratios, sampled,
    )  # fmt: skip


def listed_facts(_root: Path, key: str, entry: "TraceEntry", _capacity_fraction: float) -> TraceFacts:
    """What the matrix alone says of a trace; nothing is read, and it need not have been ingested."""
    none = np.empty(0)
    return TraceFacts(key, entry.category, entry.role, entry.unseen, (), {}, 0.0, none, none, (), {}, 1)


def _programs(text: str | None) -> tuple[str, ...]:
    """Names in a capture's metadata; a foreign trace has none, or another meaning of the word."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return ()
    return tuple(sorted(map(str, value))) if isinstance(value, dict) else ()


def load_over_time(trace: Trace) -> tuple[float, F64, F64]:
    """Seconds of a window, and reads and writes a second in each of 100 equal windows of a trace's span."""
    span_us = max(int(trace.time_us[-1]) - int(trace.time_us[0]), 1)
    window_s = span_us / 1e6 / WINDOWS
    at = np.minimum((trace.time_us - trace.time_us[0]) * WINDOWS // span_us, WINDOWS - 1)
    reads = trace.op == OP_READ
    counts = [np.bincount(at[rows], minlength=WINDOWS).astype(np.float64) for rows in (reads, ~reads)]
    return window_s, counts[0] / window_s, counts[1] / window_s


def hit_ratio_curves(pages: PageAccesses, capacities: tuple[float, ...]) -> tuple[int, dict[str, list[float]]]:
    """Page hit ratio of LRU and of the optimum over cache size, each counted after its own warm-up.

    LRU's is exact; of a trace with more than `MOST_ACCESSES` page accesses, the optimum's is from a sample of the pages
    (`cachezoo.curves`).

    Args:
        pages: page accesses of the trace.
        capacities: parts of the distinct pages.

    Returns:
        The k of one page in k that the optimum was simulated on, 1 for all; and hit ratios by policy, one for each
        capacity.
    """
    sizes = [pages_of(100 * share, pages.n_pages) for share in capacities]
    found = curves(pages, SIMULATED, sizes, most_accesses=MOST_ACCESSES)
    places = np.searchsorted(found[0].capacities, sizes)
    ratios = {own.policy: own.hit_ratio[places].tolist() for own in found}
    return max(round(1 / own.rate) for own in found), ratios


T = TypeVar("T")
ROLES = ("test", "validation", "train")
SMALL_INPUTS = (
    "metrics/*.json",
    "metrics/*/*.json",
    f"models/trained/*/*/{FILE}",
    f"models/trained/*/*/{CURVES_FILE}",
    f"models/bundles/*/{CARD}",
    f"models/bundles/*/{REFUSED}",
)


@dataclass(frozen=True)
class Category:
    """A workload category."""

    name: str  # its id
    page: CategoryMetrics | None  # metrics/page/<category>.json, or None: nothing was measured in a page cache
    flash: FlashMetrics | None  # metrics/flash/<category>.json, or None: nothing was measured in a flash cache
    models: list[Model]  # those trained for it


@dataclass(frozen=True, kw_only=True)
class Sources(Measured):
    """All that the report shows."""

    categories: list[Category]  # by name
    traces: list[TraceFacts]  # every trace of the matrix, by category, role and key
    capacity_fraction: float  # `evaluate.capacity_fraction`
    digest: str  # of the small inputs, see `inputs_digest`
    seed: int  # `seed`, from which every training's own is derived
    # metrics/tiers/<category>.json, by category; those that there are
    tiers: Mapping[str, TiersMetrics] = field(default_factory=dict)
    share: ShareMetrics | None = None  # metrics/share/mixes.json, or None: no shared cache was measured

    def trace(self, key: str) -> TraceFacts | None:
        """A trace by key."""
        return next((facts for facts in self.traces if facts.key == key), None)


def flash_policies(trace: FlashTrace) -> dict[str, FlashRow]:
    """Rows of a trace in the flash cache by policy, lowest mean load first: as deployed, and those without a budget."""
    rows = {**trace.deployed.rows, **trace.unbudgeted()}
    return {name: rows[name] for name in sorted(rows, key=lambda name: (rows[name].read_dt.mean, name))}


def inputs_digest(root: Path) -> str:
    """sha256 over names and content of metrics, trained models' figures and cards below a project's root."""
    digest = hashlib.sha256()
    for path in sorted({path for pattern in SMALL_INPUTS for path in root.glob(pattern)}):
        digest.update(f"{path.relative_to(root)}\n{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def gather(root: Path, params: "Params", describe: Callable[..., TraceFacts] = trace_facts) -> Sources:
    """Read everything below a project's root.

    Args:
        root: the project's.
        params: of params.yaml.
        describe: a trace; `listed_facts` is enough for the verdicts, and reads no trace.

    Raises:
        CachezooError: a stage output is damaged, or a trace of the matrix has not been ingested.
    """
    folders = [file.parent for file in sorted((root / paths.TRAINED).glob(f"*/*/{FILE}"))]
    # A system that an earlier release had leaves its models.
    pairs = [(read_trained(folder), folder) for folder in folders if folder.parent.name in SYSTEMS]
    page = {name: _optional(read_category, root / paths.metrics(name)) for name in categories_of(params)}
    flash = {name: _optional(read_flash, root / paths.flash_metrics(name)) for name in categories_of(params)}
    readers = {system: system.metrics.load() for system in SYSTEMS.values() if system.metrics is not None}
    measured = {
        system.id: _optional(reader, root / paths.overall_metrics(system.id))
        for system, reader in readers.items()
        if system.scope == "all"
    }
    by_category = {
        system.id: {file.stem: reader(file) for file in sorted((root / paths.METRICS / system.id).glob("*.json"))}
        for system, reader in readers.items()
        if system.scope != "all"
    }
    tiers = {name: _optional(read_tiers, root / tiers_metrics(name)) for name in categories_of(params)}
    models = [_model(root, trained, folder) for trained, folder in pairs]

    def place(key: str) -> tuple[str, int, str]:
        entry = params.data.traces[key]
        return entry.category, ROLES.index(entry.role), key

    capacity = params.evaluate.capacity_fraction
    return Sources(
        models=models,
        overall={name: found for name, found in measured.items() if found is not None},
        by_category=by_category,
        categories=[
            Category(name, page[name], flash[name], [m for m in models if m.trained.category == name])
            for name in categories_of(params)
        ],
        traces=[
            describe(root, key, params.data.traces[key], capacity) for key in sorted(params.data.traces, key=place)
        ],
        capacity_fraction=capacity,
        digest=inputs_digest(root),
        seed=params.seed,
        tiers={name: found for name, found in tiers.items() if found is not None},
        share=_optional(read_share, root / share_metrics()),
    )


def _optional(read: Callable[[Path], T], path: Path) -> T | None:
    return read(path) if path.exists() else None


def _model(root: Path, trained: TrainedModel, folder: Path) -> Model:
    bundle = root / paths.bundle(trained.model_id)
    card = refused = None
    if (bundle / MANIFEST).exists():
        card = (bundle / CARD).read_text(encoding="utf-8")
    elif (bundle / REFUSED).exists():
        refused = read_refusal(bundle / REFUSED)
    curves, promoted = read_curves(folder / CURVES_FILE), trained.promoted and card is not None
    return Model(trained, curves, card, refused, promoted, trained.reason)
