"""What there is to track: models, read from stage outputs alone, and studies, a parent run each with a run a training.

A tracked study is kept in `.cache/tracked`, from which a sync logs it again.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from cachezoo import paths
from cachezoo.bundles.integrity import read_checked
from cachezoo.bundles.measured import (
    PAGE,
    PER_TRACE,
    ROLES,
    Metrics,
    figures,
    measured,
    read_metrics,
    seat_of,
    unseen_traces,
)
from cachezoo.bundles.protocol import CARD, MANIFEST, REFUSED
from cachezoo.io import dump_json, read_json, read_refusal, sha256_file, write_json
from cachezoo.meanings import Column, Each, Means, Table
from cachezoo.metrics.files import read_category
from cachezoo.models.curves import CURVES_FILE, read_curves
from cachezoo.models.trained import FILE, TrainedModel, read_trained
from cachezoo.show.markdown import titled
from cachezoo.show.output import drawn
from cachezoo.show.plots import plots_of
from cachezoo.tracking.database import DIGEST, STUDIES
from cachezoo.zoo.registry import SYSTEMS
from cachezoo.zoo.reuse.metrics import CHOSEN, DEFAULTS, OPTIMAL, SETTINGS, ReuseMetrics

FIRST = tuple(dict.fromkeys(system.headline[0] for system in SYSTEMS.values()))  # one of each kind
AT_VERDICT = (*PER_TRACE, "lead_points", "rival_hit_ratio", "best_classic_hit_ratio", "optimum_hit_ratio")
SAVED = {
    "mean": "mean", "p10": "tenth", "p50": "median", "p90": "ninetieth", "worst": "worst", "first": "first"
}  # fmt: skip
RIVALS = {CHOSEN: "rival", DEFAULTS: "best_default", SETTINGS: "best_setting", OPTIMAL: "optimum"}
PAGE_WIDTH = 240  # characters, so that hints are in the heads of columns
COSTS = ("mean_response_us", "ssd_writes_per_100_io")  # of a page cache, beside its hits
TRACK = Table(
    Each("one tracked model", "model", text="what MLflow was told"),
    {
        "<model>.digest": Column("text or null", Means("of its bundle; null without one")),
        "<model>.verdict": Column("text", Means("better or no better than its baseline on validation, or untrained")),
    },
)


@dataclass(frozen=True)
class Record:
    """One trained model as MLflow shall show it."""

    model_id: str  # `kind[.category].arch`
    digest: str  # the bundle's, or where there is none the sha256 of REFUSED.json or of train.json
    model_digest: str | None  # the bundle's, by which zoo.json names who runs; None where there is no bundle
    bundle: Path | None  # the bundle's folder, or None
    params: dict[str, str]  # shape, seeds and the like, as text
    metrics: dict[str, float]  # figures by name; the same names in every family
    curves: list[tuple[str, int, float]]  # (training/NAME, step, value) of the training
    tags: dict[str, str]  # kind, category, seat, verdict …
    card: str  # Markdown for the run's page
    results: str = ""  # tables of what was measured beside it, Markdown; of models of all categories
    plots: tuple[Path, ...] = ()  # the report's plots that say something of the model, as far as they are drawn

    @property
    def fingerprint(self) -> str:
        """sha256 of everything that is logged, so that a second sync knows there is nothing to do."""
        plots = {plot.name: sha256_file(plot) for plot in self.plots}
        texts = [self.card, self.results]
        content = [self.model_id, self.digest, self.params, self.metrics, self.curves, self.tags, texts, plots]
        return hashlib.sha256(dump_json(content).encode()).hexdigest()


def gather(root: Path) -> list[Record]:
    """Records of every trained model below a project's root, by id.

    Raises:
        CachezooError: a stage output is damaged.
    """
    folders = [file.parent for file in sorted((root / paths.TRAINED).glob(f"*/*/{FILE}"))]
    unseen = unseen_traces(root)
    # A system that an earlier release had leaves its models.
    return [_record(root, folder, unseen) for folder in folders if folder.parent.name in SYSTEMS]


def _record(root: Path, folder: Path, unseen: Collection[str]) -> Record:
    trained = read_trained(folder)
    bundle_dir = root / paths.bundle(trained.model_id)
    digest, acts, section, card, state = sha256_file(folder / FILE), None, None, trained.reason, "no bundle"
    if (bundle_dir / MANIFEST).exists():
        bundle = read_checked(bundle_dir)
        digest, acts, section = bundle.digest, bundle.model_digest, bundle.manifest["measured"]
        card, state = bundle.files[CARD].decode("utf-8"), str(bundle.manifest["version"])
    elif (bundle_dir / REFUSED).exists():
        digest, state = sha256_file(bundle_dir / REFUSED), "refused"
        card = f"Not exported: {read_refusal(bundle_dir / REFUSED)}"
    metrics = read_metrics(root, trained, needed=False)
    if section is None:
        section = measured(trained, metrics)
    names = plots_of(trained.model_id, trained.category, SYSTEMS[trained.kind].plots)
    tags = {
        "kind": trained.kind,
        "category": trained.category or "all",
        "bundle": state,
        "trained": str(trained.trained).lower(),
        "beats_baseline": str(trained.beats_baseline).lower(),
        # MLflow's columns show about ten letters.
        "verdict": "untrained" if not trained.trained else "better" if trained.beats_baseline else "no better",
        "why": trained.reason,
        "seat": seat_of(trained.kind, trained.category) or "none",
    }
    return Record(
        model_id=trained.model_id,
        digest=digest,
        model_digest=acts,
        bundle=bundle_dir if acts else None,
        params=_params(trained),
        metrics=_accepted(
            {
                **figures(section, SYSTEMS[trained.kind].headline, unseen),
                **_in_page_caches(root, trained),
                **_at_verdict(section, trained),
                **_saved(metrics),
            }
        ),
        curves=[(f"training/{name}", step, value) for name, step, value in read_curves(folder / CURVES_FILE)],
        tags=tags,
        card=card,
        results=_results(trained, metrics),
        plots=tuple(plot for name in names if (plot := root / paths.REPORT / name).exists()),
    )


def _accepted(metrics: Mapping[str, float]) -> dict[str, float]:
    """Names as MLflow takes them: it refuses the + of a policy such as rejectx+s3fifo."""
    return {name.replace("+", "."): value for name, value in metrics.items()}


def _at_verdict(section: Mapping[str, Any], trained: TrainedModel) -> dict[str, float]:
    """Each trace's figures of a model that was run at several capacities: at that of its verdict.

    Where several trainings were run, `hit_ratio` is that of the one that is kept, and mean and standard deviation of
    all stand beside it.
    """
    at = trained.calibration.get("capacity")
    found: dict[str, float] = {}
    for trace, rows in section["baselines"].items() if at is not None else ():
        for row in rows:
            if row.get("policy") != trained.model_id or row.get("capacity_fraction") != at:
                continue
            found |= {f"{trace}/{name}": float(row[name]) for name in AT_VERDICT if row.get(name) is not None}
            if len(seeds := row.get("seed_hit_ratios", ())) > 1:
                found |= {f"{trace}/hit_ratio_mean": fmean(seeds), f"{trace}/hit_ratio_sd": stdev(seeds)}
    return found


def _in_page_caches(root: Path, trained: TrainedModel) -> dict[str, float]:
    """Each test trace's figures of a page cache, and those of the best classic and the optimum there."""
    if ROLES.get(trained.kind) != PAGE:
        return {}
    found: dict[str, float] = {}
    for file in sorted((root / paths.METRICS / "page").glob("*.json")):
        if trained.category not in (None, file.stem):
            continue
        page = read_category(file)
        own = page.models.get(trained.model_id)
        for key, row in own.test.items() if own is not None else ():
            best, optimum = page.traces[key].best(), page.traces[key].row(page.traces[key].optimum)
            found |= {f"{key}/{name}": getattr(row, name) for name in COSTS}
            found |= {f"{key}/best_classic_{name}": getattr(best, name) for name in ("hit_ratio", *COSTS)}
            if optimum is not None:
                found[f"{key}/optimum_hit_ratio"] = optimum.hit_ratio
    return found


def _saved(metrics: Metrics) -> dict[str, float]:
    """What the cache for every workload and its rivals save of LRU's misses over the test streams, at each size."""
    own, found = metrics.own, dict[str, float]()
    if not isinstance(own, ReuseMetrics):
        return found
    names = {**RIVALS, **dict.fromkeys(own.models, "own")}
    for size in own.fractions:
        for row in own.reductions(size):
            if row.name in names:
                values = {name: getattr(row, figure) for name, figure in SAVED.items()}
                start = f"saved/{100 * size:g}pct_{names[row.name]}"
                found |= {f"{start}_{name}": float(value) for name, value in values.items() if value is not None}
    return found


def _results(trained: TrainedModel, metrics: Metrics) -> str:
    """The tables that `cachezoo models results` shows, of a model of all categories; empty where there are none."""
    results = SYSTEMS[trained.kind].results
    if results is None or metrics.own is None or trained.category is not None:
        return ""
    return "\n".join(titled(drawn(table, PAGE_WIDTH)) for table in results.load().tables(metrics.own))


def _params(trained: TrainedModel) -> dict[str, str]:
    values = {"arch": trained.model_id.split(".")[-1], **trained.arch, "features": len(trained.features)}
    values |= {f"seed.{name}": seed for name, seed in trained.seeds.items()}
    return {name: str(value) for name, value in values.items()}


def track_table(records: list[Record]) -> dict[str, dict[str, str | None]]:
    """What models/track.json holds: of each model the bundle's digest (null where there is none) and verdict.

    Not who is champion: zoo.json says that, and changes by command.
    """
    return {r.model_id: {"digest": r.digest if r.bundle else None, "verdict": r.tags["verdict"]} for r in records}


TRACKED = Path(".cache/tracked")
PARENT = "mlflow.parentRunId"
ENDS = {"": "mean", "_low": "low", "_high": "high"}


def keep_study(root: Path, found: Mapping[str, Any]) -> None:
    """Have a study logged by each sync from now on.

    Args:
        root: the project.
        found: `cachezoo.study.summary.summary`.
    """
    digest = hashlib.sha256(dump_json(found).encode()).hexdigest()
    (root / TRACKED).mkdir(mode=0o700, exist_ok=True)
    write_json(root / TRACKED / f"{digest}.json", found)


def tracked(root: Path) -> dict[str, Path]:
    """The studies that were tracked, by digest."""
    return {path.stem: path for path in sorted((root / TRACKED).glob("*.json"))}


def log_study(client: Any, digest: str, path: Path) -> None:  # noqa: ANN401 - MlflowClient
    """Log a study.

    Args:
        client: of a database that does not have it.
        digest: of the study.
        path: the study's file.
    """
    known, found = client.get_experiment_by_name(STUDIES), read_json(path)
    experiment = known.experiment_id if known else client.create_experiment(STUDIES)
    tags = {DIGEST: digest}
    parent = _log(client, experiment, tags, *_parent(found))
    for child in _children(found):
        _log(client, experiment, {**tags, PARENT: parent}, *child)


def _log(
    client: Any,  # noqa: ANN401 - MlflowClient
    experiment: str,
    tags: Mapping[str, str],
    name: str,
    params: Mapping[str, str],
    metrics: Mapping[str, float],
) -> str:
    """A run with all that it holds, in one write, and its end; returns its id."""
    from mlflow.entities import Metric, Param

    run_id = str(client.create_run(experiment, run_name=name, tags=tags).info.run_id)
    client.log_batch(
        run_id,
        metrics=[Metric(key, value, 0, 0) for key, value in metrics.items()],
        params=[Param(key, value) for key, value in params.items()],
    )
    client.set_terminated(run_id)
    return run_id


def _parent(found: Mapping[str, Any]) -> tuple[str, dict[str, str], dict[str, float]]:
    """Name, parameters and figures of the whole study."""
    name = f"{found['system']}: {', '.join(found['categories'])}, {found['seeds']} seeds"
    params = {"system": found["system"], "seeds": str(found["seeds"]), "choosing": found["choosing"]}
    metrics = {
        f"{category}/{'params_yaml' if row['is_params_yaml'] else f'setting_{number}'}/{figure}_mean": row[figure][
            "mean"
        ]
        for category, rows in found["categories"].items()
        for number, row in enumerate(rows)
        for figure in ("choosing", "judging")
        if figure in row and row[figure]["mean"] is not None
    }
    if "search" not in found:
        return name, params, metrics
    search = found["search"]
    chosen = next(trial for trial in search["kept"] if trial["number"] == search["chosen"])
    params |= {"phase": "search", "trials": str(len(search["trials"])), **chosen["set"]}
    for figure in ("choosing", "judging"):
        own = search[f"{figure}_difference"]
        if own and own["mean"] is not None:
            metrics |= {f"{figure}_difference{end}": own[key] for end, key in ENDS.items()}
    return f"{name}, search of {len(search['trials'])} trials", params, metrics


def _children(found: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, str], dict[str, float]]]:
    """Name, parameters and figures of each training, those of a search's trials first."""
    if "search" in found:
        (category,) = found["categories"]
        for trial in found["search"]["trials"]:
            for seed, choosing in enumerate(trial["each"]):
                params = {"category": category, "phase": "search", "trial": str(trial["number"]), "seed": str(seed)}
                metrics = {} if choosing is None else {"choosing": choosing}
                yield f"trial {trial['number']}, seed {seed}", {**params, **trial["set"]}, metrics
    # The seeds of final figures follow those of the search.
    first, phase = (found["seeds"], "final") if "search" in found else (0, "grid")
    for category, rows in found["categories"].items():
        for row in rows:
            for place, (seed, choosing) in enumerate(zip(row["trained"], row["choosing"]["each"], strict=True)):
                metrics = {"choosing": choosing}
                if "judging" in row and len(row["judging"]["each"]) == len(row["trained"]):
                    metrics["judging"] = row["judging"]["each"][place]
                metrics |= {f"test/{key}": own["each"][place] for key, own in row.get("test", {}).items()}
                params = {"category": category, "phase": phase, "seed": str(first + seed), **row["set"]}
                yield f"{category}, {row['setting']}, seed {first + seed}", params, metrics
