"""Which policy and size: chosen by the first half, judged by the second, and as sure as what is counted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.contest.blocks import BLOCKS
from cachezoo.contest.lead import ratio_of
from cachezoo.questions.objects.answer import answer, run_it, trust, typed
from cachezoo.questions.objects.bench import ObjectBench, Rules
from cachezoo.questions.objects.recommendation import Aim, recommend
from cachezoo.sizes import Size
from cachezoo.traces.objects import OP_DELETE, ObjectTrace
from cachezoo.traces.table import OP_READ, TraceMeta

POLICIES = ["lru", "inlfu"]


def trace_of(key, size=1000, op=OP_READ):
    key = np.asarray(key, np.int64)
    return ObjectTrace(
        time_us=np.arange(len(key)) * 1000, op=np.broadcast_to(np.asarray(op, np.uint8), key.shape).copy(), key=key,
        size=np.broadcast_to(np.asarray(size, np.int64), key.shape).copy(), meta=TraceMeta("t", "x", "x", ""),
    )  # fmt: skip


def stable(n, draw):
    """Few objects that return for ever, among ones that never do: frequency keeps the former."""
    return np.where(draw.random(n) < 0.6, draw.integers(0, 90, n), 1_000 + np.arange(n))


def moving(n, draw):
    """Objects that are asked for often, and then never again: frequency keeps them in vain."""
    return 100_000 + np.arange(n) // 400 * 100 + draw.integers(0, 100, n)


def halves(first, second, seed=1, n=4000):
    draw = np.random.default_rng(seed)
    return trace_of(np.concatenate([first(n, draw), second(n, draw)]))


def asked(trace, aim=None, rules=None):
    return recommend(trace, rules or Rules(), aim or Aim(budget=Size.parse("100000B")), POLICIES)


def row_of(found, capacity=100_000):
    return next(row for row in found.rows if row.capacity == capacity)


@pytest.mark.parametrize(
    ("first", "second", "chosen", "kept"),
    [
        (stable, stable, "inlfu", "inlfu"), (stable, moving, "inlfu", "lru"), (moving, stable, "lru", "lru"),
        (moving, moving, "lru", "lru"),
    ],
)  # fmt: skip
def test_the_first_half_chooses_and_lru_replaces_what_gains_nothing_on_the_second(first, second, chosen, kept):
    row = row_of(asked(halves(first, second)))
    assert (row.chosen, row.ran.policy) == (chosen, kept)
    assert (row.lead.value > 0.05) == (kept == "inlfu")
    assert row.hits == pytest.approx(row.ran.found.hit_ratio)


def test_a_choice_that_does_worse_on_the_second_half_is_a_doubt():
    assert "inlfu did better on the first half, and by " in trust(asked(halves(stable, moving)))
    assert "did better on the first half" not in trust(asked(halves(stable, stable)))


requests = st.lists(st.tuples(st.integers(0, 5), st.sampled_from([OP_READ, OP_READ, OP_DELETE])), min_size=1)


@given(requests, st.integers(0, 20))
def test_returns_are_those_of_a_naive_count(rows, since):
    """An object that is first deleted was not asked for before."""
    keys, ops = [key for key, _ in rows], [op for _, op in rows]
    if OP_READ not in ops:
        return
    seen, returns = set(), 0
    for at, (key, op) in enumerate(rows):
        if op != OP_DELETE:
            returns += at >= since and key in seen
            seen.add(key)
    assert ObjectBench(trace_of(keys, op=ops)).returns(since) == returns


def test_few_returns_are_a_doubt_however_many_deletes_there_are():
    n = 6000
    key = np.repeat(np.arange(n // 2), 2)  # each object is asked for once, and then deleted
    key[-900:] = key[-901]
    found = asked(trace_of(key, op=np.tile([OP_READ, OP_DELETE], n // 2)))
    assert trust(found).startswith("Low: only 450 of the requests that are counted are of objects seen before")


def test_the_interval_is_of_what_counts():
    draw = np.random.default_rng(5)
    key = draw.zipf(1.3, 8000) % 400
    trace = trace_of(key, size=100 + key * 7919 % 90_001)
    by = {kind: row_of(asked(trace, Aim(kind, Size.parse("100000B")))) for kind in ("objects", "bytes")}
    for kind, row in by.items():
        worth = trace.size if kind == "bytes" else np.ones(len(trace))
        halved, hit = worth[4000:].astype(float), row.ran.hit[4000:]
        sums = [own.reshape(BLOCKS, -1).sum(axis=1) for own in (halved * hit, halved)]
        assert row.counted.interval == pytest.approx(ratio_of(*sums).interval)
        assert row.hits == pytest.approx((halved * hit).sum() / halved.sum())
    wide = [np.diff(by[kind].counted.interval)[0] for kind in ("bytes", "objects")]
    assert wide[0] != pytest.approx(wide[1], rel=0.1)
    assert by["bytes"].hits == pytest.approx(by["bytes"].ran.found.byte_hit_ratio)


def test_a_second_half_of_deletes_alone_has_no_interval():
    key = np.arange(4000) % 50
    found = asked(trace_of(key, op=np.where(np.arange(4000) < 2000, OP_READ, OP_DELETE)), Aim())
    assert found.row.counted.interval is None and found.row.lead.interval is None


def test_a_cache_of_all_objects_evicts_where_they_grow():
    key = np.arange(6000) % 60
    steady = asked(trace_of(key), Aim())
    assert steady.whole and "(all objects), any policy" in answer(steady)
    for own in (key, np.random.default_rng(2).zipf(1.5, 6000) % 60):
        size = np.full(6000, 3000)
        size[np.unique(own, return_index=True)[1]] = 1000
        grown = asked(trace_of(own, size), Aim(hit=1.0))
        assert grown.row.capacity == grown.bench.whole and not grown.whole and "all objects" not in answer(grown)


def test_a_target_is_reached_by_the_low_end_or_on_average():
    trace = halves(stable, stable)
    row = row_of(asked(trace))
    low, _ = row.counted.interval
    surely = asked(trace, Aim(hit=low - 0.01))
    assert surely.why == "reached" and surely.row.sure >= low - 0.01 and "on average" not in answer(surely)
    best = max(surely.rows, key=lambda own: own.hits)
    mean = asked(trace, Aim(hit=best.hits))
    assert mean.why == "on average" and "That is on average: its interval begins below" in answer(mean)
    few = asked(trace_of(np.arange(300) % 20), Aim(hit=1.0))
    assert few.row.counted.interval is None and "on average: too few requests are counted" in answer(few)
    assert asked(trace, Aim(hit=0.99)).why == "unreachable"


@given(st.integers(1, 10**13), st.booleans())
def test_a_typed_size_is_that_capacity(capacity, sizes):
    bench = ObjectBench(trace_of(np.arange(997), size=10**10), Rules(sizes=sizes))
    capacity = 1 + capacity % bench.whole
    assert bench.size(Size.parse(typed(bench, capacity))) == capacity


@pytest.mark.parametrize("rules", [Rules(), Rules(sizes=False)])
def test_the_command_has_the_size_exactly(rules):
    found = asked(halves(stable, stable), Aim(), rules)
    words = run_it(found, "t.parquet", "").split()
    assert found.bench.size(Size.parse(words[words.index("--size") + 1])) == found.row.capacity
