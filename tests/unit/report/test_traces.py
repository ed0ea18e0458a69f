import numpy as np
import pytest

from cachezoo.policies.simulate import simulate
from cachezoo.report import traces as room
from cachezoo.report.traces import hit_ratio_curves, load_over_time, trace_facts
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.warmup import auto_warmup
from tests.report_data import add_traces, entry, make_trace


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


def test_hit_ratios_are_those_of_a_replay() -> None:
    trace = make_trace("t", 800, 4)
    pages = expand_pages(trace)
    rate, curves = hit_ratio_curves(trace, pages, (0.1, 0.4))
    capacity = round(0.4 * pages.n_pages)
    assert rate == 1
    for policy in ("lru", "belady_bypass"):
        run = simulate(trace, pages, policy, capacity, auto_warmup(pages, capacity))
        assert curves[policy][1] == run.hit_ratio
    assert all(low <= high for low, high in zip(curves["lru"], curves["belady_bypass"], strict=True))


def test_a_long_trace_is_sampled_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = make_trace("t", 6000, 5)
    pages = expand_pages(trace)
    _, whole = hit_ratio_curves(trace, pages, (0.2,))
    monkeypatch.setattr(room, "MOST_ACCESSES", len(pages.page_ids) // 2)
    rate, sampled = hit_ratio_curves(trace, pages, (0.2,))
    assert rate >= 2 and sampled != whole
    part, kept = room._sampled(trace, pages, rate)
    assert kept.n_pages == len(np.unique(kept.page_ids)) and len(part) == len(kept.page_ids)
    firsts = kept.page_ids[np.sort(np.unique(kept.page_ids, return_index=True)[1])]
    assert firsts.tolist() == list(range(kept.n_pages))  # numbered by first appearance
    counts = np.bincount(pages.page_ids)
    assert set(np.bincount(kept.page_ids)) <= set(counts)  # all of a page's accesses, or none


def test_facts_name_programs_and_reuse(tmp_path) -> None:
    entries = {"web_test": entry("web", "test", unseen=True)}
    add_traces(tmp_path, entries)
    facts = trace_facts(tmp_path, "web_test", entries["web_test"], 0.15)
    assert facts.programs == ("nginx",) and facts.unseen and 0.15 in facts.capacities
    figures = facts.figures
    assert figures["reuse"] == 1 - figures["distinct_pages"] / figures["page_accesses"]
    assert figures["iops_peak"] >= figures["iops_mean"] > 0
    assert room._programs("[1]") == () and room._programs("nginx") == ()
