from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from cachezoo.errors import TraceError
from cachezoo.evaluation.admission import _Bench, admission_page_decisions, evaluate_admission
from cachezoo.evaluation.flash_load import load_curve, load_windows, resamples, time_scale
from cachezoo.io import dump_json
from cachezoo.labels.episode_file import read_episode_labels, write_episode_labels
from cachezoo.labels.episodes import choose_episodes, label_problem
from cachezoo.labels.flash_problem import flash_problem
from cachezoo.models.admission import load_admission
from cachezoo.policies.flash import learned
from cachezoo.training.admission import Part, fit, serve_trace, write_trained
from tests.baleen_data import FLASH, LABEL, SETTINGS, make_trace

PARAMS = SimpleNamespace(label=SimpleNamespace(episodes=LABEL), policy=SimpleNamespace(flash=FLASH), seed=7)
TEST = make_trace(15_000, 3, "test")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluate")
    parts = []
    for seed, key in ((1, "train"), (2, "validation")):
        trace = make_trace(15_000, seed)
        write_episode_labels(trace, LABEL, FLASH, folder / key)
        parts.append(Part(key, trace, read_episode_labels(folder / key)))
    write_trained(*fit("database", parts[:1], parts[1:], SETTINGS), folder / "model")
    return folder


def test_result(folder: Path) -> None:
    result = evaluate_admission(folder / "model", {"test": TEST}, PARAMS)
    text = dump_json(result)
    assert text == dump_json(evaluate_admission(folder / "model", {"test": TEST}, PARAMS))
    one = result["traces"]["test"]
    for name in ("deployed", "at_budget"):
        comparison = one[name]
        rows = comparison["rows"]
        assert set(rows) == {"coin_flip", "rejectx", "opt", "baleen"}
        for row in rows.values():
            if row["reached"]:
                assert (
                    abs(row["segment_writes"] - comparison["budget_writes"])
                    <= 0.025 * comparison["budget_writes"]
                )
            low, high = row["read_dt_interval"]["mean"]
            assert low <= row["read_dt"]["mean"] <= high
            assert row["read_dt"]["median"] <= row["read_dt"]["p95"] <= row["read_dt"]["peak"]
        gap, peak = comparison["gap"], {who: rows[who]["read_dt"]["peak"] for who in rows}
        if gap["peak_gap_closed"] is not None:
            assert gap["gap_segment_writes"] <= rows["rejectx"]["segment_writes"]
        if gap["peak_gap_closed"] is not None and gap["gap_segment_writes"] == rows["baleen"]["segment_writes"]:
            share = (peak["rejectx"] - peak["baleen"]) / (peak["rejectx"] - peak["opt"])
            assert gap["peak_gap_closed"] == pytest.approx(share)
        assert rows["opt"]["read_dt"]["mean"] < rows["coin_flip"]["read_dt"]["mean"]
    assert one["deployed"]["rows"]["baleen"]["segment_writes"] == one["deployed"]["budget_writes"]
    assert len(TEST) // 10 <= one["warmup_request"] <= len(TEST) // 3


def test_the_gap_is_compared_at_no_more_writes_than_the_rival_makes(folder: Path) -> None:
    problem = flash_problem(TEST, LABEL, FLASH)
    found = label_problem(problem, LABEL)
    bench = _Bench(TEST, problem, found.episodes, FLASH, 7)
    serving = load_admission(folder / "model")[1]
    scores = serving.scores(serve_trace(serving, TEST))
    model, best = learned(problem, scores).run, choose_episodes(problem, found.episodes).run
    ahead, seen = int(model.segment_writes / 1.02), []
    for writes in (model.segment_writes, ahead, model.segment_writes // 2):
        seen.append(bench.gap(model, replace(best, written=np.array([writes], np.int32)), best, scores))
    assert seen[0]["gap_segment_writes"] == model.segment_writes and seen[0]["no_more_writes"]
    assert 0.9 * ahead < seen[1]["gap_segment_writes"] <= ahead and seen[1]["no_more_writes"]
    assert not seen[2]["no_more_writes"] and seen[2]["peak_gap_closed"] is None


def test_page_decisions(folder: Path) -> None:
    decisions = admission_page_decisions(folder / "model", TEST)
    assert decisions.shape == (len(TEST),) and decisions.dtype == np.bool_
    assert decisions.any() and not decisions[TEST.op == 1].any()
    np.testing.assert_array_equal(
        decisions[:6000], admission_page_decisions(folder / "model", TEST.rows(0, 6000))
    )


def test_windows() -> None:
    problem = flash_problem(TEST, LABEL, FLASH)
    windows = load_windows(TEST.time_us, problem, FLASH)
    assert windows.warmup == problem.warmup and windows.count == FLASH.min_windows
    assert windows.of.min() == 0 and windows.of.max() == windows.count - 1
    dt = problem.dt_seconds(problem.accept_all)
    total = load_curve(dt, windows).sum() * windows.seconds
    assert total == pytest.approx(dt[windows.warmup :].sum())
    long_flash = FLASH.model_copy(update={"window_min_reads": 50})
    day = replace(TEST, time_us=TEST.time_us * 5000)
    assert load_windows(day.time_us, problem, long_flash).count == 100
    assert load_windows(
        day.time_us, problem, FLASH.model_copy(update={"window_min_reads": 300})
    ).count in range(20, 40)
    scaled = load_windows(TEST.time_us, problem, long_flash, scale=1e5)
    assert scaled.count == 100
    meta = replace(TEST.meta, extra={"time_scale": "144"})
    assert (time_scale(TEST), time_scale(replace(TEST, meta=meta))) == (1.0, 144.0)
    with pytest.raises(TraceError, match="time_scale"):
        time_scale(replace(TEST, meta=replace(TEST.meta, extra={"time_scale": "a day"})))
    assert (resamples(20, 5, 1) == resamples(20, 5, 1)).all()
