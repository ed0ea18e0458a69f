from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError, TraceError
from cachezoo.traces import sampling
from cachezoo.traces.clock import has_clock
from cachezoo.traces.neighbours import BEFORE
from cachezoo.traces.objects import ObjectTrace
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.read import TraceFiles, read_either, read_sampled
from cachezoo.traces.sampling import GOES_ON, Plan, SampledTrace, Sampler, Samplers, Tally, sample
from cachezoo.traces.store import write_trace
from cachezoo.traces.table import OP_WRITE
from tests.oracles.transforms import naive_chosen, naive_pages, naive_sample
from tests.request_data import requests_of, trace_of, traces

PAGE = 4096
PLANS = st.builds(
    Plan, rate=st.sampled_from([0.1, 0.4, 1.0]), most=st.sampled_from([None, 5, 30]), seed=st.integers(0, 99),
    block_bytes=st.sampled_from([4096, 8192, 65536]),
)  # fmt: skip


def in_pieces(trace, plan, size):
    sampler = Sampler(plan)
    for low in range(0, len(trace), size):
        sampler.add(trace.take(np.arange(low, min(low + size, len(trace)))))
    return sampler.found(trace.meta)


def naive_rate(requests, plan):
    """The first of the rate and its halves at which no more is kept than wanted."""
    rate = plan.rate
    while True:
        kept = naive_sample(requests, rate, plan.seed, plan.block_bytes)
        if plan.most is None or sum(len(naive_pages([one])) * one.get("count", 1) for one in kept) <= plan.most:
            return rate, kept
        rate /= 2


@given(trace=traces(), plan=PLANS, size=st.sampled_from([1, 4, 99]))
def test_in_pieces_it_is_the_naive_sample_with_what_came_before(trace, plan, size):
    requests = requests_of(trace)
    rate, want = naive_rate(requests, plan)
    if not want:
        with pytest.raises(TraceError, match="none of its blocks is chosen: raise rate"):
            in_pieces(trace, plan, size)
        return
    found = in_pieces(trace, plan, size)
    assert (found.rate, requests_of(found.trace)) == (rate, want)
    assert set(found.trace.volume.names) == {one["volume"] for one in want}
    each = [len(naive_pages([one])) * one.get("count", 1) for one in requests]
    assert (found.requests, found.accesses) == (len(requests), sum(each))
    if "count" not in requests[0]:
        kept = naive_sample(requests, rate, plan.seed, plan.block_bytes)
        places = [
            place
            for place, (volume, page) in enumerate(naive_pages(requests))
            if naive_chosen(volume, page * PAGE // plan.block_bytes, plan.seed, rate)
        ]
        assert found.rows.tolist() == places and len(kept) == len(found.before)
    times = [one["time_us"] for one in requests]
    assert found.ends_us == (min(times), max(times)) and found.ticks == has_clock(trace)
    ends = [0, *(one["offset"] + one["size"] for one in requests)]
    assert found.after.tolist() == [
        end if part["offset"] == one["offset"] else GOES_ON
        for end, one in zip(ends, requests, strict=False)
        for part in naive_sample([one], rate, plan.seed, plan.block_bytes)
    ]


@given(trace=traces(), plan=PLANS)
def test_groups_share_no_block_and_are_the_sample_together(trace, plan):
    trace = replace(trace, count=None)
    try:
        found = in_pieces(trace, plan, 7)
    except TraceError:
        return
    try:
        groups = found.groups(8)
    except ConfigError:  # a group has no block
        return
    touched = [naive_pages(requests_of(own.trace)) for own in groups]
    assert sorted(page for own in touched for page in own) == sorted(naive_pages(requests_of(found.trace)))
    blocks = [{(volume, page * PAGE // plan.block_bytes) for volume, page in own} for own in touched]
    assert sum(map(len, blocks)) == len(set().union(*blocks))
    assert sorted(row for own in groups for row in own.rows.tolist()) == found.rows.tolist()


ROWS = [
    {"time_us": 50 + 10 * k, "op": k % 2, "offset": 4096 * (k * k % 97), "size": 9000, "volume": "ab"[k % 3 == 0]}
    for k in range(300)
]


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_file_is_sampled_as_its_trace_is(tmp_path, suffix):
    whole, path = trace_of(ROWS), tmp_path / f"t.{suffix}"
    if suffix == "parquet":
        write_trace(whole, path, expand_pages(whole))
    else:  # late rows too
        order = np.argsort(whole.time_us + 25 * (np.arange(len(whole)) % 2), kind="stable")
        rows = [f"{ROWS[k]['time_us']},{ROWS[k]['offset']},{ROWS[k]['size']},{'rw'[ROWS[k]['op']]}" for k in order]
        path.write_text("\n".join(["ts,lba,len,rw", *rows]) + "\n")
    options = {} if suffix == "parquet" else {"time": "ts:us", "offset": "lba:1", "size": "len:1", "op": "rw"}
    files = TraceFiles([path], "auto" if not options else "columns", options=options)
    read = read_either(files, quiet=True)
    found = read_sampled(files, Plan(0.3, seed=4, block_bytes=8192), quiet=True)
    assert isinstance(found, SampledTrace)
    want = sample(read, 0.3, 4, 8192)
    assert requests_of(found.trace) == requests_of(want) and found.accesses == len(expand_pages(read).page_ids)
    assert found.ends_us == (int(read.time_us[0]), int(read.time_us[-1]))
    n_pages = expand_pages(read).n_pages
    assert found.n_pages == (n_pages if suffix == "parquet" else pytest.approx(n_pages, rel=0.005))
    accesses = len(expand_pages(read).page_ids)
    again = read_sampled(files, Plan(), accesses, quiet=True)
    assert not isinstance(again, SampledTrace) and requests_of(again) == requests_of(read)
    assert isinstance(read_sampled(files, Plan(), accesses - 1, quiet=True), SampledTrace)


@pytest.mark.parametrize("numbered", [False, True])
def test_rows_that_stand_for_several_requests_are_replayed(tmp_path, numbered):
    whole = replace(trace_of(ROWS), count=np.arange(1, 301, dtype=np.int32) % 3 + 1)
    if numbered:  # no clock, and the numbers of the rows that a sample keeps do not look like it
        whole = replace(whole, time_us=np.arange(300))
    write_trace(whole, tmp_path / "t.parquet")
    files = TraceFiles([tmp_path / "t.parquet"])
    all_of_it, found = read_either(files, replay=True), read_sampled(files, Plan(0.4, seed=1), replay=True)
    want = sample(all_of_it, 0.4, 1)
    assert sorted(map(str, requests_of(found.trace))) == sorted(map(str, requests_of(want)))
    assert found.accesses == len(expand_pages(all_of_it).page_ids) and (np.diff(found.rows) >= 0).all()


def test_objects_are_read_whole(tmp_path):
    path = tmp_path / "kv.csv"
    path.write_text("ts,key,len\n" + "".join(f"{k},{k % 7},{100 + k % 7}\n" for k in range(50)))
    files = TraceFiles([path], "columns", options={"time": "ts:us", "key": "key", "size": "len:1", "op": "read"})
    assert isinstance(read_sampled(files, Plan(0.1), quiet=True), ObjectTrace)


def test_of_many_blocks_the_tally_counts_some_and_estimates_the_rest(monkeypatch):
    rng, n = np.random.default_rng(2), 60_000
    trace = trace_of(ROWS[:1]).take(np.zeros(n, np.int64))
    trace = replace(trace, offset=65536 * np.sort((20_000 * rng.random(n)).astype(np.int64)), size=np.full(n, 512))
    plan = Plan(0.2)
    exact, some = Tally(plan), Tally(plan)
    exact.add(trace)
    monkeypatch.setattr(sampling, "MOST_TALLIED", 5_000)
    some.add(trace)
    truth, found = exact.said(0.2), some.said(0.2)
    assert found.pop("blocks_counted") == 0.25 and found["page_accesses"] == truth["page_accesses"] == n
    for name in ("blocks", "blocks_chosen", "expected_error"):
        assert found[name] == pytest.approx(truth[name], rel=0.1)


def test_plans_that_cannot_be_are_refused():
    for plan, message in (({"rate": 0.0}, "rate is 0.0"), ({"most": 0}, "0 accesses"), ({"block_bytes": 1}, "blocks")):
        with pytest.raises(ConfigError, match=message):
            Plan(**plan)


@given(several=st.lists(traces(), min_size=1, max_size=3), most=st.sampled_from([None, 5, 30]), seed=st.integers(0, 9))
def test_samplers_together_keep_so_many_at_one_rate(several, most, seed):
    samplers = Samplers(Plan(1.0, most, seed))
    for key, trace in enumerate(several):
        for low in range(0, len(trace), 3):
            samplers.add(key, trace.take(np.arange(low, min(low + 3, len(trace)))))
    assert most is None or sum(one.size for one in samplers.found.values()) <= most
    rates = [1.0]
    while True:  # the first of the rate and its halves at which all together keep no more than wanted
        parts = [in_pieces_or_none(trace, Plan(rates[-1], None, seed)) for trace in several]
        if most is None or counted(parts) <= most:
            break
        rates.append(rates[-1] / 2)
    assert samplers.rate == rates[-1]
    for key, (trace, part) in enumerate(zip(several, parts, strict=True)):
        if part is None:
            with pytest.raises(TraceError, match="none of its blocks is chosen"):
                samplers.found[key].found(trace.meta)
        else:
            own = samplers.found[key].found(trace.meta)
            assert requests_of(own.trace) == requests_of(part.trace) and own.before.tolist() == part.before.tolist()


def in_pieces_or_none(trace, plan):
    try:
        return in_pieces(trace, plan, 99)
    except TraceError:
        return None


def counted(parts):
    """Page accesses of samples; a row that stands for several counts as these."""
    return sum(
        len(naive_pages([one])) * one.get("count", 1)
        for part in parts if part is not None for one in requests_of(part.trace)
    )  # fmt: skip


@given(trace=traces(), plan=PLANS, size=st.sampled_from([1, 4, 99]))
def test_the_requests_around_those_that_are_kept_are_the_whole_traces(trace, plan, size):
    try:
        found = in_pieces(trace, replace(plan, near=True), size)
        parts = [found, *found.groups(2)]
    except (TraceError, ConfigError):
        return  # nothing is kept, or a group would be empty
    each = [len(naive_pages([one])) * one.get("count", 1) for one in requests_of(trace)]
    starts = np.cumsum(each) - each
    for part in parts:
        rows = np.searchsorted(starts, part.before, "right") - 1
        around = [[max(0, row - BEFORE + place) for place in range(BEFORE + 1)] for row in rows.tolist()]
        assert part.near is not None
        assert part.near.offset.tolist() == trace.offset[around].tolist()
        assert part.near.size.tolist() == trace.size[around].tolist()
        assert part.near.write.tolist() == (trace.op == OP_WRITE)[around].tolist()
        assert part.near.volume.tolist() == trace.volume.codes[around].tolist()
