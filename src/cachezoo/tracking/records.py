"""What there is to track, read from stage outputs alone; MLflow is not needed for it."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cachezoo import paths
from cachezoo.bundles.integrity import read_checked
from cachezoo.bundles.measured import measured, read_metrics
from cachezoo.bundles.protocol import CARD, MANIFEST, REFUSED
from cachezoo.errors import ConfigError
from cachezoo.io import dump_json, read_refusal, sha256_file
from cachezoo.meanings import Column, Each, Means, Table
from cachezoo.models.curves import CURVES_FILE, read_curves
from cachezoo.models.trained import FILE, TrainedModel, read_trained
from cachezoo.plots import plots_of
from cachezoo.systems.registry import SYSTEMS
from cachezoo.yaml_file import read_yaml

CHAMPION, CHALLENGER = "champion", "challenger"
# What kinds are compared by; bare names, where MLflow folds what has a prefix into sections. A kind has its own alone.
HEADLINES = tuple(dict.fromkeys(name for system in SYSTEMS.values() for name in system.headline))
FIRST = tuple(dict.fromkeys(system.headline[0] for system in SYSTEMS.values()))  # one of each kind
UNSEEN = "unseen"
# Of a model of all categories: its median at home is its headline, as a mean over programs that it never saw is none.
MEDIANS = {"home_gap_closed": "gap_closed", "program_gap_closed": f"{UNSEEN}/gap_closed"}
PER_TRACE = ("hit_ratio", "gap_closed", "gap_points")
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
        tags: kind, category, champion, verdict …
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
    unseen = unseen_traces(root)
    return [_record(root, file.parent, unseen) for file in folders]


def unseen_traces(root: Path) -> frozenset[str]:
    """Test traces of programs that no train trace came from, as params.yaml names them; none without one.

    Raises:
        CachezooError: params.yaml is damaged.
    """
    if not (root / paths.PARAMS).exists():
        return frozenset()
    found = read_yaml(root / paths.PARAMS)
    data = found.get("data") if isinstance(found, dict) else None
    traces = data.get("traces") if isinstance(data, dict) else None
    if not isinstance(traces, dict):
        message = f"{root / paths.PARAMS}: holds no data.traces; run `dvc repro compose`"
        raise ConfigError(message)
    return frozenset(key for key, entry in traces.items() if entry.get("unseen"))


def _record(root: Path, folder: Path, unseen: Collection[str]) -> Record:
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
        "verdict": _verdict(trained),
        "why": trained.reason,
        "champion": "yes" if alias == CHAMPION else "no",
    }
    return Record(
        model_id=trained.model_id,
        digest=digest,
        alias=alias,
        bundle=bundle_dir if alias else None,
        params=_params(trained),
        metrics={**figures(section, SYSTEMS[trained.kind].headline, unseen), **_at_verdict(section, trained)},
        curves=[(f"training/{name}", step, value) for name, step, value in read_curves(folder / CURVES_FILE)],
        tags=tags,
        card=card,
        plots=tuple(plot for name in names if (plot := root / paths.REPORT / name).exists()),
    )


def _at_verdict(section: Mapping[str, Any], trained: TrainedModel) -> dict[str, float]:
    """Each trace's figures of a model that was run at several capacities: at that of its verdict."""
    at = trained.calibration.get("capacity")
    return {
        f"{trace}/{name}": float(row[name])
        for trace, rows in section["baselines"].items()
        for row in rows
        if row.get("policy") == trained.model_id and "capacity_fraction" in row and row["capacity_fraction"] == at
        for name in PER_TRACE
        if row.get(name) is not None
    }


def _verdict(trained: TrainedModel) -> str:
    """What validation said of a model beside its baseline; MLflow's columns show about ten letters."""
    if not trained.trained:
        return "untrained"
    return "better" if trained.beats_baseline else "no better"


def _params(trained: TrainedModel) -> dict[str, str]:
    values = {"arch": trained.model_id.split(".")[-1], **trained.arch, "features": len(trained.features)}
    values |= {f"seed.{name}": seed for name, seed in trained.seeds.items()}
    return {name: str(value) for name, value in values.items()}


def figures(
    section: Mapping[str, Any], headline: Collection[str], unseen: Collection[str] = ()
) -> dict[str, float]:  # fmt: skip
    """Flat figures of a manifest's `measured`: the same name for the same thing in every kind.

    Headlines keep their bare name (`hit_ratio`, `gap_closed` …): the mean over the test traces at home, those of
    programs that train traces came from. The rest has a prefix: `unseen/` the mean of a headline over the other test
    traces, `TRACE/` one trace's, `test/` other means over those at home, `flash/` other figures of the flash cache,
    `validation/`. An interval becomes NAME_low and NAME_high.

    Args:
        section: the manifest's.
        headline: of the model's system.
        unseen: test traces of programs that no train trace came from.
    """
    evaluated = section["evaluated"]
    validation = {**section["training"], **_scalars(evaluated.get("validation", {}))}
    flat = _prefixed("validation", {**_scalars(evaluated), **validation})
    test = evaluated.get("test", {})
    medians = {to: test[name] for name, to in MEDIANS.items() if name in test}
    # A mean over home and away is no headline: such a model has medians instead.
    bare = [name for name in headline if not (medians and name in PER_TRACE)]
    flat.update(_over_traces(test, "test", bare, unseen))
    flat.update(_over_traces(evaluated.get("flash", {}), "flash", headline, unseen))
    flat.update(medians)
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


def _over_traces(
    values: Mapping[str, Any], prefix: str, bare: Collection[str], unseen: Collection[str]
) -> dict[str, float]:  # fmt: skip
    """Figures given flat, or by trace: then the mean over those at home, that over the unseen, and each trace's own."""
    by_trace = {name: _scalars(part) for name, part in values.items() if isinstance(part, Mapping)}
    home = [part for trace, part in by_trace.items() if trace not in unseen]
    out = _prefixed(prefix, {**_scalars(values), **_means(home)}, bare)
    away = _means([part for trace, part in by_trace.items() if trace in unseen])
    out.update({f"{UNSEEN}/{name}": value for name, value in away.items() if name in bare})
    for trace, part in by_trace.items():
        out.update(_prefixed(trace, part))
    return out


def _means(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Of each figure, over the parts that have it."""
    found = {name: [part[name] for part in parts if name in part] for part in parts for name in part}
    return {name: sum(values) / len(values) for name, values in sorted(found.items())}


def track_table(records: list[Record]) -> dict[str, dict[str, str | None]]:
    """What models/track.json holds: of each model the bundle's digest (null where there is none) and alias."""
    return {r.model_id: {"digest": r.digest if r.bundle else None, "alias": r.alias} for r in records}
