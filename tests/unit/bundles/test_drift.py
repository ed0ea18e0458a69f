"""How far a trace has moved from training."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from cachezoo.bundles import load
from cachezoo.bundles.drift import decile_distance, drift, table_of
from cachezoo.cli import app
from cachezoo.coded import Coded
from cachezoo.errors import BundleError
from cachezoo.serving.requests import batch_of
from tests.baleen_data import make_trace

STORED = Path(__file__).parents[2] / "golden/protocol2/admission.database.lgbm"


def deciles(column):
    return np.sort(column)[[max(0, -(-k * len(column) // 10) - 1) for k in range(11)]].astype(np.float64)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60))
def test_training_itself_has_no_distance_however_many_values_are_tied(values):
    column = np.array(values, np.float32)
    assert decile_distance(deciles(column), column) <= 1e-12


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.lists(st.integers(0, 9), min_size=1, max_size=60))
def test_it_is_never_above_the_largest_difference_of_the_distributions(before, now):
    old, new = np.array(before, np.float32), np.array(now, np.float32)
    whole = max(abs((old <= v).mean() - (new <= v).mean()) for v in range(-1, 10))
    assert decile_distance(deciles(old), new) <= whole + 1e-12


def test_values_that_moved_away_have_the_distance_one():
    column = np.arange(100, dtype=np.float32)
    assert decile_distance(deciles(column), column + 1000) == pytest.approx(1.0)
    assert decile_distance(deciles(column), column + 50) == pytest.approx(0.5, abs=0.02)


def stating(bundle, rows, read):
    entries = bundle.manifest["features"]
    inputs = {}
    for k, entry in enumerate(entries):
        column = rows[read, k]
        counts = np.bincount(column.astype(np.int64) + 1).astype(float)
        inputs[entry["name"]] = list(deciles(column) if entry["encoding"] == "number" else counts)
        entry["encoding"] = "number" if entry["encoding"] == "number" else "ordinal"
    bundle.manifest["measured"]["inputs"] = inputs


def test_a_trace_is_like_itself_and_unlike_one_of_other_names():
    bundle, trace = load(STORED), make_trace(2000, 3)
    batch = batch_of(trace)
    stating(bundle, bundle.serving().features(batch), batch.op == 0)
    same = drift(bundle, batch)
    assert max(one.distance for one in same.inputs) <= 1e-12 and {one.verdict for one in same.inputs} == {"same"}
    assert same.reads == int((batch.op == 0).sum()) and 0 <= same.admitted <= 1
    larger = drift(bundle, replace(batch, size=batch.size * 64))
    assert larger.inputs[0].verdict == "drifted" and larger.inputs[0].distance >= larger.inputs[-1].distance
    assert table_of(larger, "t").row_count == len(bundle.manifest["features"])


def test_new_names_of_volumes_and_programs_that_the_model_does_not_know_change_nothing():
    bundle, batch = load(STORED), batch_of(make_trace(2000, 3))
    stating(bundle, bundle.serving().features(batch), batch.op == 0)
    found = []
    for names in ("pqr", "zox"):  # in the order of the alphabet, and in another
        columns = {name: getattr(batch, name) for name in ("volume", "namespace", "user")}
        renamed = {
            name: replace(column, names=tuple(f"{names[k]} of nobody" for k in range(len(column.names))))
            for name, column in columns.items()
            if column is not None
        }
        found.append(drift(bundle, replace(batch, **renamed)))
    assert found[0].inputs == found[1].inputs and found[0].admitted == found[1].admitted


def test_names_that_a_block_trace_cannot_have_are_left_out_and_said_to_be(tmp_path, monkeypatch):
    bundle, trace = load(STORED), make_trace(2000, 3)
    batch = batch_of(trace)
    stating(bundle, bundle.serving().features(batch), batch.op == 0)
    assert drift(bundle, batch).left_out == ()
    known = next(iter(bundle.manifest["encodings"]["namespace"]))
    volumes = replace(batch, volume=Coded.constant("sda", len(batch)), namespace=None, user=None)
    found = drift(bundle, volumes)
    assert found.left_out == ("namespace", "user")
    assert {"namespace", "user"}.isdisjoint(one.name for one in found.inputs)
    stood_for = drift(bundle, replace(volumes, volume=Coded.constant(known, len(batch))))
    assert stood_for.left_out == ("user",) and "namespace" in {one.name for one in stood_for.inputs}
    strangers = drift(bundle, replace(batch, namespace=Coded.constant("elsewhere", len(batch))))
    assert strangers.inputs[0].name == "namespace" and strangers.inputs[0].verdict == "drifted"
    monkeypatch.setattr("cachezoo.bundles.released.load", lambda _: bundle)
    monkeypatch.setattr("cachezoo.traces.read.read_any", lambda *_, **__: None)
    monkeypatch.setattr("cachezoo.serving.requests.batch_of", lambda _: volumes)
    shown = CliRunner().invoke(app, ["models", "bundle", "drift", str(STORED), str(tmp_path / "log.parquet")]).stdout
    assert "Left out, as the trace names none: namespace, user." in shown


@pytest.mark.parametrize("moved, advice", [(64, "drifted; train it again: {}"), (1, "same; nothing to do")])
def test_the_command_line_says_the_whole_command_that_trains_it_again(tmp_path, monkeypatch, moved, advice):
    bundle, batch = load(STORED), batch_of(make_trace(2000, 3))
    stating(bundle, bundle.serving().features(batch), batch.op == 0)
    log = tmp_path / "log.parquet"
    monkeypatch.setattr("cachezoo.bundles.released.load", lambda _: bundle)
    monkeypatch.setattr("cachezoo.traces.read.read_any", lambda *_, **__: None)
    monkeypatch.setattr("cachezoo.serving.requests.batch_of", lambda _: replace(batch, size=batch.size * moved))
    shown = CliRunner().invoke(app, ["models", "bundle", "drift", str(STORED), str(log)]).stdout
    command = f'make retrain TRACES="{log}" CATEGORY=database'
    assert shown.splitlines()[-1].endswith(f"is farthest: {advice.format(command)}")


def test_a_bundle_without_a_distribution_is_refused():
    with pytest.raises(BundleError, match="states no distribution of its inputs"):
        drift(load(STORED), batch_of(make_trace(100, 3)))
