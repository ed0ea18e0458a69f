import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cachezoo import paths
from cachezoo.bundles import load
from cachezoo.bundles.release import release, zoo_page
from cachezoo.bundles.writer import write_bundle
from cachezoo.cli.track import track_sync
from cachezoo.errors import CachezooError
from cachezoo.io import read_json, write_json
from cachezoo.models.curves import CURVES_FILE, read_curves
from cachezoo.serving.requests import RequestBatch
from cachezoo.show.plots import model_plot, policies_plot
from cachezoo.tracking import database
from cachezoo.tracking import sync as sync_module
from cachezoo.tracking.listed import listed
from cachezoo.tracking.sync import follow, sync, track, track_study, tracking_uri, ui_address, ui_command
from cachezoo.tracking.zoo import promote
from cachezoo.zoo.registry import SYSTEMS
from tests.bundle_data import EXPORT, metrics
from tests.metrics_data import write
from tests.study_data import made_search, made_study

Trained = tuple[Path, RequestBatch]


# Where what MLflow holds of a model does not matter.
one_kind = pytest.mark.parametrize("trained", ["admission"], indirect=True)


@pytest.fixture
def root(trained: Trained, bundle_dir: Path, tmp_path: Path) -> Path:
    """A project with a model that has a bundle, one that was refused and one that export has not seen."""
    root, name = tmp_path / "project", bundle_dir.name
    shutil.copytree(trained[0], root / paths.trained(name))
    shutil.copytree(bundle_dir, root / "models/bundles" / name)
    kind = name.split(".")[0]
    for other, changes in (
        (f"{kind}.web.never", {"trained": False, "reason": "it never moved"}),
        (f"{kind}.web.new", {}),
    ):
        folder = Path(shutil.copytree(trained[0], root / paths.trained(other)))
        values = json.loads((folder / "train.json").read_text())
        write_json(folder / "train.json", {**values, "model_id": other, "category": "web", **changes})
    write_json(root / f"models/bundles/{kind}.web.never/REFUSED.json", {"reason": "it never moved"})
    write(root / "metrics/page/web.json", metrics(f"{kind}.web.new").own)
    (root / "report").mkdir()
    for plot in (model_plot(name), policies_plot("database"), policies_plot("web")):
        (root / "report" / plot).write_bytes(plot.encode())
    return root


def client(root: Path) -> Any:
    from mlflow.tracking import MlflowClient

    return MlflowClient(tracking_uri=tracking_uri(root), registry_uri=tracking_uri(root))


def state(root: Path) -> Any:
    """Everything in MLflow that a person sees; run ids left out."""
    mlflow = client(root)
    experiment = mlflow.get_experiment_by_name("cachezoo")
    runs = mlflow.search_runs([experiment.experiment_id])
    models = {m.name: sorted(m.aliases) for m in mlflow.search_registered_models()}
    rows = [(r.info.run_name, r.info.status, r.data.metrics, r.data.params, r.data.tags) for r in runs]
    return sorted(rows, key=lambda row: row[0]), models


def test_sync_is_idempotent_and_rebuilds(root: Path, bundle_dir: Path) -> None:
    name = bundle_dir.name
    first = track(root)
    assert len(first.built) == 3 and list(first.aliases) == [name]
    before = state(root)
    second = sync(root)
    assert second.built == [] and second.unchanged == first.built
    assert state(root) == before
    assert len(client(root).search_model_versions(f"name = '{name}'")) == 1
    table = read_json(root / "models/track.json")
    assert table[name]["digest"] == load(bundle_dir).digest and table[name]["verdict"] in ("better", "no better")
    assert before[1] == {name: []}
    kind = name.split(".")[0]
    assert table[f"{kind}.web.never"] == {"digest": None, "verdict": "untrained"}
    assert table[f"{kind}.web.new"] == {"digest": None, "verdict": table[name]["verdict"]}
    track_json = (root / "models/track.json").read_bytes()
    (root / "mlflow.db").unlink()
    shutil.rmtree(root / "mlflow-artifacts")
    assert track(root).built == first.built
    assert state(root) == before and (root / "models/track.json").read_bytes() == track_json


def test_runs_are_complete(root: Path, bundle_dir: Path) -> None:
    import mlflow.artifacts

    crown(root, bundle_dir.name, load(bundle_dir).model_digest)
    sync(root)
    mlflow.set_tracking_uri(tracking_uri(root))
    api = client(root)
    version = api.get_model_version_by_alias(bundle_dir.name, "champion")
    assert version.source.endswith("/bundle")
    files = {file.path for file in api.list_artifacts(version.run_id, "bundle")}
    bundling = SYSTEMS[bundle_dir.name.split(".")[0]].bundling
    assert {f"bundle/{file}" for file in (*bundling.weights, "manifest.json")} <= files
    runs = {r.info.run_name: r for r in api.search_runs([api.get_experiment_by_name("cachezoo").experiment_id])}
    run = runs[bundle_dir.name]
    page = "" if "hit_ratio" in SYSTEMS[bundle_dir.name.split(".")[0]].headline else "test/"
    assert run.data.metrics[f"{page}hit_ratio"] == 0.45 and run.data.metrics["validation/gap_closed"] == 0.25
    curves = read_curves(root / paths.trained(bundle_dir.name) / CURVES_FILE)
    assert max(step for _, step, _ in curves) >= 2
    for name in {name for name, _, _ in curves}:
        points = [(point.step, point.value) for point in api.get_metric_history(run.info.run_id, f"training/{name}")]
        assert points == [(step, value) for own, step, value in curves if own == name]
    names = {file.path for file in api.list_artifacts(run.info.run_id)}
    assert names == {"bundle", "card.md", "plots"}
    kind = bundle_dir.name.split(".")[0]
    plots = {file.path.removeprefix("plots/") for file in api.list_artifacts(run.info.run_id, "plots")}
    own = {model_plot(bundle_dir.name)}
    assert plots == (own if SYSTEMS[kind].scope == "all" else own | {policies_plot("database")})
    card = Path(mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path="card.md"))
    assert card.read_text() == (root / "models/bundles" / bundle_dir.name / "card.md").read_text()
    refused = runs[f"{kind}.web.never"]
    card = Path(mlflow.artifacts.download_artifacts(run_id=refused.info.run_id, artifact_path="card.md"))
    assert card.read_text() == "Not exported: it never moved"
    assert runs[f"{kind}.web.never"].data.tags["bundle"] == "refused"
    assert runs[f"{kind}.web.never"].data.tags["why"] == "it never moved"
    assert runs[f"{kind}.web.never"].data.tags["verdict"] == "untrained"
    assert runs[f"{kind}.web.new"].data.tags["champion"] == "no"
    assert runs[f"{kind}.web.new"].data.metrics[f"{page}hit_ratio"] == 0.45


@one_kind
def test_a_plot_drawn_anew_builds_the_view_anew(root: Path, bundle_dir: Path) -> None:
    sync(root)
    before = files(root)
    (root / "report" / model_plot(bundle_dir.name)).write_bytes(b"drawn anew")
    report = sync(root)
    assert (len(report.built), report.unchanged, report.removed) == (3, [], 3) and files(root) == before
    assert sync(root).removed == 0


@one_kind
def test_a_sync_that_is_interrupted_leaves_the_view_as_it_was(
    root: Path, bundle_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    sync(root)
    before, database = state(root), (root / "mlflow.db").read_bytes()
    (root / "report" / model_plot(bundle_dir.name)).write_bytes(b"drawn anew")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(sync_module, "_register", interrupt)
        sync(root)
    assert (root / "mlflow.db").read_bytes() == database and state(root) == before
    assert not list(root.glob(".mlflow*"))
    report = sync(root)
    assert (len(report.built), report.removed) == (3, 6)


def crown(root: Path, name: str, champion: str | None, challenger: str | None = None) -> None:
    """Give the bundle's seat, by model digest, to others."""

    def entry(digest: str | None) -> dict[str, Any] | None:
        said = {"id": name, "version": "0.1.0", "profile": "full", "why": "w", "model_digest": digest}
        return {**said, **dict.fromkeys(("threshold", "prefetch", "lead", "interval"))} if digest else None

    seat = {"champion": entry(champion), "challenger": entry(challenger), "previous": []}
    write_json(root / "zoo.json", {"seats": {"page/all": seat}, "sets": {}})


def champions(root: Path) -> list[str]:
    """Runs that the pages call champion."""
    api = client(root)
    runs = api.search_runs([api.get_experiment_by_name("cachezoo").experiment_id])
    return [run.info.run_name for run in runs if run.data.tags["champion"] == "yes"]


@one_kind
def test_aliases_follow_zoo_json_whatever_the_verdict(root: Path, bundle_dir: Path) -> None:
    name, digest = bundle_dir.name, load(bundle_dir).model_digest

    def told(*entries: str | None) -> tuple[str | None, list[str]]:
        crown(root, name, *entries)
        alias = sync(root).aliases[name]
        assert sorted(client(root).get_registered_model(name).aliases) == ([alias] if alias else [])
        return alias, champions(root)

    assert sync(root).aliases == {name: None} and champions(root) == []
    assert told(digest) == ("champion", [name])
    assert told("another", digest) == ("challenger", [])
    assert told("another") == (None, [])
    crown(root, name, digest)
    follow(root)
    assert champions(root) == [name] and set(client(root).get_registered_model(name).aliases) == {"champion"}
    assert len(sync(root).unchanged) == 3  # who is champion is no figure of a run


@one_kind
def test_only_a_bundle_that_acts_as_the_champion_has_its_alias(root: Path, trained: Trained, bundle_dir: Path) -> None:
    name, out = bundle_dir.name, root / "models/bundles" / bundle_dir.name
    crown(root, name, load(bundle_dir).model_digest)
    sync(root)
    settings = EXPORT.__class__("0.2.0", 250, 1000, EXPORT.libraries, {})
    write_bundle(trained[0], trained[1], metrics(name, 0.03), settings, out)  # the same model, measured again
    assert sync(root).aliases[name] == "champion" and champions(root) == [name]
    (version,) = client(root).search_model_versions(f"name = '{name}'")
    assert version.tags["bundle"] == "0.2.0"
    values = json.loads((trained[0] / "train.json").read_text())
    moved = Path(shutil.copytree(trained[0], root / "other"))
    write_json(moved / "train.json", {**values, "calibration": {**values["calibration"], "threshold": 0.123}})
    write_bundle(moved, trained[1], metrics(name), settings, out)
    assert sync(root).aliases[name] is None and champions(root) == []


@one_kind
def test_what_users_log_is_kept_when_the_view_is_built_anew(
    root: Path, bundle_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def mine(api: Any) -> None:
        run = api.create_run(api.create_experiment("mine")).info.run_id
        api.log_param(run, "a", "1")

    def named(api: Any) -> None:
        api.create_registered_model("mine")
        api.create_model_version("mine", "runs:/0/model", None)
        api.set_registered_model_alias("mine", "champion", "1")

    def beside(api: Any) -> None:
        api.create_run(api.get_experiment_by_name("cachezoo").experiment_id)

    for number, log in enumerate((mine, named, beside), 1):
        sync(root)
        log(client(root))
        before = (root / "mlflow.db").read_bytes()
        report = sync(root)
        assert "mine" not in report.aliases and len(report.unchanged) == 3
        assert log is not named or set(client(root).get_registered_model("mine").aliases) == {"champion"}
        (root / "report" / model_plot(bundle_dir.name)).write_bytes(f"drawn anew {number}".encode())
        capsys.readouterr()
        assert len(sync(root).built) == 3
        said = f"note: {root}/mlflow.db: holds what no sync has logged; it is kept as mlflow.db.kept-{number}\n"
        assert capsys.readouterr().err == said
        assert (root / f"mlflow.db.kept-{number}").read_bytes() == before
    assert sync(root).built == [] and capsys.readouterr().err == ""


@one_kind
def test_a_tracked_study_is_logged_once_and_again_when_the_view_is_built_anew(root: Path, capsys) -> None:
    (root / ".cache").mkdir(mode=0o700)
    found = made_study()
    for _ in range(2):
        track_study(root, found)
        api = client(root)
        runs = api.search_runs([api.get_experiment_by_name("cachezoo studies").experiment_id])
        (parent,) = [run.info.run_id for run in runs if "mlflow.parentRunId" not in run.data.tags]
        assert len(runs) == 7 and all(run.info.status == "FINISHED" for run in runs)
        assert [run.data.tags.get("mlflow.parentRunId") for run in runs].count(parent) == 6
        (root / "mlflow.db").unlink()
    track_study(root, made_search())
    assert len(client(root).search_experiments()) == 2 and capsys.readouterr().err == ""


@one_kind
def test_a_seat_is_given_where_mlflow_cannot_follow(
    root: Path, bundle_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    params: Any = SimpleNamespace(data=SimpleNamespace(page_categories=["database"]))
    sync(root)
    (root / "mlflow.db").write_bytes(b"no database")
    _, _, zoo = promote(root, params, bundle_dir)
    assert list(zoo.seats) == ["flash/database"]
    said = capsys.readouterr().err
    assert re.search(r"note: MLflow's aliases did not follow \(.*MLflow refuses.*cachezoo models track sync", said)


@one_kind
def test_promoting_and_going_back_move_the_alias(root: Path, bundle_dir: Path) -> None:
    params: Any = SimpleNamespace(data=SimpleNamespace(page_categories=["database"]))
    name = bundle_dir.name
    sync(root)
    good, _, _ = promote(root, params, root / "models/bundles" / name)
    assert set(client(root).get_registered_model(name).aliases) == {"champion" if good else "challenger"}
    assert [(one.id, one.seat, one.standing) for one in listed(root)] == [
        (name, "flash/database", "champion" if good else "challenger")
    ]


def test_both_lists_have_every_bundle_and_the_same_headline(root: Path, bundle_dir: Path) -> None:
    sync(root)
    api = client(root)
    runs = {r.info.run_name: r for r in api.search_runs([api.get_experiment_by_name("cachezoo").experiment_id])}
    (page,) = release([bundle_dir], root / "release")
    names = [model.name for model in api.search_registered_models()]
    assert names == [one.id for one in listed(root)] == [bundle_dir.name]
    told = listed(root)[0].headline
    row = next(line for line in zoo_page([page]).splitlines() if line.startswith("| `"))
    if told is None:
        assert "| - |" in row
    else:
        assert runs[bundle_dir.name].data.metrics[told[0]] == told[1] and f"| {told[0]} {told[1]:.3f} |" in row


def test_damaged_bundle_stops_the_sync(root: Path, bundle_dir: Path) -> None:
    card = root / "models/bundles" / bundle_dir.name / "card.md"
    card.write_text(card.read_text() + "!")
    with pytest.raises(CachezooError, match=r"card\.md"):
        sync(root)
    assert not (root / "mlflow.db").exists()


def logged(root: Path) -> int:
    return len(list((root / "mlflow-artifacts").iterdir()))


@one_kind
def test_a_moved_or_copied_project_builds_its_own_view(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sync(root)
    before, runs = state(root), logged(root)
    copy = Path(shutil.copytree(root, root.with_name("copy")))
    assert len(sync(copy).built) == 3 and logged(copy) == runs
    assert sync(root).built == [] and state(root) == before == state(copy)
    assert sync(copy).built == [] and capsys.readouterr().err == ""


def test_ui_stays_on_this_machine(tmp_path: Path) -> None:
    command = ui_command(tmp_path, 5001)
    assert command[command.index("--host") + 1] == "127.0.0.1" and command[command.index("--workers") + 1] == "1"
    assert "MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false" in command and "MLFLOW_DISABLE_TELEMETRY=true" in command
    assert command.count(f"sqlite:///{tmp_path}/mlflow.db") == 2  # of runs, and of registered models
    hosts = next(word for word in command if word.startswith("MLFLOW_SERVER_ALLOWED_HOSTS="))
    assert set(hosts.partition("=")[2].split(",")) == {
        name + port for name in ("cachezoo.localhost", "localhost", "127.0.0.1") for port in ("", ":*")
    }


@one_kind
def test_the_address_opens_the_runs(root: Path) -> None:
    with pytest.raises(CachezooError, match=r"mlflow\.db: is not there; run `cachezoo models track sync`"):
        ui_address(root)
    sync(root)
    experiments = client(root).search_experiments()
    assert [experiment.name for experiment in experiments] == ["cachezoo"]
    page = f"/#/experiments/{experiments[0].experiment_id}/runs?workflowType=machine_learning"
    assert ui_address(root, 5001).startswith(f"http://cachezoo.localhost:5001{page}")


def test_only_tracking_imports_mlflow() -> None:
    source = Path(__file__).parents[3] / "src" / "cachezoo"
    users = {p.relative_to(source).parts[0] for p in source.rglob("*.py") if "import mlflow" in p.read_text()}
    users |= {p.relative_to(source).parts[0] for p in source.rglob("*.py") if "from mlflow" in p.read_text()}
    assert users == {"tracking"}


def test_importing_the_room_is_cheap() -> None:
    code = "import sys, cachezoo.tracking.sync; assert 'mlflow' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def one_line(root: Path, words: str, *uses: Any) -> None:
    for use in uses or (sync, ui_address):
        with pytest.raises(CachezooError, match=words) as caught:
            use(root)
        assert "\n" not in str(caught.value) and str(caught.value).startswith(f"{root}/mlflow.db: ")


def built_anew(root: Path, before: Any, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    content = (root / "mlflow.db").read_bytes()
    assert len(sync(root).built) == 3 and state(root) == before
    said = f"note: {root}/mlflow.db: cannot be read; it is kept as mlflow.db.kept-1\n"
    assert capsys.readouterr().err == said and (root / "mlflow.db.kept-1").read_bytes() == content


@one_kind
@pytest.mark.parametrize("share", [0, 0.2, 0.5, 0.9])
def test_a_database_that_is_cut_is_built_anew(root: Path, share: float, capsys: pytest.CaptureFixture[str]) -> None:
    sync(root)
    before, database = state(root), root / "mlflow.db"
    content = database.read_bytes()
    database.write_bytes(content[: int(share * len(content))])
    built_anew(root, before, capsys)


@one_kind
def test_a_file_that_is_no_database_is_put_aside_with_its_journal(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sync(root)
    before = state(root)
    (root / "mlflow.db").write_bytes(b"no database" * 100)
    (root / "mlflow.db-journal").write_bytes(b"old")
    one_line(root, r"MLflow refuses .*; run `cachezoo models track sync`, which builds it anew$", ui_address)
    built_anew(root, before, capsys)
    assert not (root / "mlflow.db-journal").exists()


@one_kind
def test_another_version_of_mlflow_builds_the_view_anew(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync(root)
    monkeypatch.setattr(sync_module.metadata, "version", lambda _: "0")
    assert len(sync(root).built) == 3 and sync(root).built == []


@one_kind
def test_a_database_that_sqlite_cannot_open_is_not_called_damaged(root: Path) -> None:
    sync(root)
    (root / "mlflow.db-journal").mkdir()
    one_line(root, "cannot be read .*; end the program that holds it, or move it away$", sync)


@one_kind
def test_a_folder_in_the_databases_place_is_named(root: Path) -> None:
    (root / "mlflow.db").mkdir()
    one_line(root, "is no file; move it away and run `cachezoo models track sync`", sync)


HOLD = """
import sqlite3, sys
file = sqlite3.connect(sys.argv[1], isolation_level=None)
file.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


@one_kind
def test_a_locked_database_is_left_alone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync(root)
    monkeypatch.setattr(database, "WAIT_S", 0.2)
    command = [sys.executable, "-c", HOLD, str(root / "mlflow.db")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        one_line(root, r"cannot be read \(database is locked\); end the program that holds it, or move it away$", sync)
        holder.communicate()
    assert len(sync(root).unchanged) == 3


def files(root: Path) -> list[str]:
    """Every artifact file, run ids left out."""
    store = root / "mlflow-artifacts"
    return sorted("/".join(path.relative_to(store).parts[1:]) for path in store.rglob("*") if path.is_file())


@one_kind
def test_files_of_a_deleted_database_go_and_those_of_others_stay(root: Path) -> None:
    sync(root)
    before, store = files(root), root / "mlflow-artifacts"
    foreign = [store / "notes.txt", store / "7/artifacts/x", store / f"{'a' * 32}/artifacts/mine.txt"]
    for file in foreign:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("mine")
    (store / f"{'b' * 32}").symlink_to(next(store.glob("*/artifacts")).parent)
    (root / "mlflow.db").unlink()
    report = sync(root)
    assert (len(report.built), report.removed) == (3, 3)
    assert all(file.read_text() == "mine" for file in foreign)
    for file in foreign:
        file.unlink()
    shutil.rmtree(store / f"{'a' * 32}")
    (store / f"{'b' * 32}").unlink()
    assert files(root) == before
    assert sync(root).removed == 0


@one_kind
def test_a_store_that_is_a_link_keeps_what_others_may_own(root: Path, tmp_path: Path) -> None:
    sync(root)
    shutil.move(root / "mlflow-artifacts", tmp_path / "shared")
    (root / "mlflow-artifacts").symlink_to(tmp_path / "shared")
    (root / "mlflow.db").unlink()
    assert sync(root).removed == 0
    assert len(list((tmp_path / "shared").iterdir())) == 6


@one_kind
@pytest.mark.parametrize("damage", ["missing", "changed", "more", "all"])
def test_files_that_are_not_what_they_were_are_logged_again(root: Path, damage: str) -> None:
    sync(root)
    before = files(root)
    (model,) = (root / "mlflow-artifacts").glob("*/artifacts/bundle/model.lgb.txt")
    if damage == "missing":
        model.unlink()
    elif damage == "changed":
        model.write_bytes(model.read_bytes()[:-1] + b"!")
    elif damage == "more":
        model.with_name("more").write_text("more")
    else:
        shutil.rmtree(model.parents[2])
    assert len(sync(root).built) == 3 and files(root) == before
    assert sync(root).built == []


@one_kind
def test_the_command_prints_counts_and_the_names_as_json(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "conf").mkdir(exist_ok=True)
    monkeypatch.chdir(root)
    track_sync()
    shown = capsys.readouterr().out
    assert "[" not in shown and re.search(r"built +│ 3 +│", shown)
    track_sync(as_json=True)
    assert len(json.loads(capsys.readouterr().out)["unchanged"]) == 3
