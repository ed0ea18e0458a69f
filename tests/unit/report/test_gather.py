import numpy as np
import pytest

from cachezoo import paths
from cachezoo.contest.counting import first_access
from cachezoo.policies.simulate import simulate
from cachezoo.report import gather as room
from cachezoo.report.gather import gather, hit_ratio_curves, load_over_time, trace_facts
from cachezoo.traces.pages import expand_pages
from tests.report_data import add_model, add_traces, entry, make_trace, params_of, trained


def test_load_is_counted_by_window() -> None:
    trace = make_trace("t", 500, 3)
    window_s, reads, writes = load_over_time(trace)
    first, span = int(trace.time_us[0]), int(trace.time_us[-1] - trace.time_us[0])
    naive = np.zeros((2, 100))
    for time, op in zip(trace.time_us.tolist(), trace.op.tolist(), strict=True):
        naive[op, min((time - first) * 100 // span, 99)] += 1
    assert window_s == pytest.approx(span / 1e8)
    np.testing.assert_allclose(reads * window_s, naive[0])
    np.testing.assert_allclose(writes * window_s, naive[1])


def test_a_trace_of_one_moment() -> None:
    trace = make_trace("t", 3, 3)
    window_s, reads, writes = load_over_time(trace.take(np.zeros(2, np.int64)))
    assert (reads + writes).sum() * window_s == pytest.approx(2)


def test_hit_ratios_are_those_of_a_simulation() -> None:
    trace = make_trace("t", 800, 4)
    pages = expand_pages(trace)
    rate, curves = hit_ratio_curves(pages, (0.1, 0.4, 0.4))
    capacity = round(0.4 * pages.n_pages)
    assert rate == 1
    for policy in ("lru", "belady_bypass"):
        run = simulate(trace, pages, policy, capacity, first_access(pages))
        assert curves[policy][1:] == [run.hit_ratio] * 2
    assert all(low <= high for low, high in zip(curves["lru"], curves["belady_bypass"], strict=True))


def test_of_a_long_trace_the_optimum_is_from_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = expand_pages(make_trace("t", 6000, 5))
    _, whole = hit_ratio_curves(pages, (0.02, 0.2))
    monkeypatch.setattr(room, "MOST_ACCESSES", len(pages.page_ids) // 2)
    rate, sampled = hit_ratio_curves(pages, (0.02, 0.2))
    assert rate == 2 and sampled["lru"] == whole["lru"]
    assert sampled["belady_bypass"] != whole["belady_bypass"]
    assert sampled["belady_bypass"] == pytest.approx(whole["belady_bypass"], abs=0.06)


def test_facts_name_programs_and_reuse(tmp_path) -> None:
    entries = {"web_test": entry("web", "test", unseen=True)}
    add_traces(tmp_path, entries)
    facts = trace_facts(tmp_path, "web_test", entries["web_test"], 0.15)
    assert facts.programs == ("nginx",) and facts.unseen and 0.15 in facts.capacities
    figures = facts.figures
    assert figures["reuse"] == 1 - figures["distinct_pages"] / figures["page_accesses"]
    assert figures["iops_peak"] >= figures["iops_mean"] > 0
    assert room._programs("[1]") == () and room._programs("nginx") == ()


def test_models_of_a_system_that_an_earlier_release_had_are_left_out(tmp_path) -> None:
    entries = {"web_test": entry("web", "test")}
    add_traces(tmp_path, entries, 200)
    add_model(tmp_path, trained("workload.lstm8"), card=False)
    assert [model.id for model in gather(tmp_path, params_of(entries)).models] == ["workload.lstm8"]
    (tmp_path / paths.TRAINED / "workload").rename(tmp_path / paths.TRAINED / "gone")
    assert gather(tmp_path, params_of(entries)).models == []
