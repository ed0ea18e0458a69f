"""What the report is made from, read from stage outputs; whatever a stage has not written is None or empty."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from cachezoo import paths
from cachezoo.bundles.protocol import CARD, MANIFEST, REFUSED
from cachezoo.io import read_refusal
from cachezoo.metrics.files import read_category, read_flash
from cachezoo.metrics.flash import FlashMetrics, FlashRow, FlashTrace
from cachezoo.metrics.page import CategoryMetrics
from cachezoo.models.curves import CURVES_FILE, read_curves
from cachezoo.models.measured import Measured, Model
from cachezoo.models.trained import FILE, TrainedModel, read_trained
from cachezoo.params import categories_of
from cachezoo.questions.share.columns import ShareMetrics, read_share, share_metrics
from cachezoo.questions.tiers.columns import TiersMetrics, read_tiers, tiers_metrics
from cachezoo.report.traces import TraceFacts, trace_facts
from cachezoo.zoo.registry import SYSTEMS

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

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
    """A workload category.

    Attributes:
        name: its id.
        page: metrics/page/<category>.json, or None: nothing was measured in a page cache.
        flash: metrics/flash/<category>.json, or None: nothing was measured in a flash cache.
        models: those trained for it.
    """

    name: str
    page: CategoryMetrics | None
    flash: FlashMetrics | None
    models: list[Model]


@dataclass(frozen=True, kw_only=True)
class Sources(Measured):
    """All that the report shows.

    Attributes:
        categories: by name.
        traces: every trace of the matrix, by category, role and key.
        capacity_fraction: `evaluate.capacity_fraction`.
        digest: of the small inputs, see `inputs_digest`.
        seed: `seed`, from which every training's own is derived.
        tiers: metrics/tiers/<category>.json, by category; those that there are.
        share: metrics/share/mixes.json, or None: no shared cache was measured.
    """

    categories: list[Category]
    traces: list[TraceFacts]
    capacity_fraction: float
    digest: str
    seed: int
    tiers: Mapping[str, TiersMetrics] = field(default_factory=dict)
    share: ShareMetrics | None = None

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
    files = sorted((root / paths.TRAINED).glob(f"*/*/{FILE}"))
    pairs = [(read_trained(file.parent), file.parent) for file in files]
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
