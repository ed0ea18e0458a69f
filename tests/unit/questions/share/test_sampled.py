"""A cache for several applications, answered from samples of their traces."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtrit

from cachezoo.coded import Coded
from cachezoo.contest.choice import Goal
from cachezoo.contest.counting import Count
from cachezoo.contest.sampled import GROUPS, half_widths
from cachezoo.devices.built_in import BUILT_IN
from cachezoo.errors import ConfigError, TraceError
from cachezoo.questions.share.answer import answer, service, values
from cachezoo.questions.share.case import Case, compare, counted_from
from cachezoo.questions.share.mix import Application, Mix, Population, by_clock, mix_drawn, mixed
from cachezoo.questions.share.partition import Floor
from cachezoo.questions.share.partitioners import LEAST_WINDOW, fitted, parse, parse_several, shrunk
from cachezoo.traces import memory
from cachezoo.traces.mixing import interleave
from cachezoo.traces.read import OpenTrace, TraceFiles, read_together, silent
from cachezoo.traces.store import write_trace
from cachezoo.traces.table import PAGE_BYTES, TraceMeta
from tests.request_data import trace_of

BY = (
    "shared,shared(policy=lru|s3fifo),equal,proportional,learned(policy=lru|s3fifo),learned(policy=lru,talus=1),"
    "ucp(window=2000),climb,gvpa(q=2000),static-best,hindsight(window=4000),fixed(pages=2048/1024,policy=lru/s3fifo)"
)


def generated(name, m, seed, popular=9_000):
    """Popular pages anywhere, scans, and a working set that moves; requests of 1 to 4 pages."""
    rng, at = np.random.default_rng(seed), np.arange(m)
    kind = rng.random(m)
    page = np.where(
        kind < 0.6,
        rng.permutation(popular)[rng.zipf(1.1, m) % popular],
        np.where(kind < 0.8, popular + at % 5_000, 2 * popular + at // 20 + rng.integers(0, 400, m)),
    )
    one = trace_of([{"time_us": 0, "op": 0, "offset": 0, "size": PAGE_BYTES, "volume": name}])
    own = replace(one.take(np.zeros(m, np.int64)), offset=page * PAGE_BYTES, time_us=at * 90_000 * 40_000 // m)
    return replace(own, size=rng.integers(1, 5, m) * PAGE_BYTES, meta=TraceMeta(name, "web", "test", "0" * 64))


TRACES = generated("big", 40_000, 1), generated("small", 15_000, 2, 2_000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sampled")
    for trace in TRACES:
        write_trace(trace, path / f"{trace.meta.trace_id}.parquet")
    both = interleave(TRACES, "both")
    write_trace(both, path / "both.parquet")
    names = tuple(one.meta.trace_id for one in TRACES)
    write_trace(replace(both, source=None, volume=Coded(both.source.codes, names)), path / "volumes.parquet")
    return path


def read(folder, part, names=("big", "small"), column=None):
    opened = [OpenTrace(TraceFiles([folder / f"{name}.parquet"]), silent) for name in names]
    return read_together(opened, part, column)


def found(mix, by=BY, pages=4_096, **more):
    candidates = parse_several(by, 64)
    return compare(mix, candidates, pages, "half", BUILT_IN.hdd, **more)


@pytest.fixture(scope="module")
def exact(folder):
    return found(mixed(read(folder, "exact")))


def test_a_sample_of_everything_gives_the_same_answer(folder, exact, monkeypatch):
    assert values(found(mixed(read(folder, "auto")))) == values(exact)
    monkeypatch.setenv(memory.FROM, "1")
    drawn = read(folder, "auto")
    mix = mixed(drawn)
    assert mix.rate == 1 and not mix.groups
    assert values(found(mix)) == values(exact) and answer(exact).count("estimated") == 0
    of_memory = read_together([TRACES[0], OpenTrace(TraceFiles([folder / "small.parquet"]), silent)], "auto")
    assert values(found(mixed(of_memory))) == values(exact)


@pytest.mark.parametrize("order", ["clock", "lockstep"])
def test_the_whole_runs_figures_lie_within_the_errors_of_a_sample(folder, order):
    whole = found(mixed(read(folder, "exact"), order))
    part = found(mixed(read(folder, 0.25), order))
    assert part.case.sampled and part.case.mix.order == order == whole.case.mix.order
    assert part.case.counted == pytest.approx(whole.case.counted, rel=0.01)
    assert part.case.mix.references == whole.case.mix.references
    within = []
    for own, other in zip(part.rows, whole.rows, strict=True):
        if own.candidate.partitioner.id in ("gvpa", "ucp"):
            continue  # with longer windows than in the whole run, see `fitted`
        assert own.transfers == pytest.approx(other.transfers, abs=2 * own.error_90 + 0.01), str(own.candidate)
        assert own.interval[0] < own.transfers < own.interval[1]
        within += (np.abs(own.figures - other.figures) <= 2 * own.application_errors).ravel().tolist()
    assert np.mean(within) > 0.8  # one draw, in which all are off together


def test_misses_are_scaled_up_and_errors_are_those_of_the_groups(folder):
    mix = mixed(read(folder, 0.25))
    own = found(mix, "equal,shared").rows[0]
    size, first = mix.own(2_048), mix.place(mix.references // 2)
    misses = counted = 0
    for a, one in enumerate(mix.applications):
        seen, recent = 0, []
        at = mix.at[a]
        for k, page in enumerate(one.page_ids.tolist()):
            hit = page in recent[-size:]
            if hit:
                recent.remove(page)
            recent = [*recent, page][-size:]
            seen += not hit and at[k] >= first
        rate = one.n_pages / one.whole.n_pages
        misses += seen / rate
        counted += one.whole.references - int(one.whole.rows[at >= first][0])
    assert own.transfers == pytest.approx(misses / counted)
    assert own.error_90 == float(half_widths(np.array(own.mean), own.groups)) and len(own.groups) == GROUPS
    assert sum(len(group) for group in mix.groups) == len(mix)


def test_volumes_and_sources_are_sampled_as_traces_of_their_own(folder):
    apart = [read(folder, 0.2, ["volumes"], "volume"), read(folder, 0.2, ["both"], "source")]
    alone = read(folder, 0.2)
    for (one,) in apart:
        assert [name for name, _, _ in one.parts] == ["big", "small"]
        for (_, own, _), other in zip(one.parts, [trace.parts[0] for trace in alone], strict=True):
            assert (own.accesses, own.requests) == (other[1].accesses, other[1].requests)
            if one is apart[0][0]:  # a mixture has other names of volumes, and so other blocks
                assert own.before.tolist() == other[1].before.tolist()
                assert own.trace.offset.tolist() == other[1].trace.offset.tolist()
            assert own.n_pages == pytest.approx(other[1].n_pages, rel=0.01)
    named = mixed(read(folder, 0.2, ["volumes", "big"], "volume"), "auto", "volume")
    assert named.names == ("both/big", "both/small", "big/big")
    with pytest.raises(TraceError, match="no mixture of several traces; name more, or --apart volume"):
        read(folder, 0.2, ["volumes"], "source")


@given(
    rows=st.lists(st.sets(st.integers(0, 30), min_size=1), min_size=2, max_size=3), more=st.integers(0, 5),
    rule=st.sampled_from(["half", "all", "25%", "7"]),
)  # fmt: skip
def test_places_are_of_all_references(rows, more, rule):
    keys = [np.array(sorted(own), np.int64) for own in rows]
    mix = mix_of(keys, more)
    order = sorted((int(row), a) for a, own in enumerate(keys) for row in own)
    seen = [0] * len(keys)
    naive = []  # of each place: own references of all applications up to it, but itself
    for row, a in order:
        seen[a] = row + 1
        naive.append(sum(seen) - 1)
    assert mix.before(np.arange(len(mix) + 1)).tolist() == [*naive, mix.references]
    first = Count(rule).place(mix.references, 0)
    place = next((k for k, one in enumerate(naive) if one >= first), len(mix))
    assert counted_from(mix, rule).tolist() == [place] * mix.count


@pytest.mark.parametrize("rules", [("all", "all"), ("half", "half"), ("75%", "all"), ("300", "half", "25%")])
def test_blocks_are_of_as_many_references_that_count(rules):
    rng = np.random.default_rng(7)
    mix = mix_of([np.sort(rng.permutation(900)[:200]) for _ in rules], 7)
    count = ",".join(rules)
    case = Case.of(mix, 40, np.ones(mix.count), counted_from(mix, count))
    values = rng.integers(0, 5, len(mix)) * case.counts
    seen, before, naive = [0] * mix.count, [None] * mix.count, np.zeros(case.blocks)
    for place, a in enumerate(mix.app.tolist()):
        row = int(mix.applications[a].whole.rows[seen[a]])
        seen[a] += 1
        if place < case.start[a]:
            continue
        first = before[a][0] if before[a] else row
        before[a] = first, row
        at = sum(own[1] - own[0] + 1 for own in before if own) - 1  # of all that count, before this one
        edges = [k * case.counted / case.blocks for k in range(1, case.blocks + 1)]
        naive[sum(edge <= at for edge in edges)] += values[place] * case.weights[a] * case.blocks / case.counted
    assert case.by_block(values) == pytest.approx(naive)
    assert case.by_block(values).mean() == pytest.approx(case.mean(values))


def mix_of(keys, more=0):
    """A sample in lockstep of which these references are known."""
    applications = [
        Application(str(a), np.arange(len(own), dtype=np.int32), len(own),
                    whole=Population(own, int(own[-1]) + 1 + more, 40, len(own) / 40))
        for a, own in enumerate(keys)
    ]  # fmt: skip
    return Mix(tuple(applications), by_clock(keys), "lockstep", rate=0.5)


def test_what_is_advised_is_in_sizes_of_the_whole_cache_and_can_be_run(folder, exact):
    own = found(mixed(read(folder, 0.25)), "learned(policy=lru|s3fifo),equal", now=parse("equal", 64))
    row = own.rows[0]
    assert row.shared.splits.sum() == 4_096 and not (row.shared.splits % 64).any()
    text = next(line for line in service(own) if line.startswith("to try it")).split("'")[1]
    again = found(exact.case.mix, text, now=parse(text, 64)).rows[0]
    assert again.transfers == pytest.approx(row.transfers, abs=2 * row.error_90)
    assert answer(own).endswith(
        "All of it is estimated from a sample, 25.0\xa0% of the pages; ±: half a 90 % interval."
    )
    said = values(own)
    assert said["trace_sampled"] == 0.25 and said["rows"][0]["transfers_error_90"] == row.error_90 > 0
    assert {"hit_ratio", "transfers"} == set(said["rows"][0]["applications_error_90"][0])


def test_what_runs_with_other_values_is_said(folder):
    mix = mixed(read(folder, 0.02))
    own = found(mix, "equal,ucp(window=2000)", 8_192)
    assert own.fitted == ("fragments of 50 pages in place of 64, as in the sample",
                          "ucp(window=2000, fragment=64) runs as ucp(window=50000, fragment=50)")  # fmt: skip
    assert values(own)["remarks"][:2] == list(own.fitted)


def test_what_its_groups_are_too_small_for_runs_without_an_error(folder):
    mix = mixed(read(folder, 0.02))
    least = parse("gvpa(f=8)", 64)
    own = compare(mix, [least, *parse_several("equal,shared", 64)], 2_000, "half", BUILT_IN.hdd)
    row, other, now = own.rows
    assert row.error_90 is None and row.interval is None and row.hits.interval is None and other.error_90 > 0
    assert row.lead(now, Goal.COST).interval is now.lead(row, Goal.COST).interval is None
    assert own.fitted[-1] == (
        "no ± of gvpa(fragment=50, f=8, q=50000): it takes more fragments than a group of the sample has; give a "
        "higher --sample"
    )
    assert own.advised is not row and "gvpa" in answer(own) + str(values(own))


def test_a_group_without_a_page_of_an_application_says_nothing_of_it(folder):
    """A third application has three pages, so that most groups have none of it, and its misses are the same in all."""
    mix, few = mixed(read(folder, 0.25)), 3
    ids = np.arange(100_000, dtype=np.int32) % few
    added = []
    for k, one in enumerate((mix, *mix.groups)):
        part = range(few) if not k else [page for page in range(few) if page == k - 1]
        rows = np.flatnonzero(np.isin(ids, part))
        own = Application("few", np.unique(ids[rows], return_inverse=True)[1].astype(np.int32), len(part),
                          TRACES[0].take(np.arange(min(1, len(rows)))),
                          whole=Population(rows, len(ids), few * 4, len(part) / (few * 4)))  # fmt: skip
        each = (*one.applications, own)
        added.append(replace(one, applications=each, app=by_clock([app.whole.rows for app in each])))
    own = compare(replace(added[0], groups=tuple(added[1:])), parse_several("equal,shared", 64), 6_144, "half",
                  BUILT_IN.hdd).rows[0]  # fmt: skip
    assert np.isnan(own.group_figures[few:, 2]).all() and not np.isnan(own.group_figures[:few, 2]).any()
    assert own.figures[2, 0] == 1 and own.application_errors[2].tolist() == [0, 0]
    given = np.array(own.group_figures)
    given[:few, 2, 0] = 0.9, 1.0, 0.8
    expected = stdtrit(GROUPS - 1, 0.95) * np.sqrt(0.1**2 / few + (0.1 / (GROUPS - 1)) ** 2)
    spread = replace(own, group_figures=given).application_errors
    assert spread[2, 0] == pytest.approx(expected) and (spread[0] == own.application_errors[0]).all()
    given[1:, 2] = np.nan
    assert np.isnan(replace(own, group_figures=given).application_errors[2]).all()


def test_what_is_too_small_is_said_of_the_whole_cache(folder):
    mix = mixed(read(folder, 0.02))
    with pytest.raises(ConfigError) as caught:
        compare(mix, [parse("gvpa(f=16)", 64)], 1_500, "half", BUILT_IN.hdd, must_fit=True)
    assert str(caught.value) == (
        "gvpa(fragment=50, f=16, q=50000): a cache of 5.9 MiB (1,500 p) has 30 fragments of 50 pages, and 2 "
        "applications take 16 each: give at least 6.2 MiB (1,600 p), or a higher --sample"
    )
    with pytest.raises(
        ConfigError,
        match=r"^equal\(fragment=200\): a cache of 1.2 MiB \(300 p\) has 1 fragment of 200 pages.*"
        r"give at least 1.6 MiB \(400 p\), or smaller fragments \(--fragment 128\)$",
    ):
        compare(mix, [parse("equal", 200)], 300, "half", BUILT_IN.hdd, must_fit=True)
    found = compare(mix, parse_several("gvpa(f=16),equal", 64), 1_500, "half", BUILT_IN.hdd)
    assert found.left_out[0].startswith("left out: gvpa(fragment=50, f=16, q=50000): a cache of 5.9 MiB (")


@pytest.mark.parametrize("by", ["shared", "equal"])
def test_a_policy_that_a_sample_is_too_small_for_names_the_cache_of_the_whole(folder, by):
    mix, pages = mixed(read(folder, 0.02)), 2_000 if by == "shared" else 4_000
    with pytest.raises(ConfigError, match=r"a cache of 2000 pages is too small in the sample; give a"):
        found(mix, f"{by}(policy=follow(sample=0.1))", pages)
    with pytest.raises(ConfigError, match=r"sample = 0.1 of 150 pages makes shadows of 15"):
        found(mix, f"{by}(policy=follow(sample=0.1))", 150 * (pages // 2_000))


def test_floors_hold_for_the_whole_cache(folder):
    floors = (Floor(pages=1_000), Floor(hits=0.5))
    own = found(mixed(read(folder, 0.25)), "learned(policy=lru),equal,shared", floors=floors)
    assert own.rows[0].shared.splits[0, 0] >= 1_000 and own.rows[2].unmet[0] == "big has no part of its own"


@given(rate=st.floats(0.0005, 0.9), fragment=st.integers(1, 600), window=st.integers(1, 50_000))
def test_a_sample_gives_out_whole_pages_and_windows_that_say_something(rate, fragment, window):
    mix, pages = replace(mix_of([np.arange(3), np.arange(4)]), rate=rate), 200_000
    own = fitted(parse(f"ucp(window={window})", fragment), mix, pages)
    small = shrunk(own, rate, pages)
    assert own.fragment * rate == pytest.approx(small.fragment, abs=rate) and own.fragment >= 1 / rate - 1
    assert small.options.integer("window") >= min(window, LEAST_WINDOW) - 1
    assert pages * rate / small.fragment <= 1_025
    total = pages // own.fragment
    assert abs(mix.own(total * own.fragment) // small.fragment - total) <= max(1, total // 100)
    assert fitted(own, replace(mix, rate=1.0), pages) is own


def test_fragments_of_a_large_cache_are_as_large_as_they_can_be(folder):
    mix, pages = replace(mix_of([np.arange(3), np.arange(4)]), rate=0.001), 100_000_000
    own = fitted(parse("equal"), mix, pages)
    assert 65_536 - 1000 < own.fragment <= 65_536 and parse(str(own)) == own
    with pytest.raises(ConfigError, match="a page of a sample at rate 1e-05 is more than a fragment can be"):
        fitted(parse("equal"), replace(mix, rate=0.00001), pages)


def test_a_trace_lasts_till_its_last_request_though_that_is_not_drawn(folder):
    big, small = read(folder, 0.25)
    assert mix_drawn([big, small]).order == "clock"
    ((name, own, ticks),) = small.parts
    late = replace(own, ends_us=(0, 11 * big.parts[0][1].ends_us[1]))
    with pytest.raises(ConfigError, match="by the clock, from 0 on, they hardly ever run at the same time"):
        mix_drawn([big, replace(small, parts=((name, late, ticks),))])


def test_what_a_sample_cannot_stand_for_is_refused(folder):
    mix = mixed(read(folder, 0.25))
    with pytest.raises(ConfigError, match="no sample of the pages stands for its neighbours; give --sample exact"):
        found(mix, "shared(policy=vrm(fragment=8, n=512, q=100))")
    with pytest.raises(ConfigError, match="1 names for 2 applications"):
        mix_drawn(read(folder, 0.25), "auto", None, ["one"])
    with pytest.raises(TraceError, match="none of its blocks is chosen: raise rate"):
        read(folder, 0.00001)
