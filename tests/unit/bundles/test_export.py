import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cachezoo import paths
from cachezoo.bundles import load, verify
from cachezoo.bundles.export import export_model, golden_requests, read_lock, read_versions
from cachezoo.bundles.protocol import CARD
from cachezoo.errors import BundleError
from cachezoo.io import read_json, write_json
from cachezoo.models.trained import read_trained
from cachezoo.serving.requests import RequestBatch
from cachezoo.settings.params import Export
from cachezoo.traces.store import write_trace
from cachezoo.zoo.registry import SYSTEMS
from tests import placement_data, virtual_data
from tests.baleen_data import make_trace
from tests.bundle_data import LIBRARIES, metrics, model_id
from tests.metrics_data import flash_metrics, reuse_metrics, workload_metrics, write

CATEGORIES = ("database", "web", "ledger")


PARAMS: Any = SimpleNamespace(
    data=SimpleNamespace(
        page_categories=list(CATEGORIES[:2]),
        roles={name: {"validation": [f"{name}_validation"]} for name in CATEGORIES},
        cycles={},
    ),
    export=Export(version="0.1.0", golden_rows=200, golden_rows_max=800),
)


@pytest.fixture
def project(trained: tuple[Path, RequestBatch], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's root, made the current folder, with one trained model and validation traces."""
    monkeypatch.chdir(tmp_path)
    name = model_id(trained[0])
    shutil.copytree(trained[0], paths.trained(name))
    for seed, category in enumerate(CATEGORIES):
        write_trace(make_trace(2_000, seed + 5), paths.requests(category, f"{category}_validation"))
    category = read_trained(paths.trained(name)).category
    if category is None:
        kind = name.split(".")[0]
        write(paths.overall_metrics(kind), (reuse_metrics if kind == "reuse" else workload_metrics)(name))
    elif name.startswith("streams."):
        write(paths.METRICS / "streams" / f"{category}.json", placement_data.metrics(name))
    elif name.startswith("virtual."):
        write(paths.METRICS / "virtual" / f"{category}.json", virtual_data.metrics(name))
    else:
        write(paths.metrics(category), metrics(name).own)
        write(paths.flash_metrics(category), flash_metrics(f"admission.{category}.lgbm"))
    Path("requirements.lock").write_text("".join(f"{n}=={v}+cpu\n" for n, v in LIBRARIES.items()))
    return tmp_path


def test_export_writes_a_sound_bundle_with_its_headline_on_its_card(project: Path, trained: Any) -> None:
    name = model_id(trained[0])
    digest = export_model(PARAMS, name)
    report = verify(paths.bundle(name))
    assert report["digest"] == digest and report["golden_rows"] >= 200
    bundle = load(paths.bundle(name))
    libraries = bundle.manifest["provenance"]["libraries"]
    assert libraries["numpy"] == LIBRARIES["numpy"] and not any("+" in v for v in libraries.values())
    system = SYSTEMS[name.split(".")[0]]
    test = bundle.manifest["measured"]["evaluated"]["test"]
    if system.scope in ("all", "stream category"):
        assert set(system.headline) <= set(test)
    card = (paths.bundle(name) / CARD).read_text()
    assert ("On each test stream's second half, and the way to run" in card) == (system.id == "reuse")
    if system.id == "reuse":
        assert test["home_gap_closed"] == pytest.approx(0.2) and test["program_gap_closed"] == pytest.approx(-0.1)
        assert "| lighttpd_test | 0.1 | 0.276 | arc | 0.3 | -2 | 0.3 | 0.5 | -0.1 | no |" in card
        assert card.count("- Don't use it on") == 1
        assert (
            "Don't use it on programs that it was not trained on: it leads what an operator would run there by -1.667 "
            "points of hit ratio in the mean." in card
        )
        assert "| program_gap_closed | -0.1 |" in card and "All policies on the test trace" not in card


# Requests of one category, and of all; that every kind's builds are equal is test_round_trip.py's.
@pytest.mark.parametrize("trained", ["streams", "workload"], indirect=True)
def test_a_second_export_is_the_first_and_another_s_version_is_refused(project: Path, trained: Any) -> None:
    name = model_id(trained[0])
    digest = export_model(PARAMS, name)
    assert export_model(PARAMS, name) == digest
    write_json(Path("VERSIONS.json"), {name: {"0.1.0": "0" * 64}})
    with pytest.raises(BundleError, match=r"VERSIONS\.json pins"):
        export_model(PARAMS, name)
    assert verify(paths.bundle(name))["digest"] == digest


@pytest.mark.parametrize(
    "changes",
    [{"trained": False, "reason": "it never moved"}, {"oracle": False, "reason": "the oracle\nloses"}],
    ids=["never trained", "oracle below the best classic"],
)
def test_refusal_is_written_and_read(
    project: Path, trained: tuple[Path, RequestBatch], changes: dict[str, Any]
) -> None:
    name = model_id(trained[0])
    path = paths.trained(name) / "train.json"
    values = read_json(path)
    if not changes.get("oracle", True):
        values["calibration"]["oracle_beats_classic"] = False
    write_json(path, {**values, **{key: value for key, value in changes.items() if key != "oracle"}})
    export_model(PARAMS, name)
    assert [p.name for p in paths.bundle(name).iterdir()] == ["REFUSED.json"]
    content = read_json(paths.bundle(name) / "REFUSED.json")
    assert content["id"] == name and changes["reason"] in content["reason"]
    with pytest.raises(BundleError, match="export refused this model: it") as caught:
        load(paths.bundle(name))
    assert "\n" not in str(caught.value)


def test_golden_requests_of_all_categories(project: Path) -> None:
    one, both = golden_requests(PARAMS, "web", 300), golden_requests(PARAMS, None, 300)
    assert len(one) == len(both) == 300
    np.testing.assert_array_equal(both.offset[150:], one.offset[:150])
    assert (np.diff(both.time_us) >= 0).all() and both.time_us[0] == 0
    texts = [[c.names[k] for k in c.codes] for c in (both.user, one.user) if c is not None]
    assert texts[0][150:] == texts[1][:150]
    with pytest.raises(BundleError, match=r"category mail has no validation trace; add one: cachezoo trace add"):
        golden_requests(PARAMS, "mail", 300)


def test_lock(tmp_path: Path) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text('# by hand\nTorch_Geometric==1.2+cpu ; python_version > "3"\nnumpy == 2.4.6\n')
    assert read_lock(lock) == {"torch-geometric": "1.2", "numpy": "2.4.6"}
    lock.write_text("numpy>=2\n")
    with pytest.raises(BundleError, match="pins no name==version"):
        read_lock(lock)
    with pytest.raises(BundleError, match="cannot be read"):
        read_lock(tmp_path / "nowhere")
    real = read_lock(Path(__file__).parents[3] / "requirements.lock")
    assert set(LIBRARIES) <= set(real)


@pytest.mark.parametrize("content", [[1], {"a": "b"}, {"a": {"0.1.0": 1}}])
def test_versions_that_are_none(tmp_path: Path, content: object) -> None:
    path = tmp_path / "VERSIONS.json"
    assert read_versions(path) == {}
    write_json(path, content)
    with pytest.raises(BundleError, match="restore it from Git"):
        read_versions(path)


def test_schema_of_the_parameters() -> None:
    good = {"version": "1.0.0", "golden_rows": 5, "golden_rows_max": 5}
    Export(**good)
    for bad in ({"version": "1.0"}, {"golden_rows": 0}, {"golden_rows_max": 4}, {"rows": 1}):
        with pytest.raises(ValueError, match=r"version|golden_rows|rows"):
            Export(**{**good, **bad})
