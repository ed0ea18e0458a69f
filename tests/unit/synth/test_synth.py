"""A synthetic trace is like its original, within what docs/synth.md states, and holds nothing of its addresses."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.errors import ConfigError, TraceError
from cachezoo.synth.compare import CAPACITIES, compare, distance, sequential, statistics
from cachezoo.synth.fit import fit
from cachezoo.synth.generate import placed, synthetic
from cachezoo.synth.model import (
    TIME_STEPS,
    count_bin,
    distance_bin,
    distance_of,
    load_model,
    log2_of_count,
    octave_of_size,
    save_model,
)
from cachezoo.synth.times import draw_times, fit_times
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.read import read_any
from cachezoo.traces.table import OP_READ, PAGE_BYTES, Trace, TraceMeta
from tests.baleen_data import make_trace

CAPTURED = Path(__file__).resolve().parents[3] / "data/raw/captured"
POINTS = 0.05  # of the sequential requests, and of the accesses to the hottest pages
CURVE = 0.04  # of LRU's hit ratio at 1 to 20 %


def both(trace, seed=1):
    pages = expand_pages(trace)
    drawn = synthetic(fit(trace, pages), seed)
    rows = compare(statistics(trace, pages), statistics(drawn, expand_pages(drawn)))
    return drawn, {row.name: row for row in rows}


def zipf_pages(n, pages, skew, seed):
    """Independent references: pages by a power law, a third written, in bursts."""
    random = np.random.default_rng(seed)
    weights = np.arange(1, pages + 1.0) ** -skew
    page = random.permutation(pages)[random.choice(pages, n, p=weights / weights.sum())] * 8
    return Trace(
        time_us=np.cumsum(random.pareto(1.5, n) * 100).astype(np.int64),
        op=(random.random(n) < 0.33).astype(np.uint8),
        offset=page.astype(np.int64) * PAGE_BYTES,
        size=np.full(n, PAGE_BYTES, np.int64),
        volume=Coded.constant("disk7", n),
        meta=TraceMeta("zipf", "web", "test", "0" * 64),
    )


def held(rows):
    """What every trace here has to hold."""
    assert rows["requests"].error == 0 and abs(rows["seconds"].error) < 1e-3
    assert abs(rows["reads"].error) < 0.03 and rows["requests over time"].error < 0.001
    assert rows["sizes of reads"].error < 0.04 and (rows["sizes of writes"].error or 0) < 0.04
    assert abs(rows["bytes"].error) < 0.06 and abs(rows["busiest window over mean"].error) < 0.01
    assert abs(rows["sequential"].error) < POINTS and abs(rows["spread of gaps"].error) < 0.15
    for share in CAPACITIES:
        assert abs(rows[f"LRU hits at {share} %"].error) < CURVE, share


@pytest.mark.slow(seconds=60)
@pytest.mark.parametrize("name", ["web_test", "mail_test", "fileserver_test", "database_test"])
def test_captured_traces_and_theirs_agree(name):
    _, rows = both(read_any(CAPTURED / f"{name}.parquet"))
    held(rows)
    assert abs(rows["distinct pages"].error) < 0.13
    assert abs(rows["top 1 % of pages"].error) < 0.03 and abs(rows["top 10 % of pages"].error) < POINTS


@pytest.mark.slow(seconds=60)
def test_a_doublewrite_buffer_stays_hot():
    _, rows = both(read_any(CAPTURED / "database_mariadb.parquet"))
    assert abs(rows["top 1 % of pages"].error) < 0.08 and abs(rows["top 10 % of pages"].error) < 0.08
    for share in CAPACITIES:
        assert abs(rows[f"LRU hits at {share} %"].error) < 0.08, share


@pytest.mark.parametrize("skew", [0.0, 0.7, 1.0])
def test_independent_references_keep_their_skew_and_their_curve(skew):
    _, rows = both(zipf_pages(40_000, 4_000, skew, 3))
    held(rows)
    assert abs(rows["distinct pages"].error) < 0.05
    assert abs(rows["top 1 % of pages"].error) < 0.02 and abs(rows["top 10 % of pages"].error) < 0.02


def written_over_and_over(n):
    """Every tenth request writes a buffer of 64 pages anew, all others go to 20,000 pages once in a while."""
    random = np.random.default_rng(5)
    buffer = np.arange(n) % 10 == 0
    page = np.where(buffer, 7, 1000 + 4 * random.integers(0, 20_000, n))
    return replace(
        zipf_pages(n, 10, 0.0, 1), offset=page * PAGE_BYTES, size=np.where(buffer, 64, 1) * PAGE_BYTES,
        op=buffer.astype(np.uint8),
    )  # fmt: skip


def test_a_buffer_written_over_and_over_stays_hot():
    trace = written_over_and_over(20_000)
    model = fit(trace, expand_pages(trace))
    assert [(place.pages, sum(place.uses[0].phases)) for place in model.hot] == [(64, 2000)]
    assert model.hot[0].uses[0].requests == [(0, 64 * PAGE_BYTES, 2000)]
    drawn, rows = both(trace)
    held(rows)
    assert abs(rows["top 1 % of pages"].error) < 0.02
    buffers = drawn.offset[drawn.size == 64 * PAGE_BYTES]
    assert len(np.unique(buffers)) == 1
    many = synthetic(model, 1, scale=3.0)
    assert len(np.unique(many.offset[many.size == 64 * PAGE_BYTES])) == 3


def test_a_smaller_scale_keeps_a_hot_place_of_each_op():
    n = 8_000
    random = np.random.default_rng(7)
    kind = np.arange(n) % 4  # a page that is read, one that is written, and pages all over
    page = np.where(kind == 0, 3, np.where(kind == 1, 90_000, 1000 + 4 * random.integers(0, 20_000, n)))
    trace = replace(zipf_pages(n, 10, 0.0, 1), offset=page * PAGE_BYTES, op=(kind == 1).astype(np.uint8))
    model = fit(trace, expand_pages(trace))
    assert [{use.op for use in place.uses} for place in model.hot] in ([{0}, {1}], [{1}, {0}])
    drawn = synthetic(model, 1, scale=0.2)
    assert drawn.op.mean() == pytest.approx(0.25, abs=0.03)


def test_hot_places_need_many_accesses():
    trace = make_trace(40, 4)
    assert fit(trace, expand_pages(trace)).hot == []


def test_a_model_of_an_older_release_is_refused_in_one_line(tmp_path):
    trace = make_trace(50, 4)
    save_model(fit(trace, expand_pages(trace)), tmp_path / "m.json")
    values = json.loads((tmp_path / "m.json").read_text())
    older = {**values, "format": "cachezoo-synth-1", "rate": [1], "gaps": [1.0]}
    (tmp_path / "m.json").write_text(json.dumps(older))
    with pytest.raises(ConfigError, match=r"no model of trace synth \(format: .*cachezoo-synth-2.*make it with"):
        load_model(tmp_path / "m.json")


def test_a_scan_stays_a_scan():
    n = 5000
    trace = replace(
        zipf_pages(n, 10, 0.0, 1), offset=np.arange(n) * 8192, size=np.full(n, 8192), op=np.zeros(n, np.uint8)
    )
    drawn, rows = both(trace)
    held(rows)
    assert rows["sequential"].synthetic > 0.99 and rows["run of requests"].synthetic > 1000
    assert rows["distinct pages"].synthetic == rows["distinct pages"].original
    assert sequential(drawn).sum() >= n - 3


def test_volumes_keep_their_shares():
    trace = make_trace(8000, 4)
    first = replace(trace, volume=Coded((np.arange(8000) % 5 == 0).astype(np.int32), ("a secret name", "b")))
    drawn, rows = both(first)
    assert drawn.volume.names == ("volume0", "volume1")
    assert rows["busiest volume"].original == pytest.approx(0.8)
    assert abs(rows["busiest volume"].error) < 0.1


def test_the_same_seed_gives_the_same_bytes_and_another_one_another_trace():
    trace = make_trace(3000, 4)
    model = fit(trace, expand_pages(trace))
    one, again, other = (synthetic(model, seed) for seed in (1, 1, 2))
    for name in ("time_us", "op", "offset", "size"):
        assert np.array_equal(getattr(one, name), getattr(again, name))
        assert not np.array_equal(getattr(one, name), getattr(other, name))
    assert one.meta == again.meta


def test_a_stored_model_draws_the_same_and_holds_no_address_or_name(tmp_path):
    trace = make_trace(3000, 4)
    far = replace(trace, offset=trace.offset + 123_456_789 * PAGE_BYTES)
    model, moved = fit(trace, expand_pages(trace)), fit(far, expand_pages(far))
    assert model == moved
    save_model(model, tmp_path / "m.json")
    text = (tmp_path / "m.json").read_text()
    assert load_model(tmp_path / "m.json") == model
    assert not any(name in text for name in ("vda", "postgres", "kworker"))
    assert np.array_equal(synthetic(load_model(tmp_path / "m.json"), 5).offset, synthetic(model, 5).offset)


def test_more_requests_a_longer_time_and_a_larger_scale():
    trace = make_trace(4000, 4)
    pages = expand_pages(trace)
    model = fit(trace, pages)
    many = synthetic(model, 1, requests=9000, seconds=100.0)
    assert len(many) == 9000 and many.time_us[-1] == 100_000_000 and many.time_us[0] == 0
    assert (np.diff(many.time_us) >= 0).all()
    large = synthetic(model, 1, scale=3.0)
    assert len(large) == 12_000 and large.time_us[-1] == synthetic(model, 1).time_us[-1]
    theirs = statistics(large, expand_pages(large)).numbers
    own = statistics(trace, pages).numbers
    assert theirs["distinct pages"] == pytest.approx(3 * own["distinct pages"], rel=0.25)
    for share in CAPACITIES:
        assert theirs[f"LRU hits at {share} %"] == pytest.approx(own[f"LRU hits at {share} %"], abs=0.08)


@pytest.mark.parametrize("n", [2, 3, 10, 60])
def test_short_traces_are_drawn_too(n):
    trace = make_trace(n, 4)
    drawn = synthetic(fit(trace, expand_pages(trace)), 1)
    assert len(drawn) == n and drawn.offset.min() >= 0 and (drawn.size > 0).all()


def test_a_trace_of_one_time_has_one_time():
    trace = replace(make_trace(100, 4), time_us=np.full(100, 7))
    assert (synthetic(fit(trace, expand_pages(trace)), 1).time_us == 0).all()


def test_what_cannot_be_is_one_line(tmp_path):
    trace = make_trace(1, 4)
    with pytest.raises(TraceError, match="1 requests, and a synthetic trace is fitted to 2 at least"):
        fit(trace, expand_pages(trace))
    trace = make_trace(50, 4)
    model = fit(trace, expand_pages(trace))
    with pytest.raises(ConfigError, match="0 requests: give 2 to"):
        synthetic(model, 1, scale=0.001)
    save_model(model, tmp_path / "m.json")
    values = json.loads((tmp_path / "m.json").read_text())
    for change, said in (({"requests": 0}, "requests"), ({"format": "x"}, "format"), ({"more": 1}, "more")):
        (tmp_path / "m.json").write_text(json.dumps({**values, **change}))
        with pytest.raises(ConfigError, match=f"no model of trace synth \\({said}"):
            load_model(tmp_path / "m.json")
    with pytest.raises(ConfigError, match="phases hold no counts"):
        synthetic(model.model_copy(update={"phases": [[[0]]]}), 1)
    with pytest.raises(ConfigError, match="which it does not describe"):
        synthetic(model.model_copy(update={"classes": {}}), 1)


CLASS = ("classes", "0")
PLACE = ("hot", 0)


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ((*CLASS, "sizes"), [], "classes.0.sizes"),
        ((*CLASS, "sizes", 0), [0, 0, 1], "classes.0.sizes.0.0"),
        ((*CLASS, "volumes"), [], "classes.0.volumes"),
        ((*CLASS, "whole"), {"x": 0.5}, "classes.0.whole"),
        (("classes", "1"), None, "goes on with runs, and has none"),
        (("phases", 0, 0), [1], "phases.0.0"),
        ((*PLACE, "uses", 0, "gaps"), [1.0], "hot.0.uses.0.gaps"),
        ((*PLACE, "uses", 0, "phases"), [0], "phases hold no requests"),
        ((*PLACE, "uses", 0, "requests", 0), [0, 2**29, 1], "hot.0: .* a place of 64 pages"),
        ((*PLACE, "uses", 0, "requests", 0), [0, 4096, -1], "hot.0.uses.0.requests.0.2"),
        (("times", "rate"), [0], "rate holds no requests"),
        (("times", "kinds"), [0], "kinds are not of as many windows"),
        (("times", "gaps", 0), [1.0], "times.gaps.0"),
        (("times", "idle", 0), -1, "times.idle.0"),
    ],
)
def test_a_model_whose_parts_do_not_go_together_is_refused_in_one_line(tmp_path, place, value, said):
    trace = written_over_and_over(1500)
    values = fit(trace, expand_pages(trace)).model_dump(mode="json")
    own = values
    for key in place[:-1]:
        own = own[key]
    own[place[-1]] = {**values["classes"]["0"], "runs": []} if value is None else value
    (tmp_path / "m.json").write_text(json.dumps(values))
    with pytest.raises(ConfigError, match=rf"m.json: no model of trace synth \(.*{said}.*\); make it with") as refused:
        load_model(tmp_path / "m.json")
    assert len(str(refused.value).splitlines()) == 1


@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=30), st.floats(0, 1, exclude_max=True))
def test_bins_hold_what_falls_into_them(values, draw):
    distances = np.array(values)
    bins = distance_bin(distances)
    back = distance_of(bins, np.full(len(values), draw))
    assert (np.abs(np.log2((back + 1) / (distances + 1))) <= 0.2).all()
    counts = np.maximum(distances, 1)
    assert (np.abs(log2_of_count(count_bin(counts)) - np.log2(counts)) <= 0.126).all()


def test_octaves_of_sizes():
    pages = np.array([1, 4096, 4097, 8192, 8193, 16384, 2**21, 2**30])
    assert octave_of_size(pages).tolist() == [0, 0, 1, 1, 2, 2, 9, 9]


def test_the_distance_of_samples():
    assert distance(np.array([1, 2, 3]), np.array([1, 2, 3])) == 0
    assert distance(np.array([1, 1]), np.array([2, 2])) == 1
    assert distance(np.array([1, 2]), np.array([1, 3])) == 0.5
    assert distance(np.array([]), np.array([1])) is None


def test_regions_that_a_request_joins_stay_together_and_others_are_apart():
    page = np.array([0, 4, 10, 3, 20], np.int64)
    size = np.array([4, 4, 4, 2, 1], np.int64) * PAGE_BYTES
    regions = page[[0, 1, 2, 4]]
    volume = np.zeros(5, np.int32)
    for seed in range(5):
        at = placed(page, np.zeros(5, np.int64), size, volume, regions, 1, np.random.default_rng(seed)) // PAGE_BYTES
        assert at[1] - at[0] == 4 and at[3] - at[0] == 3
        starts = np.sort(at[[0, 2, 4]])
        assert starts[0] == 0 and (np.diff(starts) >= 34).all()


@st.composite
def moments(draw):
    """Bursts and pauses."""
    steps = draw(st.lists(st.sampled_from([0, 1, 3, 50, 4000, 10**7]), min_size=60, max_size=400))
    return np.cumsum(np.array(steps)) + draw(st.integers(0, 10**12))


@given(moments(), st.integers(0, 9), st.floats(0.2, 5))
def test_times_rise_from_0_to_the_span_and_each_window_has_its_share(times, seed, scale):
    known, span = fit_times(times), int(times[-1] - times[0])
    again = draw_times(known, len(times), span, np.random.default_rng(seed))
    assert again[0] == 0 and again[-1] == span and (np.diff(again) >= 0).all()
    windows = len(known.rate)
    if span > 10**6:  # windows so long that a rounded microsecond moves no request far
        cut = np.searchsorted(again, np.arange(1, windows) * (span / windows))
        moved = np.abs(cut - np.cumsum(known.rate)[:-1])
        assert (moved <= known.rate[0] + 1).all()
    n = max(2, round(len(times) * scale))
    many = draw_times(known, n, 2 * span, np.random.default_rng(seed))
    assert len(many) == n and many[0] == 0 and many[-1] == 2 * span and (np.diff(many) >= 0).all()


def test_a_burst_stays_a_burst_beside_a_steady_stream():
    steady, burst = np.full(15_000, 1000), np.tile(np.r_[np.full(49, 10), 49_510], 300)
    times = np.cumsum(np.r_[steady, burst])
    gaps = np.diff(draw_times(fit_times(times), len(times), int(times[-1] - times[0]), np.random.default_rng(2)))
    assert abs((np.diff(times) > 20_000).sum() - (gaps > 20_000).sum()) < 40
    assert (gaps[:14_000] > 3000).sum() < 5 and np.median(gaps[16_000:]) < 30


def test_gaps_are_closer_and_closer_to_the_largest():
    assert TIME_STEPS[0] == 0 and TIME_STEPS[-1] == 1 and (np.diff(TIME_STEPS) > 0).all()


def test_reads_keep_their_sizes_apart_from_writes():
    trace = make_trace(4000, 4)
    size = np.where(trace.op == OP_READ, 4096, 65536)
    drawn, _ = both(replace(trace, size=size))
    assert set(drawn.size[drawn.op == OP_READ]) == {4096} and set(drawn.size[drawn.op != OP_READ]) == {65536}
