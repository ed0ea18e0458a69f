"""MLflow as a view and a registry of stage outputs. Nothing is ever read back from it.

A sync that finds the view as it would make it leaves it; else it builds a new one in a file of its own, which takes the
old one's place in one step. The backend is one SQLite file beside the project, artifacts lie beside it.
"""

import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from cachezoo import paths
from cachezoo.errors import CachezooError
from cachezoo.io import dump_json, held, names_full_disk, write_json
from cachezoo.tracking.database import (
    ARTIFACTS,
    BUNDLE,
    CARD,
    DATABASE,
    DIGEST,
    EXPERIMENT,
    FINGERPRINT,
    PLOTS,
    RESULTS,
    SEAL,
    prune,
    read_view,
    refusals,
    replacing,
    seal,
)
from cachezoo.tracking.records import FIRST, Record, gather, keep_study, log_study, track_table, tracked
from cachezoo.tracking.seats import CHALLENGER, CHAMPION, Zoo, read_zoo
from cachezoo.zoo.registry import bundling_of

MODEL_DIGEST, MODEL_ID, NOTE = "cachezoo.model_digest", "cachezoo.model", "mlflow.note.content"
ABOUT = (
    "One run for each trained model. Bare names: means over test traces of programs it was trained on; unseen/NAME: of "
    "others; TRACE/NAME: of one."
)
# A shared view of the pages: the table of runs with champion, verdict and one figure a kind, the champions first.
VIEW = "headlines"
TAGS = (CHAMPION, "verdict", "kind", "category")
COLUMNS = [*(f"metrics.`{name}`" for name in FIRST), *(f"tags.`{name}`" for name in TAGS)]
# MLflow opens its AI assistant where the address says localhost or 127.0.0.1, and has no setting against it. Browsers
# resolve every name below .localhost to this machine by themselves.
NAME = "cachezoo.localhost"
PAGES = {
    "mlflow.experimentKind": "custom_model_development",  # the pages guess GenAI otherwise
    f"mlflow.sharedViewState.{VIEW}": json.dumps(
        {"selectedColumns": COLUMNS, "orderByKey": f"tags.`{CHAMPION}`", "orderByAsc": False}
    ),
    NOTE: ABOUT,
}
REBUILD = "; run `cachezoo models track sync`, which builds it anew"
BATCH = 1000
NOTE_CHARS = 4500  # MLflow keeps about 5,000 characters of a note
QUIET = {
    "MLFLOW_SQLALCHEMYSTORE_POOLCLASS": "NullPool",  # each use opens the file that is there now
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "GIT_PYTHON_REFRESH": "quiet",
}
# How the warning begins that MLflow's server sets off in Starlette: nothing that who looks at the pages can change.
OUTDATED = "starlette.middleware.wsgi is deprecated"


@dataclass
class SyncReport:
    """What a sync did, by model id."""

    built: list[str] = field(default_factory=list)  # runs of a new view
    unchanged: list[str] = field(default_factory=list)  # runs of a view that is as it was
    # of all registered models, by name: champion or challenger of its seat, None for neither
    aliases: dict[str, str | None] = field(default_factory=dict)
    removed: int = 0  # folders of files that no run owned


def tracking_uri(root: Path) -> str:
    """SQLite backend of a project, absolute."""
    return f"sqlite:///{root.resolve() / DATABASE}"


def ui_command(root: Path, port: int = 5000) -> list[str]:
    """The command that serves MLflow's pages on this machine alone, with one worker and no job runner."""
    hosts = [pattern for host in (NAME, "localhost", "127.0.0.1") for pattern in (host, f"{host}:*")]
    environment = {
        **QUIET,
        "PYTHONWARNINGS": f"ignore:{OUTDATED}",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "MLFLOW_SERVER_ALLOWED_HOSTS": ",".join(hosts),
        "MLFLOW_SERVER_CORS_ALLOWED_ORIGINS": f"http://{NAME}:{port}",
    }
    return [
        "env",
        *(f"{name}={value}" for name, value in environment.items()),
        sys.executable,
        "-m",
        "mlflow",
        "server",
        "--backend-store-uri",
        tracking_uri(root),
        "--registry-store-uri",
        tracking_uri(root),
        "--default-artifact-root",
        (root.resolve() / ARTIFACTS).as_uri(),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--workers",
        "1",
        "--uvicorn-opts",
        "--log-level warning",
    ]


def ui_address(root: Path, port: int = 5000) -> str:
    """Where the pages show this project's runs; without the query MLflow opens its pages for language models.

    Raises:
        CachezooError: nothing has been tracked yet, or the database cannot be used.
    """
    os.environ.update(QUIET)
    from mlflow.tracking import MlflowClient

    if not (root / DATABASE).exists():
        raise CachezooError(f"{root / DATABASE}: is not there; run `cachezoo models track sync` first")
    with refusals(root / DATABASE, REBUILD):
        found = MlflowClient(tracking_uri=tracking_uri(root)).get_experiment_by_name(EXPERIMENT)
    page = f"/experiments/{found.experiment_id}/runs" if found else "/experiments"
    return f"http://{NAME}:{port}/#{page}?workflowType=machine_learning&viewStateShareKey={VIEW}"


def track(root: Path) -> SyncReport:
    """Stage track: sync, then write models/track.json (digests and aliases only).

    Raises:
        CachezooError: a stage output is damaged, MLflow refuses, or the disk is full.
    """
    records = gather(root)
    report = _sync(root, records)
    write_json(root / paths.TRACK, track_table(records))
    return report


def sync(root: Path) -> SyncReport:
    """Bring MLflow up to date with the stage outputs below `root`.

    Raises:
        CachezooError: a stage output is damaged, MLflow refuses, or the disk is full.
    """
    return _sync(root, gather(root))


def track_study(root: Path, found: Mapping[str, Any]) -> None:
    """Show a study in MLflow from now on.

    Args:
        root: the project.
        found: `cachezoo.study.summary.summary`.

    Raises:
        CachezooError: as of `sync`.
    """
    keep_study(root, found)
    sync(root)


def follow(root: Path) -> None:
    """Set the aliases of registered models, and the tag `champion` of their runs, as zoo.json says.

    Raises:
        CachezooError: zoo.json or the database cannot be used.
    """
    os.environ.update(QUIET)
    with refusals(root / DATABASE, REBUILD):
        _follow(_client(tracking_uri(root)), read_zoo(root))


def _sync(root: Path, records: Sequence[Record]) -> SyncReport:
    os.environ.update(QUIET)
    zoo, studies, path = read_zoo(root), tracked(root), root / DATABASE
    said = [metadata.version("mlflow"), str(root.resolve()), *(record.fingerprint for record in records), *studies]
    wanted = hashlib.sha256(dump_json([said, PAGES]).encode()).hexdigest()
    names = [record.model_id for record in records]
    report = SyncReport(
        aliases={one.model_id: zoo.standing(one.model_id, one.model_digest) for one in _bundled(records)}
    )
    with held(root), names_full_disk(path):
        view = read_view(path)
        if view and view.tags.get(FINGERPRINT) == wanted and view.tags.get(SEAL) == seal(root, view.runs):
            report.unchanged, runs = names, view.runs
        else:
            report.built = names
            with replacing(path, view) as temporary, refusals(path), names_full_disk(path):
                client = _client(f"sqlite:///{temporary.resolve()}")
                runs = _build(client, root, records)
                for digest, file in studies.items():
                    log_study(client, digest, file)
                experiment = client.get_experiment_by_name(EXPERIMENT).experiment_id
                client.set_experiment_tag(experiment, SEAL, seal(root, runs))
                client.set_experiment_tag(experiment, FINGERPRINT, wanted)
        report.removed = prune(root, runs)
        follow(root)
    return report


def _client(uri: str) -> Any:  # noqa: ANN401 - MlflowClient
    from mlflow.tracking import MlflowClient

    return MlflowClient(tracking_uri=uri, registry_uri=uri)


def _bundled(records: Sequence[Record]) -> list[Record]:
    return [record for record in records if record.bundle is not None]


def _build(client: Any, root: Path, records: Sequence[Record]) -> list[str]:  # noqa: ANN401 - MlflowClient
    """Fill an empty database; returns the ids of the runs."""
    location = (root.resolve() / ARTIFACTS).as_uri()
    experiment = client.create_experiment(EXPERIMENT, artifact_location=location, tags=PAGES)
    client.delete_experiment(client.get_experiment_by_name("Default").experiment_id)  # MLflow's own, which is empty
    runs = {record.model_id: _create_run(client, experiment, record) for record in records}
    for record in _bundled(records):
        _register(client, runs[record.model_id], record)
    return list(runs.values())


def _create_run(client: Any, experiment: str, record: Record) -> str:  # noqa: ANN401 - MlflowClient
    from mlflow.entities import Metric, Param

    source = {"mlflow.source.name": f"pipelines/stages.py fit_{record.tags['kind']}", "mlflow.source.type": "LOCAL"}
    tags = {**record.tags, **source, MODEL_ID: record.model_id, DIGEST: record.digest, NOTE: record.card}
    if len(record.card) > NOTE_CHARS:
        tags[NOTE] = f"{record.card[:NOTE_CHARS]} ... (the rest is in {CARD})"
    tags[CHAMPION] = "no"  # until the aliases follow zoo.json
    run = client.create_run(experiment, run_name=record.model_id, tags=tags)
    run_id, start = str(run.info.run_id), int(run.info.start_time)
    metrics = [Metric(name, value, start, 0) for name, value in sorted(record.metrics.items())]
    metrics += [Metric(name, value, start + step, step) for name, step, value in record.curves]
    client.log_batch(run_id, params=[Param(name, value) for name, value in sorted(record.params.items())])
    for low in range(0, len(metrics), BATCH):
        client.log_batch(run_id, metrics=metrics[low : low + BATCH])
    client.log_text(run_id, record.card, CARD)
    if record.results:
        client.log_text(run_id, record.results, RESULTS)
    for plot in record.plots:
        client.log_artifact(run_id, str(plot), PLOTS)
    if record.bundle is not None:
        client.log_artifacts(run_id, str(record.bundle), BUNDLE)
    client.set_terminated(run_id)
    return run_id


def _register(client: Any, run_id: str, record: Record) -> None:  # noqa: ANN401 - MlflowClient
    """Register the bundle as the version of its model."""
    kept = {name: record.tags[name] for name in ("kind", "category", "seat")}
    client.create_registered_model(record.model_id, tags=kept, description=bundling_of(record.tags["kind"]).card.what)
    tags = {DIGEST: record.digest, MODEL_DIGEST: record.model_digest, "bundle": record.tags["bundle"]}
    source, verdict = f"runs:/{run_id}/{BUNDLE}", record.tags["why"]
    client.create_model_version(record.model_id, source, run_id, tags=tags, description=verdict)


def _follow(client: Any, zoo: Zoo) -> None:  # noqa: ANN401 - MlflowClient
    """Let aliases, and the tag `champion` of runs, be what zoo.json says; models of no sync are left alone."""
    for model in client.search_registered_models(max_results=BATCH):
        for version in client.search_model_versions(f"name = '{model.name}'"):
            if DIGEST not in version.tags:
                continue
            standing = zoo.standing(model.name, version.tags.get(MODEL_DIGEST))
            for alias in (CHAMPION, CHALLENGER):
                if alias == standing and alias not in model.aliases:
                    client.set_registered_model_alias(model.name, alias, version.version)
                elif alias != standing and alias in model.aliases:
                    client.delete_registered_model_alias(model.name, alias)
            client.set_tag(version.run_id, CHAMPION, "yes" if standing == CHAMPION else "no")
