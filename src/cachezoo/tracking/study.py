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
        categories = ", ".join(found["categories"])
        name = f"{found['system']}: {categories}, {found['seeds']} seeds"
        parent = client.create_run(experiment, run_name=name, tags={DIGEST: digest}).info.run_id
        for child, params, metrics in _children(found):
            run_id = client.create_run(experiment, run_name=child, tags={PARENT: parent}).info.run_id
            for key, value in params.items():
                client.log_param(run_id, key, value)
            for key, figure in metrics.items():
                client.log_metric(run_id, key, figure)
            client.set_terminated(run_id)
        for key, figure in _means(found).items():
            client.log_metric(parent, key, figure)
        client.set_terminated(parent)
    return str(parent)


def _drop(client: Any, experiment: str, parent: str) -> None:  # noqa: ANN401 - MlflowClient
    """Remove what an interrupted logging left."""
    for run in client.search_runs([experiment], f"tags.`{PARENT}` = '{parent}'"):
        client.delete_run(run.info.run_id)
    client.delete_run(parent)


def _children(found: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, str], dict[str, float]]]:
    """Name, parameters and figures of each training."""
    for category, rows in found["categories"].items():
        for row in rows:
            for place, (seed, choosing) in enumerate(zip(row["trained"], row["choosing"]["each"], strict=True)):
                metrics = {"choosing": choosing}
                if row["is_params_yaml"]:
                    metrics |= {f"test/{key}": own["each"][place] for key, own in row["test"].items()}
                params = {"category": category, "seed": str(seed), **row["set"]}
                yield f"{category}, {row['setting']}, seed {seed}", params, metrics


def _means(found: Mapping[str, Any]) -> dict[str, float]:
    """Mean choosing figures by category and place of the setting."""
    return {
        f"{category}/choosing_mean_{place}": row["choosing"]["mean"]
        for category, rows in found["categories"].items()
        for place, row in enumerate(rows)
        if row["choosing"]["mean"] is not None
    }
