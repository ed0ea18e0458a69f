"""MLflow as a view and a registry of stage outputs. Nothing is ever read back from it.

Runs are found by bundle digest: a second sync changes nothing, an interrupted one is completed, and an empty
MLflow is rebuilt from the files. Runs' files that are missing or changed are logged again, and those of runs that
MLflow no longer knows are removed. The backend is one SQLite file beside the project, artifacts lie beside it.
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cachezoo import paths
from cachezoo.bundles import protocol
from cachezoo.errors import CachezooError
from cachezoo.io import names_full_disk, write_json
from cachezoo.systems.registry import bundling_of
from cachezoo.tracking.artifacts import ARTIFACTS, BUNDLE, CARD, MODEL, PLOTS, clear, prune, seal
from cachezoo.tracking.database import DATABASE, EXPERIMENT, opened, renew
from cachezoo.tracking.records import FIRST, Record, gather, track_table
from cachezoo.tracking.seats import CHALLENGER, CHAMPION, Zoo, read_zoo

DIGEST, MODEL_DIGEST, MODEL_ID, FINGERPRINT, SEAL, NOTE = (
    "cachezoo.digest",
    "cachezoo.model_digest",
    "cachezoo.model",
    "cachezoo.fingerprint",
    "cachezoo.files",
    "mlflow.note.content",
)
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
BATCH = 1000
NOTE_CHARS = 4500  # MLflow keeps about 5,000 characters of a note
QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "GIT_PYTHON_REFRESH": "quiet",
}
# How the warning begins that MLflow's server sets off in Starlette: nothing that who looks at the pages can change.
OUTDATED = "starlette.middleware.wsgi is deprecated"


@dataclass
class SyncReport:
    """What a sync did, by model id.

    Attributes:
        created, replaced, unchanged: runs.
        restored: runs whose files were missing or changed, and were logged again.
        aliases: of all registered models, by name: champion or challenger of its seat, None for neither.
        removed: folders of files that no run owned.
    """

    created: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)
    aliases: dict[str, str | None] = field(default_factory=dict)
    removed: int = 0


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
        message = f"{root / DATABASE}: is not there; run `cachezoo track sync` first"
        raise CachezooError(message)
    with opened(root):
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


def follow(root: Path) -> None:
    """Set the aliases of registered models, and the tag `champion` of their runs, as zoo.json says.

    Raises:
        CachezooError: zoo.json or the database cannot be used.
    """
    os.environ.update(QUIET)
    from mlflow.tracking import MlflowClient

    zoo, uri = read_zoo(root), tracking_uri(root)
    with opened(root):
        _follow(MlflowClient(tracking_uri=uri, registry_uri=uri), zoo)


def _sync(root: Path, records: list[Record]) -> SyncReport:
    os.environ.update(QUIET)
    from mlflow.tracking import MlflowClient

    uri = tracking_uri(root)
    report = SyncReport()
    renew(root)
    with opened(root), names_full_disk(root / DATABASE):
        client = MlflowClient(tracking_uri=uri, registry_uri=uri)
        experiment = _experiment(client, root)
        _drop_default(client)
        for record in records:
            run = _upsert_run(client, root, experiment, record, report)
            if record.bundle is not None:
                _register(client, run, record)
        report.aliases = _follow(client, read_zoo(root))
        report.removed = prune(root, lambda: _owners(client, experiment))
    return report


def _owners(client: Any, experiment: str) -> set[str]:  # noqa: ANN401 - MlflowClient
    """Runs whose files are kept: all but those that a sync has replaced, unless an alias is of what one logged."""
    from mlflow.entities import ViewType

    active = {run.info.run_id for run in _all_runs(client, experiment, ViewType.ACTIVE_ONLY)}
    deleted = _all_runs(client, experiment, ViewType.DELETED_ONLY)
    foreign = {run.info.run_id for run in deleted if DIGEST not in run.data.tags}
    models = _all_pages(lambda token: client.search_registered_models(page_token=token))
    aliased = {
        client.get_model_version(model.name, version).run_id for model in models for version in model.aliases.values()
    }
    return active | foreign | aliased


def _all_runs(client: Any, experiment: str, view: int) -> list[Any]:  # noqa: ANN401 - MlflowClient
    def page(token: str | None) -> Any:  # noqa: ANN401 - a list with a token
        return client.search_runs([experiment], run_view_type=view, max_results=BATCH, page_token=token)

    return _all_pages(page)


def _all_pages(page: Callable[[str | None], Any]) -> list[Any]:
    """What MLflow gives in pages, each asked for by the token of the one before."""
    found, token = [], None
    while True:
        some = page(token)
        found += some
        token = some.token
        if not token:
            return found


def _experiment(client: Any, root: Path) -> str:  # noqa: ANN401 - MlflowClient
    location = (root.resolve() / ARTIFACTS).as_uri()
    found = client.get_experiment_by_name(EXPERIMENT)
    if found is None:
        created: str = client.create_experiment(EXPERIMENT, artifact_location=location, tags=PAGES)
        return created
    if found.lifecycle_stage == "deleted":
        client.restore_experiment(found.experiment_id)
    for name, value in PAGES.items():
        if found.tags.get(name) != value:
            client.set_experiment_tag(found.experiment_id, name, value)
    return str(found.experiment_id)


def _drop_default(client: Any) -> None:  # noqa: ANN401 - MlflowClient
    """Take MLflow's own empty experiment off the pages."""
    default = client.get_experiment_by_name("Default")
    shown = default is not None and default.lifecycle_stage == "active"
    if shown and not client.search_runs([default.experiment_id], max_results=1):
        client.delete_experiment(default.experiment_id)


def _upsert_run(client: Any, root: Path, experiment: str, record: Record, report: SyncReport) -> str:  # noqa: ANN401
    """Id of the one run of this bundle; one that is incomplete or says something else is replaced.

    A run that says the right things keeps its place; its files are logged again where they are not what they were.
    """
    wanted = f"tags.`{DIGEST}` = '{record.digest}' and tags.`{MODEL_ID}` = '{record.model_id}'"
    stale = False
    for run in client.search_runs([experiment], wanted):
        if run.data.tags.get(FINGERPRINT) == record.fingerprint:
            run_id = str(run.info.run_id)
            if run.data.tags.get(SEAL) == seal(root, run_id):
                report.unchanged.append(record.model_id)
            else:
                _log_files(client, root, run_id, record)
                report.restored.append(record.model_id)
            return run_id
        client.delete_run(run.info.run_id)
        stale = True
    (report.replaced if stale else report.created).append(record.model_id)
    return _create_run(client, root, experiment, record)


def _create_run(client: Any, root: Path, experiment: str, record: Record) -> str:  # noqa: ANN401 - MlflowClient
    from mlflow.entities import Metric, Param

    source = {"mlflow.source.name": f"pipelines/fit_{record.tags['kind']}.py", "mlflow.source.type": "LOCAL"}
    tags = {**record.tags, **source, MODEL_ID: record.model_id, DIGEST: record.digest, NOTE: _note(record.card)}
    tags[CHAMPION] = "no"  # until the aliases follow zoo.json
    run = client.create_run(experiment, run_name=record.model_id, tags=tags)
    run_id, start = str(run.info.run_id), int(run.info.start_time)
    metrics = [Metric(name, value, start, 0) for name, value in sorted(record.metrics.items())]
    metrics += [Metric(name, value, start + step, step) for name, step, value in record.curves]
    client.log_batch(run_id, params=[Param(name, value) for name, value in sorted(record.params.items())])
    for low in range(0, len(metrics), BATCH):
        client.log_batch(run_id, metrics=metrics[low : low + BATCH])
    _log_files(client, root, run_id, record)
    client.set_tag(run_id, FINGERPRINT, record.fingerprint)
    client.set_terminated(run_id)
    return run_id


def _log_files(client: Any, root: Path, run_id: str, record: Record) -> None:  # noqa: ANN401 - MlflowClient
    """Log a run's files in place of those that are there, and what they are."""
    clear(root, run_id)
    client.log_text(run_id, record.card, CARD)
    for plot in record.plots:
        client.log_artifact(run_id, str(plot), PLOTS)
    if record.bundle is not None:
        client.log_artifacts(run_id, str(record.bundle), BUNDLE)
        if (record.bundle / protocol.MODEL).exists():  # a table has none
            _log_model(client, run_id, record.bundle / protocol.MODEL)
    client.set_tag(run_id, SEAL, seal(root, run_id))


def _note(card: str) -> str:
    """What fits on the run's page of a card."""
    return card if len(card) <= NOTE_CHARS else f"{card[:NOTE_CHARS]} ... (the rest is in {CARD})"


def _log_model(client: Any, run_id: str, path: Path) -> None:  # noqa: ANN401 - MlflowClient
    """Log the ONNX file as an MLflow model; with its requirements given, MLflow need not guess them."""
    from importlib import metadata

    import mlflow.onnx
    import onnx

    pins = [f"{name}=={metadata.version(name).split('+')[0]}" for name in ("numpy", "onnxruntime")]
    with tempfile.TemporaryDirectory(prefix="cachezoo-") as folder:
        mlflow.onnx.save_model(onnx.load(path), f"{folder}/model", pip_requirements=pins)
        client.log_artifacts(run_id, f"{folder}/model", MODEL)


def _register(client: Any, run_id: str, record: Record) -> None:  # noqa: ANN401 - MlflowClient
    """Register the bundle as a version of its model."""
    if not client.search_registered_models(f"name = '{record.model_id}'"):
        kept = {name: record.tags[name] for name in ("kind", "category", "seat")}
        what = bundling_of(record.tags["kind"]).card.what
        client.create_registered_model(record.model_id, tags=kept, description=what)
    versions = client.search_model_versions(f"name = '{record.model_id}'")
    if not any(version.run_id == run_id for version in versions):
        tags = {DIGEST: record.digest, MODEL_DIGEST: record.model_digest, "bundle": record.tags["bundle"]}
        source, verdict = f"runs:/{run_id}/model", record.tags["why"]
        client.create_model_version(record.model_id, source, run_id, tags=tags, description=verdict)


def _follow(client: Any, zoo: Zoo) -> dict[str, str | None]:  # noqa: ANN401 - MlflowClient
    """Let aliases, and the tag `champion` of runs, be what zoo.json says; returns each registered model's alias.

    The newest version of a bundle that acts alike has the alias. Models that no sync registered are left alone.
    """
    found: dict[str, str | None] = {}
    for model in _all_pages(lambda token: client.search_registered_models(page_token=token)):
        versions = [one for one in client.search_model_versions(f"name = '{model.name}'") if DIGEST in one.tags]
        standing = {
            zoo.standing(model.name, one.tags.get(MODEL_DIGEST)): str(one.version)
            for one in sorted(versions, key=lambda one: int(one.version))
        }
        for alias in (CHAMPION, CHALLENGER) if versions else ():
            now, wanted = model.aliases.get(alias), standing.get(alias)
            if wanted is not None and str(now) != wanted:
                client.set_registered_model_alias(model.name, alias, wanted)
            elif wanted is None and now is not None:
                client.delete_registered_model_alias(model.name, alias)
        for one in versions:
            _mark(client, one.run_id, "yes" if str(one.version) == standing.get(CHAMPION) else "no")
        if versions:
            found[model.name] = next((alias for alias in (CHAMPION, CHALLENGER) if alias in standing), None)
    return found


def _mark(client: Any, run_id: str, champion: str) -> None:  # noqa: ANN401 - MlflowClient
    """Say on a run's page whether its bundle is champion; runs that were replaced have none."""
    run = client.get_run(run_id)
    if run.info.lifecycle_stage == "active" and run.data.tags.get(CHAMPION) != champion:
        client.set_tag(run_id, CHAMPION, champion)
