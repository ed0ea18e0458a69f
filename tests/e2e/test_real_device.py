"""The pipeline with `device=real`, on scratch files of this machine: the same stages, from measured response times."""

import json
import os
import shutil
from pathlib import Path

import pytest
import yaml

from cachezoo.devices.profile import load_models
from cachezoo.devices.replaying import write_responses
from cachezoo.io import read_table
from cachezoo.traces.store import read_trace
from tests.e2e.test_pipeline import KEPT, cachezoo, rerun
from tests.e2e.workspace import dvc, repro, settle

pytestmark = [pytest.mark.slow(seconds=300), pytest.mark.needs("git", "fio")]

SIZE = 80 << 20
MEASURED = ("replay", "calibrate")


def configure(folder: Path, *more: str) -> None:
    file = folder / "conf/overrides.yaml"
    overrides = yaml.safe_load((Path(__file__).parent / "tiny/overrides.yaml").read_text())["overrides"]
    real = ["device=real", "device.force=true", "device.writes=replay", "device.timeout_s=60", *more]
    kinds = ("hdd", "ssd")
    targets = [f"device.{kind}.path={folder.parent / kind}.scratch" for kind in kinds]
    targets += [f"device.{kind}.name=scratch-{kind}" for kind in kinds]
    file.write_text(yaml.safe_dump({"overrides": [*overrides, *real, *targets]}))


def keep_alpha(matrix: Path) -> None:
    """One category's three traces are enough of the tiny pipeline."""
    table = yaml.safe_load(matrix.read_text())
    pages = {key: row for key, row in table["page_traces"].items() if row["category"] == "alpha"}
    table |= {"page_traces": pages, "object_traces": {}, "traces": pages}
    table |= {"page_categories": ["alpha"], "object_categories": [], "categories": ["alpha"]}
    table |= {"write_traces": {}, "write_categories": [], "stream_categories": {"alpha": "data/requests/alpha"}}
    matrix.write_text(yaml.safe_dump(table))


@pytest.fixture(scope="module")
def folder(ran, tmp_path_factory):
    """The clone in which the pipeline has run, with one category, and devices in place of their models."""
    made = tmp_path_factory.mktemp("real") / "clone"
    shutil.copytree(ran, made, symlinks=True)
    for name in ("home", "tmp"):
        (made.parent / name).mkdir()
    settle(made)
    for kind in ("hdd", "ssd"):
        done = cachezoo(made, "device", "prepare", str(made.parent / f"{kind}.scratch"), "--size", str(SIZE), "--force")
        assert done.returncode == 0, done.stderr
    keep_alpha(made / "conf/matrix.yaml")
    configure(made)
    repro(made, *MEASURED)
    return made


def responses(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (folder / "data/responses").rglob("*.parquet")}


def test_measured_responses_have_the_modelled_ones_schema_order_and_rows(folder, tmp_path):
    model = load_models(str(folder / "conf/device/wdredpro2tb_850pro.yaml"))
    for role in ("train", "validation", "test"):
        trace = read_trace(folder / f"data/requests/alpha/alpha_{role}.parquet")
        write_responses(trace, model, tmp_path / "responses.parquet", tmp_path / "record.json")
        modelled, known = read_table(tmp_path / "responses.parquet")
        table, metadata = read_table(folder / f"data/responses/alpha/alpha_{role}.parquet")
        assert table.schema.remove_metadata() == modelled.schema.remove_metadata()
        assert len(table) == len(trace) == len(modelled) > 1000
        assert metadata.keys() == known.keys()
        assert metadata["cachezoo.trace_id"] == known["cachezoo.trace_id"]
        assert (metadata["cachezoo.provenance"], known["cachezoo.provenance"]) == ("real", "analytic")


def test_the_record_says_when_where_and_how_it_was_measured(folder):
    record = json.loads((folder / "data/replays/alpha/alpha_test.json").read_text())
    assert (record["provenance"], record["requests"]) == ("real", 3000)
    for kind in ("hdd", "ssd"):
        measured = record[kind]["measured"]
        assert measured["target.name"] == f"scratch-{kind}"
        assert measured["fio"].startswith("fio-")
        assert {"date", "host", "kernel", "command"} <= measured.keys()
        assert record[kind]["rows_changed"] == {
            "requests": 3000, "zero_length": 0, "rounded": 0, "folded": 0, "writes_as_reads": 0,
        }  # fmt: skip


def test_what_was_measured_leads_to_a_calibration(folder):
    report = json.loads((folder / "models/devices/calibration.json").read_text())
    assert report["provenance"] == "real"
    assert {"hdd", "ssd"} <= report.keys()


def test_a_device_is_not_measured_again_until_device_or_settings_change(folder):
    before = responses(folder)
    assert len(before) == 3
    assert "replay" not in rerun(folder, *MEASURED)
    configure(folder, "judge.reuse.least_gain=0.0051")
    assert "replay" not in rerun(folder, *MEASURED)
    assert responses(folder) == before
    configure(folder, "device.repetitions=2")
    said = repro(folder, "replay")
    assert "Running stage 'replay'" in said and not KEPT.findall(said)
    # One that is gone back to was measured.
    configure(folder)
    said = repro(folder, "replay")
    assert "'replay' is cached" in said or ("replay", "3", "3") in KEPT.findall(said)
    assert responses(folder) == before


def test_a_target_that_is_gone_ends_the_stage_in_one_line_and_loses_no_measurement(folder):
    before = responses(folder)
    configure(folder, "device.repetitions=4")
    os.rename(folder.parent / "ssd.scratch", folder.parent / "elsewhere")
    try:
        done = dvc(folder, "repro", "replay")
        assert done.returncode != 0
        lines = [line for line in (done.stdout + done.stderr).splitlines() if "ssd.scratch" in line]
        assert len(lines) == 1
        assert lines[0].startswith("replay: ")
        configure(folder)
        repro(folder, "replay")
    finally:
        os.rename(folder.parent / "elsewhere", folder.parent / "ssd.scratch")
    assert responses(folder) == before


@pytest.mark.long
def test_what_was_measured_leads_to_figures_and_an_export(folder):
    repro(folder, "export")
    metrics = json.loads((folder / "metrics/page/alpha.json").read_text())
    assert metrics["response_times"].split(",")[0] == "real"  # the rest says so of a virtual disk
    assert metrics["traces"]["alpha_test"]["rows"][0]["mean_response_us"] > 0
    exported = {path.name for path in (folder / "models/bundles/caching.alpha.lstm_small").iterdir()}
    assert exported & {"manifest.json", "REFUSED.json"}
