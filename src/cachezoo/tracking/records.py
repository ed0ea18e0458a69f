"""What there is to track, read from stage outputs alone; MLflow is not needed for it."""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cachezoo import paths
from cachezoo.bundles.integrity import read_checked
from cachezoo.bundles.measured import measured, read_metrics
from cachezoo.bundles.protocol import CARD, MANIFEST, REFUSED
from cachezoo.io import dump_json, read_refusal, sha256_file
from cachezoo.meanings import Column, Each, Means, Table
from cachezoo.models.curves import CURVES_FILE, read_curves
from cachezoo.models.trained import FILE, TrainedModel, read_trained
from cachezoo.plots import plots_of
from cachezoo.systems.registry import SYSTEMS

CHAMPION, CHALLENGER = "champion", "challenger"
# What families are compared by; bare names, where MLflow folds what has a prefix into sections.
HEADLINES = tuple(dict.fromkeys(name for system in SYSTEMS.values() for name in system.headline))
TRACK = Table(
    Each("one tracked model", "model", text="what MLflow was told"),
    {
        "<model>.digest": Column("text or null", Means("of its bundle; null without one")),
        "<model>.alias": Column("text or null", Means("champion or challenger; null without a bundle")),
    },
)


@dataclass(frozen=True)
class Record:
    """One trained model as MLflow shall show it.

    Attributes:
        model_id: `kind[.category].arch`.
        digest: the bundle's, or where there is none the sha256 of REFUSED.json or of train.json.
        alias: `champion` or `challenger`; None where there is no bundle.
        bundle: the bundle's folder, or None.
        params: shape, seeds and the like, as text.
        metrics: figures by name; the same names in every family.
        curves: (training/NAME, step, value) of the training.
        tags: kind, category, verdict …
        card: Markdown for the run's page.
        plots: the report's plots that say something of the model, as far as they are drawn.
    """

    model_id: str
    digest: str
    alias: str | None
    bundle: Path | None
    params: dict[str, str]
    metrics: dict[str, float]
    curves: list[tuple[str, int, float]]
    tags: dict[str, str]
    card: str
    plots: tuple[Path, ...] = ()

    @property
    def fingerprint(self) -> str:
        """sha256 of everything that is logged, so that a second sync knows there is nothing to do."""
        drawn = {plot.name: sha256_file(plot) for plot in self.plots}
        content = [self.model_id, self.digest, self.params, self.metrics, self.curves, self.tags, self.card, drawn]
        return hashlib.sha256(dump_json(content).encode()).hexdigest()


def gather(root: Path) -> list[Record]:
    """Records of every trained model below a project's root, by id.

    Raises:
        CachezooError: a stage output is damaged.
    """
    folders = sorted((root / paths.trained("x")).parent.glob(f"*/{FILE}"))
    return [_record(root, file.parent) for file in folders]


def _record(root: Path, folder: Path) -> Record:
    trained = read_trained(folder)
    bundle_dir = root / paths.bundle(trained.model_id)
    digest, alias, section, card, state = sha256_file(folder / FILE), None, None, trained.reason, "no bundle"
    if (bundle_dir / MANIFEST).exists():
        bundle = read_checked(bundle_dir)
        digest, section = bundle.digest, bundle.manifest["measured"]
        alias = CHAMPION if trained.promoted else CHALLENGER
        card, state = bundle.files[CARD].decode("utf-8"), str(bundle.manifest["version"])
    elif (bundle_dir / REFUSED).exists():
        digest, state = sha256_file(bundle_dir / REFUSED), "refused"
        card = f"Not exported: {read_refusal(bundle_dir / REFUSED)}"
    if section is None:
        section = measured(trained, read_metrics(root, trained, needed=False))
    names = plots_of(trained.model_id, trained.category, SYSTEMS[trained.kind].plots)
    tags = {
        "kind": trained.kind,
        "category": trained.category or "all",
        "bundle": state,
        "trained": str(trained.trained).lower(),
        "beats_baseline": str(trained.beats_baseline).lower(),
        "verdict": trained.reason,
        "promoted": str(alias == CHAMPION).lower(),
    }
    return Record(
        model_id=trained.model_id,
        digest=digest,
        alias=alias,
        bundle=bundle_dir if alias else None,
        params=_params(trained),
        metrics=figures(section),
        curves=[(f"training/{name}", step, value) for name, step, value in read_curves(folder / CURVES_FILE)],
        tags=tags,
        card=card,
        plots=tuple(plot for name in names if (plot := root / paths.REPORT / name).exists()),
    )


def _params(trained: TrainedModel) -> dict[str, str]:
    values = {"arch": trained.model_id.split(".")[-1], **trained.arch, "features": len(trained.features)}
    values |= {f"seed.{name}": seed for name, seed in trained.seeds.items()}
    return {name: str(value) for name, value in values.items()}


def figures(section: Mapping[str, Any]) -> dict[str, float]:
    """Flat figures of a manifest's `measured`: the same name for the same thing in every family.

    Headlines keep their bare name (`hit_ratio`, `gap_closed` …): the mean over the test traces. The rest has a
    prefix: `test/` other means, `TRACE/` one trace's where there are several, `flash/` other figures of the flash
    cache, `validation/`. An interval becomes NAME_low and NAME_high.
    """
    evaluated = section["evaluated"]
    validation = {**section["training"], **_scalars(evaluated.get("validation", {}))}
    flat = _prefixed("validation", {**_scalars(evaluated), **validation})
    flat.update(_over_traces(evaluated.get("test", {}), "test", HEADLINES))
    flat.update(_over_traces(evaluated.get("flash", {}), "flash", HEADLINES))
    return {name: float(value) for name, value in flat.items() if value is not None}


def _prefixed(prefix: str, values: Mapping[str, Any], bare: Collection[str] = ()) -> dict[str, Any]:
    return {name if name in bare else f"{prefix}/{name}": value for name, value in values.items()}


def _scalars(values: Mapping[str, Any]) -> dict[str, float]:
    """Numbers and intervals of a mapping; texts, truth values and nested parts are left out."""
    out: dict[str, float] = {}
    for name, value in values.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            out[name] = value
        elif isinstance(value, list) and len(value) == 2 and all(isinstance(end, int | float) for end in value):
            stem = name.removesuffix("_interval")
            out[f"{stem}_low"], out[f"{stem}_high"] = value
    return out


def _over_traces(values: Mapping[str, Any], prefix: str, bare: Collection[str] = ()) -> dict[str, float]:
    """Figures given flat, or by trace: then their mean, and each trace's own where there are several."""
    out = _scalars(values)
    by_trace = {name: _scalars(part) for name, part in values.items() if isinstance(part, Mapping)}
    for name in sorted({name for part in by_trace.values() for name in part}):
        found = [part[name] for part in by_trace.values() if name in part]
        out[name] = sum(found) / len(found)
    out = _prefixed(prefix, out, bare)
    if len(by_trace) > 1:
        for trace, part in by_trace.items():
            out.update(_prefixed(trace, part))
    return out


def track_table(records: list[Record]) -> dict[str, dict[str, str | None]]:
    """What models/track.json holds: of each model the bundle's digest (null where there is none) and alias."""
    return {r.model_id: {"digest": r.digest if r.bundle else None, "alias": r.alias} for r in records}
