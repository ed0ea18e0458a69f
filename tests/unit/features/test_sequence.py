import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cachezoo import io
from cachezoo.errors import ConfigError, TraceError
from cachezoo.features.sequence import (
    COMMON_NAMES,
    FEEDBACK_WIDTH,
    MIN_SCALE,
    OPEN_FORMULAS,
    OPEN_WIDTH,
    REQUEST_FORMULAS,
    SIZED_NAMES,
    Columns,
    Memory,
    feedback,
    fit_features,
    input_ranges,
    open_inputs,
    raw_columns,
)
from cachezoo.features.table import feature_requests, read_features, trace_columns, write_features
from cachezoo.io import read_table, write_table
from cachezoo.serving.requests import RequestBatch
from cachezoo.settings.page_cache import BenefitLabel, SequenceFeatures
from cachezoo.traces import memory, rows
from cachezoo.traces.pages import capacity_pages, expand_pages
from cachezoo.traces.table import Trace
from tests.page_data import in_row_groups, seeded_trace
from tests.without_numba import printed

LABEL = BenefitLabel(oracle="benefit", horizons=[3], capacities=[0.05, 0.2])
PARAMS = SequenceFeatures(memory_accesses=500, window_accesses=200, region_bytes=65536, region_bits=8, clip=6.0)
MEMORY = Memory.of(PARAMS.model_dump())
TRACE = seeded_trace(800, 90, 4)


def columns_of(trace: Trace, capacities: list[int]) -> Columns:
    return trace_columns(trace, expand_pages(trace), PARAMS, capacities)


WHOLE = columns_of(TRACE, [5, 20])


def digest(columns: Columns) -> str:
    return hashlib.sha256(columns.common.tobytes() + columns.sized.tobytes()).hexdigest()


@pytest.mark.parametrize("cut", [1, 2, 99, 400, 799])
def test_no_row_sees_a_later_one(cut: int) -> None:
    other = seeded_trace(800, 300, 50)
    changed = {
        name: np.concatenate([getattr(TRACE, name)[:cut], getattr(other, name)[cut:]])
        for name in ("op", "offset", "size")
    }
    changed["time_us"] = np.concatenate([TRACE.time_us[:cut], TRACE.time_us[cut:] * 3])
    rewritten = columns_of(replace(TRACE, **changed), [5, 20])
    assert rewritten.common[:cut].tobytes() == WHOLE.common[:cut].tobytes()
    assert rewritten.sized[:, :cut].tobytes() == WHOLE.sized[:, :cut].tobytes()
    alone = columns_of(TRACE.rows(0, cut), [5, 20])
    assert alone.common.tobytes() == WHOLE.common[:cut].tobytes()
    assert alone.sized.tobytes() == WHOLE.sized[:, :cut].tobytes()


def test_history_leaves_the_request_itself_out() -> None:
    row = 500
    op = TRACE.op.copy()
    op[row] = 1 - op[row]
    flipped = columns_of(replace(TRACE, op=op), [5, 20])
    differs = (flipped.common[row] != WHOLE.common[row]).tolist()
    assert [name for name, d in zip(COMMON_NAMES, differs, strict=True) if d] == ["op"]
    assert flipped.sized[:, row].tobytes() == WHOLE.sized[:, row].tobytes()


def test_a_capacity_does_not_touch_another_ones_columns() -> None:
    alone = columns_of(TRACE, [20])
    assert alone.common.tobytes() == WHOLE.common.tobytes()
    assert alone.sized[0].tobytes() == WHOLE.sized[1].tobytes()


def test_same_bits_without_numba_and_no_warning() -> None:
    code = "from tests.unit.features.test_sequence import WHOLE, digest\nprint(digest(WHOLE))"
    assert printed(code) == {digest(WHOLE)}


def by_formula(features: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {str(row["formula"]): row for row in features}


def test_order_and_widths() -> None:
    features = fit_features([WHOLE], OPEN_FORMULAS, fed_back=True)
    assert fit_features([WHOLE], OPEN_FORMULAS) == features[:OPEN_WIDTH]
    assert len(features) == OPEN_WIDTH + FEEDBACK_WIDTH == 20
    assert [row["formula"] for row in features[-FEEDBACK_WIDTH:]] == [
        "feedback.cached", "feedback.soon", "feedback.mean", "feedback.late",
    ]  # fmt: skip
    workload = fit_features([WHOLE], REQUEST_FORMULAS)
    assert workload == features[: len(workload)] and len(workload) == 5
    assert all(set(row) == {"name", "formula", "unit", "mean", "scale", "encoding"} for row in features)
    assert len({row["name"] for row in features}) == len(features)


def test_normalisation_comes_from_the_given_parts() -> None:
    other = columns_of(seeded_trace(300, 200, 8), [5, 20])
    features = by_formula(fit_features([WHOLE, other], OPEN_FORMULAS))
    gap = np.concatenate([part.common[:, 0] for part in (WHOLE, other)]).astype(np.float64)
    assert features["time.log1p_gap"]["mean"] == pytest.approx(gap.mean())
    assert features["time.log1p_gap"]["scale"] == pytest.approx(gap.std())
    ages = [
        part.common[:, COMMON_NAMES.index("age")] - np.log2(capacity) for part in (WHOLE, other) for capacity in (5, 20)
    ]
    assert features["history.age"]["mean"] == pytest.approx(np.concatenate(ages).mean())
    heats = np.concatenate([part.sized[:, :, SIZED_NAMES.index("heat")].ravel() for part in (WHOLE, other)])
    assert features["history.heat"]["scale"] == pytest.approx(heats.astype(np.float64).std())
    pages = np.concatenate([part.common[:, 2] for part in (WHOLE, other)])
    assert (features["address.page"]["mean"], features["address.page"]["scale"]) == (
        pages.min(),
        pages.max() - pages.min(),
    )


def test_inputs_outside_the_trained_range_are_cut_to_it() -> None:
    features = fit_features([WHOLE], OPEN_FORMULAS, fed_back=True)
    ranges = input_ranges([WHOLE], features)
    assert list(ranges) == [row["name"] for row in features[:OPEN_WIDTH]]
    for lane in (0, 1):
        rows = open_inputs(WHOLE, lane, features, 6.0)
        assert rows.tobytes() == open_inputs(WHOLE, lane, features, 6.0, ranges).tobytes()
    half = replace(WHOLE, common=WHOLE.common[:400], sized=WHOLE.sized[:, :400])
    narrow = input_ranges([half], features)
    cut = open_inputs(WHOLE, 0, features, 6.0, narrow)
    seen = open_inputs(half, 0, features, 6.0), open_inputs(half, 1, features, 6.0)
    assert (cut[:400] == seen[0]).all() and (cut[400:] != open_inputs(WHOLE, 0, features, 6.0)[400:]).any()
    for place, row in enumerate(features[:OPEN_WIDTH]):
        ends = [(end - row["mean"]) / row["scale"] for end in narrow[row["name"]]]
        assert np.clip(ends[0], -6, 6) - 1e-5 <= cut[:, place].min()
        assert cut[:, place].max() <= np.clip(ends[1], -6, 6) + 1e-5
    one = open_inputs(WHOLE, 0, features, 6.0, {"size": narrow["size"]})
    others = [place for place, row in enumerate(features[:OPEN_WIDTH]) if row["name"] != "size"]
    np.testing.assert_array_equal(one[:, others], open_inputs(WHOLE, 0, features, 6.0)[:, others])


def test_normalised_inputs() -> None:
    features = fit_features([WHOLE], OPEN_FORMULAS)
    for lane in (0, 1):
        rows = open_inputs(WHOLE, lane, features, 6.0)
        assert rows.shape == (800, OPEN_WIDTH) and rows.dtype == np.float32
        assert np.abs(rows).max() <= 6.0
    place = [row["formula"] for row in features].index("address.page")
    assert (rows[:, place].min(), rows[:, place].max()) == (0.0, 1.0)
    moved = open_inputs(WHOLE, 0, [{**row, "scale": 1e-9} for row in features], 2.5)
    assert set(np.unique(np.abs(moved[:, 0]))) == {np.float32(2.5)}
    turned = open_inputs(WHOLE, 1, features[::-1], 6.0)
    np.testing.assert_array_equal(turned, rows[:, ::-1])


def test_a_constant_column_is_divided_by_the_least_scale() -> None:
    trace = seeded_trace(50, 9, 2, op=np.zeros(50, np.uint8), size=np.full(50, 512))
    features = by_formula(fit_features([columns_of(trace, [3])], OPEN_FORMULAS))
    assert features["request.op"]["scale"] == features["size.log2_bytes"]["scale"] == MIN_SCALE


def test_feedback_of_tags() -> None:
    rows = feedback(np.array([0, 1, 1, 1, 1]), np.array([0, 0, 1, 2, 3]))
    assert rows.tolist() == [[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]]


def test_round_trip(tmp_path: Path) -> None:
    pages = expand_pages(TRACE)
    capacities = [capacity_pages(fraction, pages.n_pages) for fraction in LABEL.capacities]
    for name in ("a", "b"):
        write_features(TRACE, pages, PARAMS, LABEL, tmp_path / f"{name}.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    read = read_features(tmp_path / "a.parquet", LABEL)
    fresh = columns_of(TRACE, capacities)
    assert digest(read) == digest(fresh)
    assert read.capacities.tolist() == capacities
    table, metadata = read_table(tmp_path / "a.parquet")
    assert len(table) == len(TRACE) and metadata["cachezoo.trace_id"] == "seeded"
    fewer = read_features(tmp_path / "a.parquet", LABEL.model_copy(update={"capacities": [0.2]}))
    assert fewer.sized.tobytes() == read.sized[1:].tobytes()


def test_a_long_trace_has_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requests, (ours, theirs) = tmp_path / "requests.parquet", [tmp_path / f"{name}.parquet" for name in ("a", "b")]
    in_row_groups(requests, TRACE, (0, 300, 301, 800))
    monkeypatch.setattr(rows, "ROW_GROUP_ROWS", 256)
    monkeypatch.setattr(io, "ROW_GROUP_ROWS", 256)
    feature_requests(requests, PARAMS, LABEL, theirs)
    monkeypatch.setenv(memory.FROM, "1")
    feature_requests(requests, PARAMS, LABEL, ours)
    assert ours.read_bytes() == theirs.read_bytes()
    write_table(requests, *sooner(requests))
    with pytest.raises(TraceError, match="row 302: the time runs backwards"):
        feature_requests(requests, PARAMS, LABEL, ours)


def sooner(requests: Path) -> tuple[pa.Table, dict[str, str]]:
    """The rows of a trace, the first of whose third row group is at 0 µs."""
    table, metadata = read_table(requests)
    times = table.column("time_us").to_numpy().copy()
    times[301] = 0
    return table.set_column(table.column_names.index("time_us"), "time_us", pa.array(times)), metadata


def test_rules(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"capacities \[5, 0\]"):
        columns_of(TRACE, [5, 0])
    with pytest.raises(ConfigError, match=r"formula history\.mood is unknown"):
        open_inputs(WHOLE, 0, [{"name": "mood", "formula": "history.mood", "mean": 0.0, "scale": 1.0}], 6.0)
    path = tmp_path / "features.parquet"
    with pytest.raises(TraceError, match="no such file"):
        read_features(path, LABEL)
    write_features(TRACE, expand_pages(TRACE), PARAMS, LABEL, path)
    with pytest.raises(TraceError, match="holds no column ratio_50; run the stage features"):
        read_features(path, LABEL.model_copy(update={"capacities": [0.05, 0.5]}))
    table, metadata = read_table(path)
    write_table(path, table.drop_columns(["run"]), metadata)
    with pytest.raises(TraceError, match="holds no column run;"):
        read_features(path, LABEL)
    write_table(path, table, {})
    with pytest.raises(TraceError, match="holds no column n_pages;"):
        read_features(path, LABEL)


def test_raw_columns_take_what_a_bundle_gives() -> None:
    pages = expand_pages(TRACE)
    rows = np.stack([TRACE.time_us, TRACE.offset, TRACE.size], axis=1)
    batch = RequestBatch(rows[:, 0], TRACE.op, rows[:, 1], rows[:, 2], TRACE.volume)
    strided = raw_columns(batch, pages, [5, 20], MEMORY)
    assert digest(strided) == digest(WHOLE)
