import json
from dataclasses import replace

import numpy as np
import pytest

from cachezoo.contest.choice import Goal
from cachezoo.contest.counting import Count
from cachezoo.contest.gap import gap
from cachezoo.contest.sampled import GROUPS, half_widths
from cachezoo.devices.built_in import BUILT_IN
from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.registry import OPTIMUM, policy
from cachezoo.policies.simulate import Simulator
from cachezoo.questions.page import answer
from cachezoo.questions.page.bench import Bench
from cachezoo.questions.page.candidates import Halves
from cachezoo.questions.page.compare import with_gaps
from cachezoo.questions.page.recommendation import Options, recommend
from cachezoo.questions.page.report import page_of, values_of
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.sampling import Plan, Sampler
from tests.request_data import trace_of

PAGE = 4096
POLICIES = ("lru", "s3fifo", "arc", OPTIMUM)


def generated(m=150_000, seed=8):
    """Popular pages anywhere, scans, and a working set that moves; a quarter of the requests write."""
    rng, at = np.random.default_rng(seed), np.arange(m)
    kind = rng.random(m)
    popular, local = rng.permutation(20_000)[rng.zipf(1.1, m) % 20_000], 40_000 + at // 20 + rng.integers(0, 400, m)
    page = np.where(kind < 0.5, popular, np.where(kind < 0.7, 20_000 + at // 5 % 9_000, local))
    one = trace_of([{"time_us": 0, "op": 0, "offset": 0, "size": PAGE, "volume": "v"}])
    own = replace(one.take(np.zeros(m, np.int64)), offset=page * PAGE, time_us=at * 100_000)
    return replace(own, op=(rng.random(m) < 0.25).astype(np.uint8))


def sampled(trace, rate=0.2, seed=0, block_bytes=PAGE, n_pages=None):
    sampler = Sampler(Plan(rate, seed=seed, block_bytes=block_bytes), n_pages)
    sampler.add(trace)
    return sampler.found(trace.meta)


def bench_of(found, count="half", device=None):
    return Bench.of(Simulator(found.trace, found.pages), device, Count(count), found)


TRACE = generated()
WHOLE = Bench.of(Simulator(TRACE, expand_pages(TRACE)))


@pytest.mark.parametrize("block_bytes", [PAGE, 16_384])
def test_the_whole_traces_ratios_lie_within_the_bars_about_as_often_as_they_say(block_bytes):
    sizes = [1_500, 6_000, 20_000]
    truth = {(own, size): WHOLE.run(own, size) for own in POLICIES for size in sizes}
    within, gaps = [], []
    for seed in range(8):
        bench = bench_of(sampled(TRACE, 0.2, seed, block_bytes))
        runs = {key: bench.run(*key) for key in truth}
        gaps += [of_gaps(*([ran[own, size] for own in POLICIES] for ran in (truth, runs))) for size in sizes]
        for key, exact in truth.items():
            found, size = runs[key], key[1]
            assert (found.capacity, found.rate) == (size, bench.rate) and found.warmup == exact.warmup
            assert found.page_accesses == exact.page_accesses and 0 < found.error_90 == found.errors["hit_ratio"]
            assert abs(found.hit_ratio - exact.hit_ratio) < 0.06
            assert found.ssd_writes == pytest.approx(exact.ssd_writes, rel=0.25)
            within += [
                abs(getattr(found, name) - getattr(exact, name)) <= found.errors[name]
                for name in ("hit_ratio", "read_hit_ratio", "write_hit_ratio", "transfers", "ssd_writes")
            ]
    assert 0.8 < np.mean(within) < 0.995
    assert 0.8 < np.mean(np.concatenate(gaps)) < 0.995


def of_gaps(exact, found):
    """Whether the whole trace's gaps from the best classic of a sample lie within the sample's bars."""
    shown = with_gaps([ran.values() for ran in found], [ran.groups for ran in found])
    true = {ran.policy: ran.hit_ratio for ran in exact}
    held = []
    for row in shown["rows"]:
        closed, points = gap(*(true[own] for own in (row["policy"], shown["best_classic"], OPTIMUM)))
        off = [abs(row["gap_points"] - points) - row["gap_points_error_90"]]
        if None not in (closed, row["gap_closed"]):
            off.append(abs(row["gap_closed"] - closed) - row["gap_closed_error_90"])
        held += [one <= 0 for one in off if row["policy"] not in (shown["best_classic"], OPTIMUM)]
        assert row["policy"] != shown["best_classic"] or row["gap_points_error_90"] == 0
    return held


def test_misses_are_scaled_up_and_hits_are_what_is_left():
    found = sampled(TRACE, 0.3, 2)
    bench, size = bench_of(found, "25%"), 4_000
    ran, first = bench.run("arc", size), len(TRACE) // 4
    outcome = policy("arc").hits(found.pages.page_ids, found.pages.n_pages, round(size * bench.rate))
    late = found.rows >= first
    misses = int((outcome[late] != HIT).sum())
    assert ran.hit_ratio == pytest.approx(1 - misses / bench.rate / (len(TRACE) - first))
    assert ran.blocks.mean() == pytest.approx(ran.hit_ratio, abs=1e-3)
    each = np.array([ran.groups[k] for k in range(GROUPS)])
    assert ran.error_90 == float(half_widths(np.array(ran.mean), each))
    parts = sum(len(group.pages.page_ids) for group in bench.groups)
    assert parts == len(found.pages.page_ids) and not bench.groups[0].groups


def test_reads_of_the_whole_trace_are_known_from_anywhere_on():
    found, read = sampled(TRACE, 0.1), TRACE.op == 0
    for first in (0, 7, 70_000, len(TRACE) - 5, len(TRACE)):
        assert found.reads_from(first) == pytest.approx(int(read[first:].sum()), abs=200)
    assert found.reads == found.reads_from(0) == int(read.sum())


def test_a_sample_of_everything_is_the_trace():
    ran, exact = bench_of(sampled(TRACE, 1.0, n_pages=WHOLE.n_pages)).run("s3fifo", 3_000), WHOLE.run("s3fifo", 3_000)
    assert (ran.hits, ran.ssd_writes, ran.disk_writes) == (exact.hits, exact.ssd_writes, exact.disk_writes)
    assert ran.hit_ratio == pytest.approx(exact.hit_ratio) and np.allclose(ran.blocks, exact.blocks)


@pytest.mark.parametrize("count", ["half", "auto", "all", "10%", "5000", "3000s"])
def test_a_sample_counts_from_where_the_trace_does(count):
    whole = Bench.of(Simulator(TRACE, expand_pages(TRACE)), None, Count(count))
    part = bench_of(sampled(TRACE, 0.3), count)
    for size in (500, 5_000):
        assert part.case(size).first == pytest.approx(whole.case(size).first, abs=0.02 * len(TRACE))


def test_too_small_a_sample_has_no_error():
    with pytest.raises(ConfigError, match="too small for an error; use a higher one, or exact"):
        bench_of(sampled(TRACE, 0.0001)).run("lru", 100)


def test_a_recommendation_from_a_sample_is_that_of_the_trace_with_its_error():
    own = Options(ask_models=False)
    exact = recommend("t.parquet", TRACE, BUILT_IN, own)
    found = recommend("t.parquet", sampled(TRACE, 0.3, 1), BUILT_IN, own)
    sizes = {row.capacity: row for row in exact.picked.rows}
    shared = [(row, sizes[row.capacity]) for row in found.picked.rows if row.capacity in sizes]
    assert len(shared) > 3 and found.bench.accesses == exact.bench.accesses
    assert found.bench.n_pages == pytest.approx(exact.bench.n_pages, rel=0.03)
    for row, other in shared:
        assert row.lru == pytest.approx(other.lru, abs=2 * row.lru_error + 0.005)
        assert row.ssd_per_access == pytest.approx(other.ssd_per_access, rel=0.1)
    assert found.best.mean >= found.row.ran.hit_ratio and found.reads.error_90 > 0
    read = next(line for line in answer.lines(found) if line.label == "Read as").texts[0]
    assert f"{len(TRACE):,} requests" in read and "% of the pages, hit ratios to ±" in read
    values = json.loads(json.dumps(values_of(found)))
    assert values["trace_sampled"] == found.bench.rate and values["error_90"] == found.error_90 > 0
    assert {"hit_ratio_error_90", "lru_hit_ratio_error_90"} <= set(values["sizes"][0])
    assert "trace_sampled" not in values_of(exact) and "hit_ratio_error_90" not in values_of(exact)["sizes"][0]
    assert "estimated from" in page_of(found)


def test_intervals_heed_the_sample():
    halves = Halves.of_trace(sampled(TRACE, 0.1, 3), BUILT_IN)
    ran, lru = halves.run("arc", 3_000), halves.lru(3_000)
    over_time = replace(ran, groups=None)
    assert ran.interval[1] - ran.interval[0] > over_time.interval[1] - over_time.interval[0]
    lead, alone = ran.lead(lru, Goal.GAIN), over_time.lead(lru, Goal.GAIN)
    assert lead.variance > alone.variance and lead.value == alone.value
    assert lead.by_block.tolist() == alone.by_block.tolist()


def test_a_group_in_which_nothing_counts_estimates_no_misses():
    rng = np.random.default_rng(4)
    page = np.concatenate([rng.integers(0, 40_000, 2_500), rng.integers(7, 10, 3_500)])
    one = trace_of([{"time_us": 0, "op": 0, "offset": 0, "size": PAGE, "volume": "v"}])
    trace = replace(one.take(np.zeros(len(page), np.int64)), offset=page * PAGE, time_us=np.arange(len(page)))
    bench = bench_of(sampled(trace, 0.3))
    assert any(group.pages.request_start[-1] == group.place(3_000) for group in bench.groups)
    assert bench.run("lru", 4_000).hit_ratio > 0.9


def test_a_sample_of_few_blocks_keeps_them_all():
    sampler = Sampler(Plan(1.0, 400, least=256))
    one = trace_of([{"time_us": 0, "op": 0, "offset": 0, "size": PAGE, "volume": "v"}])
    page = np.random.default_rng(2).integers(0, 160, 6_000)
    sampler.add(replace(one.take(np.zeros(len(page), np.int64)), offset=page * PAGE, time_us=np.arange(len(page))))
    found = sampler.found(one.meta)
    assert (found.rate, len(found.trace), found.pages.n_pages) == (1.0, 6_000, 160)
