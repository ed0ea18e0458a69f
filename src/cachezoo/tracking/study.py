"""Studies in MLflow: a parent run each, and below it a run for each training.

What was tracked is kept in `.cache/tracked`, from which a sync logs it again.
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cachezoo.io import dump_json, read_json, write_json
from cachezoo.tracking.database import DIGEST, STUDIES

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
        f"{category}/{_place(number, row)}/{figure}_mean": row[figure]["mean"]
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


def _place(number: int, row: Mapping[str, Any]) -> str:
    return "params_yaml" if row["is_params_yaml"] else f"setting_{number}"


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
