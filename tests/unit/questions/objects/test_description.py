"""The figures of a trace of objects are those of a naive count, whatever its objects are called."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.characteristics.values import json_values
from cachezoo.errors import TraceError
from cachezoo.questions.objects.description import characterise_objects
from tests.objects_data import OPS, drawn, trace_of
from tests.oracles import object_report as naive
from tests.oracles.object_report import Request

request = st.builds(
    Request, st.just(0), st.integers(0, 5), st.integers(0, 40), st.sampled_from(OPS), st.integers(0, 2),
    st.integers(1, 2),
)  # fmt: skip


@st.composite
def requests(draw):
    rows = draw(st.lists(request, min_size=1, max_size=30))
    steps = draw(st.lists(st.integers(0, 900_000), min_size=len(rows), max_size=len(rows)))
    times = np.cumsum(steps).tolist()
    if all(row.op == "delete" for row in rows):
        rows[0] = rows[0]._replace(op="get")
    return [row._replace(time_us=time) for row, time in zip(rows, times, strict=True)]


def check_spread(found, values):
    if not values:
        assert found is None
        return
    assert found.count == len(values)
    assert (found.mean, found.largest) == (pytest.approx(sum(values) / len(values)), max(values))
    assert found.at_most == {f"{mark}%": naive.at_most(values, mark) for mark in (10, 25, 50, 75, 90, 99)}


def check(rows):
    found = characterise_objects(trace_of(rows))
    own, wanted, whole = found.summary, naive.asked(rows), naive.accesses(rows)
    kinds = Counter(row.op for row in whole)
    assert (own["reads"], own["writes"], own["deletes"]) == (kinds["get"], kinds["set"], kinds["delete"])
    assert (own["requests"], own["objects"]) == (len(whole), len({row.key for row in rows}))
    objects, of_requests = naive.sizes(rows)
    if not objects:
        assert found.sizes is None and found.curve.unit == "objects" and found.curve.byte_hit_ratio is None
    else:
        sizes = found.sizes
        check_spread(sizes.object_bytes, objects)
        check_spread(sizes.request_bytes, of_requests)
        for start, of_objects, asked in zip(
            sizes.histogram_from_bytes, sizes.histogram_objects, sizes.histogram_requests, strict=True
        ):
            assert of_objects == sum(start <= size < 2 * start for size in objects)
            assert asked == sum(start <= size < 2 * start for size in of_requests)
        assert sizes.histogram_objects.sum() == len(objects) and sizes.whole_bytes == sum(objects)
        largest = sorted(objects)[-max(1, round(0.1 * len(objects))) :]
        assert sizes.largest_tenth_share == pytest.approx(sum(largest) / sum(objects))
        assert sizes.unknown_objects == len({row.key for row in wanted}) - len(objects)
        for capacity, ratio, of_bytes in zip(
            found.curve.capacities.tolist(), found.curve.hit_ratio, found.curve.byte_hit_ratio, strict=True
        ):
            assert (ratio, of_bytes) == pytest.approx(naive.lru(rows, capacity))
    each = naive.popularity(rows)
    assert found.popularity.once_share == pytest.approx(each.count(1) / len(each)) == own["one_hit_share"]
    for name, part in {"1.0%": 0.01, "10.0%": 0.1}.items():
        top = sum(each[: max(1, round(part * len(each)))])
        assert found.popularity.top_share[name] == pytest.approx(top / len(wanted))
    pairs, held = naive.between(rows), naive.endless(rows)
    assert found.reuse.again_share == pytest.approx(len(pairs) / len(wanted))
    assert found.reuse.held_share == pytest.approx(held["hits"] / len(wanted))
    check_spread(found.reuse.requests_between, [pair[0] for pair in pairs])
    if of_requests:
        check_spread(found.reuse.bytes_between, [pair[1] for pair in pairs])
    if found.arrivals is not None:
        check_spread(found.reuse.time_between_s, [pair[2] for pair in pairs])
    lives = [row.ttl_s for row in wanted if row.ttl_s]
    if not lives and not held["deletes"]:
        assert found.lifetimes is None
        return
    got = found.lifetimes
    assert (got.deletes, got.deleted, got.expired) == (held["deletes"], held["deleted"], held["expired"])
    assert got.with_ttl == len(lives)
    check_spread(got.ttl_s, lives)


@given(requests())
@settings(max_examples=60, deadline=None)
def test_every_figure_is_that_of_a_naive_count(rows):
    check(rows)


def test_every_figure_of_a_longer_trace_is_that_of_a_naive_count():
    check(drawn())


def test_the_load_is_of_reads_and_writes():
    rows, found = drawn(), characterise_objects(trace_of(drawn()))
    load = found.arrivals.load
    wanted = naive.asked(rows)
    first, last = wanted[0].time_us, wanted[-1].time_us
    width = (last - first) / len(load.reads_per_s)
    windows = Counter(
        (row.op, min(int((row.time_us - first) / width), len(load.reads_per_s) - 1)) for row in wanted
    )  # fmt: skip
    for op, rates in (("get", load.reads_per_s), ("set", load.writes_per_s)):
        assert rates * load.window_s == pytest.approx([windows[op, k] for k in range(len(rates))])
    assert found.summary["span_s"] == (rows[-1].time_us - rows[0].time_us) / 1e6


@pytest.mark.parametrize("seed", [1, 2])
def test_new_keys_change_no_figure(seed):
    rows = drawn(200, 20, seed)
    place = np.random.default_rng(seed).permutation(2**31 - 1 - np.arange(20) * 77).tolist()
    old = json_values(characterise_objects(trace_of(rows)))
    assert json_values(characterise_objects(trace_of([row._replace(key=place[row.key]) for row in rows]))) == old
    names = tuple(f"user/{97 - key}" for key in range(20))
    assert json_values(characterise_objects(trace_of(rows, names))) == old


def test_without_sizes_a_cache_holds_so_many_objects():
    rows = [Request(k * 1000, k % 3, 0, "get") for k in range(60)]
    found = characterise_objects(trace_of(rows))
    assert found.sizes is None and found.reuse.bytes_between is None
    assert (found.curve.unit, found.curve.whole) == ("objects", 3)
    assert found.curve.hit_ratio[-1] == 1


def test_without_a_clock_nothing_is_said_of_time():
    numbered = characterise_objects(trace_of([Request(k, k % 3, 9, "get") for k in range(60)]))
    assert numbered.arrivals is None and numbered.reuse.time_between_s is None
    # Deletes leave gaps in the numbers, and rows that stand for several repeat them; they are no clock for that.
    rows = [Request(k, k % 3, 9, "delete" if k % 7 == 0 else "get", 0, 1 + k % 2) for k in range(60)]
    assert characterise_objects(trace_of(rows)).arrivals is None


def test_deletes_alone_ask_for_nothing():
    with pytest.raises(TraceError, match="deletes alone"):
        characterise_objects(trace_of([Request(0, 1, 5, "delete"), Request(9, 1, 5, "delete")]))
