"""A study in MLflow: a parent run, and below it a run for each training. Nothing is ever read back from it."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cachezoo.io import dump_json
from cachezoo.tracking.database import opened
from cachezoo.tracking.sync import DIGEST, QUIET, tracking_uri

EXPERIMENT = "cachezoo studies"
PARENT = "mlflow.parentRunId"
ENDS = {"": "mean", "_low": "low", "_high": "high"}


def log_study(root: Path, found: Mapping[str, Any]) -> str:
    """Log a study, unless it is there already.

    Args:
        root: the project.
        found: `cachezoo.study.summary.summary`.

    Returns:
        The parent run's id.

    Raises:
        CachezooError: MLflow refuses, or its database cannot be used.
    """
    os.environ.update(QUIET)
    from mlflow.tracking import MlflowClient

    digest = hashlib.sha256(dump_json(found).encode()).hexdigest()
    with opened(root):
        client = MlflowClient(tracking_uri=tracking_uri(root))
        known = client.get_experiment_by_name(EXPERIMENT)
        experiment = known.experiment_id if known else client.create_experiment(EXPERIMENT)
        for run in client.search_runs([experiment], f"tags.`{DIGEST}` = '{digest}'"):
            if run.info.status == "FINISHED":
                return str(run.info.run_id)
            _drop(client, experiment, run.info.run_id)
        name, params, metrics = _parent(found)
        parent = client.create_run(experiment, run_name=name, tags={DIGEST: digest}).info.run_id
        for child, own_params, own_metrics in _children(found):
            run_id = client.create_run(experiment, run_name=child, tags={PARENT: parent}).info.run_id
            _log(client, run_id, own_params, own_metrics)
        _log(client, parent, params, metrics)
    return str(parent)


def _log(client: Any, run_id: str, params: Mapping[str, str], metrics: Mapping[str, float]) -> None:  # noqa: ANN401
    """All that a run holds, in one write, and its end."""
    from mlflow.entities import Metric, Param

    client.log_batch(
        run_id,
        metrics=[Metric(key, value, 0, 0) for key, value in metrics.items()],
        params=[Param(key, value) for key, value in params.items()],
    )
    client.set_terminated(run_id)


def _drop(client: Any, experiment: str, parent: str) -> None:  # noqa: ANN401 - MlflowClient
    """Remove what an interrupted logging left."""
    for run in client.search_runs([experiment], f"tags.`{PARENT}` = '{parent}'"):
        client.delete_run(run.info.run_id)
    client.delete_run(parent)


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
