"""libcachezoo's admission models beside the Python reference: the same inputs, scores and decisions."""

import json
from pathlib import Path

import numpy as np
import pytest

from cachezoo.coded import Coded
from cachezoo.models.forest import read_forest
from cachezoo.seeds import derive_seed
from cachezoo.serving.requests import RequestBatch, batch_of
from cachezoo.traces.store import read_trace
from cachezoo.zoo.admission.serve import AdmissionServing
from tests.c_history import answer
from tests.oracles.history import naive_history

ROOT = Path(__file__).parents[3]
CAPTURED = ROOT / "data/raw/captured"
STORED = ROOT / "tests/golden/protocol2"
ADMISSION = STORED / "admission.database.lgbm"
KEYS = ("features", "encodings", "geometry", "calibration", "policy")
MANY = 1 << 22  # keys: more than any captured trace has segments
# One of each category; benchmarks/runtime_forests.py runs all of them through the exported models.
TRACES = ("blob_validation", "mail_test", "fileserver_test", "web_test", "database_mariadb")


def manifest(bundle):
    return json.loads((bundle / "model.json").read_text(encoding="utf-8"))


def check(made, bundle, batch):
    model = {key: value for key, value in manifest(bundle).items() if key in KEYS}
    serving = AdmissionServing(**model, infer=read_forest(bundle / "model.lgb.txt"))
    rows = serving.features(batch)
    assert np.array_equal(made.features, rows)
    assert np.array_equal(made.scores, serving.scores(rows))
    assert np.array_equal(made.admit, serving.decide(rows) & (batch.op == 0))


def made_requests(n, what):
    """Seeded requests: few blocks used again and again, some across blocks, several volumes, names some models know."""
    draw = np.random.default_rng(derive_seed(7, what))
    near = draw.integers(0, 40, n) * 20_000
    far = draw.integers(0, 1 << 30, n)
    offset = np.where(draw.random(n) < 0.8, near, far)
    size = np.where(draw.random(n) < 0.03, draw.integers(1, 4 << 20, n), draw.integers(1, 70_000, n))
    texts = {
        "volume": ["vda", "vdb", "loop"],
        "namespace": ["vdb", "db", ""],
        "user": ["postgres", "kworker/u4:1", "backup:7", "", "postgresql"],
        "flags": ["R", "WS"],
    }
    coded = {name: Coded(draw.integers(0, len(own), n).astype(np.int32), tuple(own)) for name, own in texts.items()}
    op = (draw.random(n) < 0.35).astype(np.uint8)
    return RequestBatch(np.arange(n, dtype=np.int64), op, offset, size, **coded)


@pytest.mark.parametrize("trace", TRACES)
def test_a_captured_trace_gets_the_same_answers_in_c(history_run, tmp_path, trace):
    batch = batch_of(read_trace(CAPTURED / f"{trace}.parquet"))
    made = answer(history_run, ADMISSION, batch, tmp_path, max_keys=MANY)
    check(made, ADMISSION, batch)
    assert made.counters["requests"] == len(batch)
    assert made.counters["forgotten"] == 0


def test_made_requests_get_the_same_answers_in_c(checked_history_run, tmp_path):
    batch = made_requests(3000, "made")
    made = answer(checked_history_run, ADMISSION, batch, tmp_path)
    check(made, ADMISSION, batch)
    assert len(np.unique(made.admit)) == 2


def test_requests_without_namespace_and_user_take_the_volumes_name(checked_history_run, tmp_path):
    given = made_requests(500, "nameless")
    batch = RequestBatch(given.time_us, given.op, given.offset, given.size, given.volume)
    check(answer(checked_history_run, ADMISSION, batch, tmp_path), ADMISSION, batch)


def test_inputs_are_those_of_a_log_that_is_counted_again(checked_history_run, tmp_path):
    batch = made_requests(120, "naive")
    model = manifest(ADMISSION)
    bucket, windows = model["policy"]["history"]["bucket_requests"], model["policy"]["history"]["windows"]
    segment, block = model["geometry"]["segment_bytes"], model["geometry"]["block_bytes"]
    blocks, segments = [], []
    for op, offset, size, volume in zip(batch.op, batch.offset, batch.size, batch.volume.codes, strict=True):
        first, last = int(offset) // segment, (int(offset) + int(size) - 1) // segment
        blocks.append((int(op), [(volume, int(offset) // block)]))
        segments.append((int(op), [(volume, place) for place in range(first, last + 1)]))
    made = answer(checked_history_run, ADMISSION, batch, tmp_path).features
    wanted = np.concatenate([naive_history(part, bucket, windows) for part in (blocks, segments)], axis=1)
    assert np.array_equal(made[:, 6:], wanted)


@pytest.mark.parametrize("ahead", [1, 7, 63])
def test_requests_observed_before_a_decision_do_not_change_it(checked_history_run, tmp_path, ahead):
    batch = made_requests(600, "ahead")
    check(answer(checked_history_run, ADMISSION, batch, tmp_path, ahead=ahead), ADMISSION, batch)


@pytest.mark.parametrize("at", [0, 1, 301, 599])
def test_a_stream_that_was_saved_goes_on_as_if_it_had_not(checked_history_run, tmp_path, at):
    batch = made_requests(600, "saved")
    check(answer(checked_history_run, ADMISSION, batch, tmp_path, save_at=at, swap_at=at // 2), ADMISSION, batch)


def forgetful(batch, model, most):
    """The inputs of a history of at most `most` keys of each sort, and the keys forgotten too early: kept naively."""
    segment = model["geometry"]["segment_bytes"]
    per_block = model["geometry"]["block_bytes"] // segment
    bucket_width, windows = model["policy"]["history"]["bucket_requests"], model["policy"]["history"]["windows"]
    forgotten, tables, rows = 0, ({}, {}), []
    for rank, (op, offset, size, volume) in enumerate(
        zip(batch.op.tolist(), batch.offset.tolist(), batch.size.tolist(), batch.volume.codes.tolist(), strict=True)
    ):
        first, last, bucket = offset // segment, (offset + size - 1) // segment, rank // bucket_width
        row = []
        for table, keys in zip(tables, ([first // per_block], range(first, last + 1)), strict=True):
            uses = []
            for key in keys:
                if (volume, key) in table:
                    table[(volume, key)] = table.pop((volume, key))  # it is the newest now
                    uses += table[(volume, key)]
            for kind in (0, 1):
                row += [sum(1 for b, k in uses if k == kind and b > bucket - window) for window in windows]
            for key in keys:
                if (volume, key) not in table and len(table) == most:
                    oldest = table.pop(next(iter(table)))
                    forgotten += oldest[-1][0] > bucket - windows[-1]
                table.setdefault((volume, key), []).append((bucket, op))
        rows.append(row)
    return np.array(rows, np.float32), forgotten


@pytest.mark.parametrize("most", [1, 5, 30, 200])
def test_a_full_table_forgets_the_key_unused_longest(checked_history_run, tmp_path, most):
    given = made_requests(700, "full")
    batch = RequestBatch(given.time_us, given.op, given.offset, np.minimum(given.size, 90_000), given.volume)
    made = answer(checked_history_run, ADMISSION, batch, tmp_path, max_keys=most, save_at=350)
    rows, forgotten = forgetful(batch, manifest(ADMISSION), most)
    assert np.array_equal(made.features[:, 6:], rows)
    assert made.counters["forgotten"] == forgotten
    assert forgotten > 0
    assert made.counters["keys"] <= 2 * most
