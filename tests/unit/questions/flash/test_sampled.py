"""Flash caches on a sample of a trace, against the whole of it."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from cachezoo.cli.options import write_rates
from cachezoo.errors import ConfigError, TraceError
from cachezoo.questions.flash import plot
from cachezoo.questions.flash.options import BLOCKS, CONSTANTS, MODELLED, OBJECTS, FlashOptions, flash_problem_of
from cachezoo.questions.flash.sampled import FIGURES, geometry_of_sample, plan_by_reads, read_requests, whole_of
from cachezoo.questions.flash.sentences import answers, cells, notes, title_of
from cachezoo.questions.flash.table import flash_tables, runs_of
from cachezoo.show.formats import money
from cachezoo.sizes import Size
from cachezoo.traces import memory
from cachezoo.traces.pages import accesses_of
from cachezoo.traces.read import TraceFiles
from cachezoo.traces.sampling import GOES_ON, sampled
from cachezoo.traces.store import write_trace
from tests.baleen_data import make_trace

TRACE = make_trace(20_000, 5)
SHARE = FlashOptions([Size.parse("10%")], write_rates("25%"), ("accept_all", "rejectx"))


def sample_of(trace, rate, seed=0):
    return sampled(trace, replace(plan_by_reads(rate, None)(trace), seed=seed))


@pytest.mark.parametrize("disk", [MODELLED, CONSTANTS])
def test_a_request_that_is_whole_in_the_sample_takes_the_disk_as_long_as_in_the_trace(disk):
    sample, options = sample_of(TRACE, 0.3), replace(SHARE, disk=disk)
    whole, part = whole_of(sample), sample.trace
    both = [
        (flash_problem_of(TRACE, BLOCKS, SHARE.sizes[0], options), None),
        (flash_problem_of(part, BLOCKS, SHARE.sizes[0], options, whole), whole),
    ]
    all_seconds, seconds = (own.disk_times(own.run(np.zeros(len(own), bool)))[0] for own, _ in both)
    stands = np.where(part.op == 0, whole.reads, whole.writes)
    row = np.searchsorted(TRACE.time_us, part.time_us)
    gap = TRACE.offset - np.append(0, (TRACE.offset + TRACE.size)[:-1])
    near = (gap != 0) & (abs(gap) < BLOCKS.segment_bytes)  # the head is taken to be there
    uncut = (part.size == TRACE.size[row]) & ~near[row]
    assert uncut.sum() > 3000 and (sample.after == GOES_ON).sum() > 50
    np.testing.assert_allclose((seconds / stands)[uncut], all_seconds[row[uncut]], rtol=1e-12)
    onwards = sample.after == GOES_ON
    np.testing.assert_allclose(
        seconds[onwards], both[1][0].disk_times(both[1][0].run(np.zeros(len(part), bool)))[1][onwards]
    )


def test_a_sample_knows_how_much_there_is_of_the_whole():
    sample = sample_of(TRACE, 0.3, 2)
    whole, touched = whole_of(sample), accesses_of(sample.trace, BLOCKS.segment_bytes)
    every, read, own = accesses_of(TRACE, BLOCKS.segment_bytes), TRACE.op == 0, sample.trace.op == 0
    assert whole.reads * touched[own].sum() == pytest.approx(every[read].sum())
    assert whole.writes * touched[~own].sum() == pytest.approx(every[~read].sum())
    assert whole.accesses * touched.sum() == pytest.approx(every.sum())
    exact = flash_problem_of(TRACE, BLOCKS, Size.parse("10%"), SHARE)
    found = flash_problem_of(sample.trace, BLOCKS, Size.parse("10%"), SHARE, whole)
    given = flash_problem_of(sample.trace, BLOCKS, Size.parse(f"{exact.capacity * 4096}B"), SHARE, whole)
    for own in (found, given):
        assert own.whole_capacity == pytest.approx(exact.capacity, rel=0.01)
        assert own.requests() == pytest.approx(len(TRACE), rel=0.1)
        assert own.requests(reads=True) == pytest.approx(read.sum(), rel=0.1)
        assert own.requests(slice(own.first)) == pytest.approx(len(TRACE) / 2, rel=0.1)


def test_the_whole_traces_figures_lie_within_the_bars_about_as_often_as_they_say():
    (exact,) = flash_tables(TRACE, BLOCKS, [], SHARE, 3)
    within = []
    for seed in range(5):
        sample, ran = sample_of(TRACE, 0.3, seed), []
        (found,) = flash_tables(sample, BLOCKS, [], SHARE, 3, lambda done, note="", ran=ran: ran.append(done))
        assert ran == list(range(runs_of(sample, [], SHARE))) and found.sampled == 0.3
        for ours, theirs in zip(found.rows, exact.rows, strict=True):
            assert set(ours.errors_90) == set(FIGURES) and not theirs.errors_90
            assert ours.disks_busy == pytest.approx(theirs.disks_busy, rel=0.25)
            within += [
                abs(getattr(ours, name) - getattr(theirs, name)) <= ours.errors_90[name] for name in FIGURES[:-1]
            ]
        best = exact.leads[0].rival.policy
        assert best in (found.leads[0].rival.policy, *found.leads[0].level)
    assert np.mean(within) >= 0.75
    values = found.rows[0].values()
    assert values["disks_busy_error_90"] == found.rows[0].errors_90["disks_busy"]
    assert set(exact.rows[0].values()) == {name for name in values if not name.endswith("_error_90")}


def test_a_rate_by_the_second_is_the_whole_traces():
    options = replace(SHARE, rates=write_rates("1MB/s"), policies=("rejectx",))
    sample = sample_of(TRACE, 0.3)
    (row,) = flash_tables(sample, BLOCKS, [], options, 3)[0].rows
    assert row.reached and row.written_bytes_s == pytest.approx(1e6, rel=0.05)


def test_by_the_second_is_over_all_of_the_traces_time():
    early, block = int(TRACE.time_us[-1]) // 2, TRACE.offset // BLOCKS.block_bytes
    drawn = sample_of(TRACE, 0.3).trace
    left = np.flatnonzero(~np.isin(block, drawn.offset // BLOCKS.block_bytes) & (TRACE.size == 4096))[:1]
    rows = np.concatenate([left, np.arange(len(TRACE)), left])
    time_us = TRACE.time_us[rows] + early
    time_us[0], time_us[-1] = 0, time_us[-2] + early
    longer, options = replace(TRACE.take(rows), time_us=time_us), replace(SHARE, rivals=("rejectx",))
    sample = sample_of(longer, 0.3)
    assert 0 < sample.trace.time_us[0] and sample.trace.time_us[-1] < time_us[-1]
    (found,), (exact,) = (flash_tables(own, BLOCKS, [], options, 3) for own in (sample, longer))
    assert found.seconds == exact.seconds and found.windows.days == exact.windows.days
    assert found.windows.seconds == pytest.approx(exact.windows.seconds, rel=0.05)
    for ours, theirs in zip(found.rows, exact.rows, strict=True):
        assert ours.disks_busy == pytest.approx(theirs.disks_busy, rel=0.25)
        assert ours.written_share == pytest.approx(theirs.written_share, rel=0.25)
    assert exact.rows[-1].as_shipped and exact.rows[-1].written_share < 0.2


def test_numbered_rows_are_no_clock_of_a_sample():
    numbered = replace(TRACE, time_us=np.arange(len(TRACE)))
    (found,) = flash_tables(sample_of(numbered, 0.3), BLOCKS, [], SHARE, 3)
    assert not found.clock and found.seconds == 0 and found.without is None


def test_the_answer_says_that_it_is_of_a_sample_and_how_far_it_may_be_off():
    found = flash_tables(sample_of(TRACE, 0.3), BLOCKS, [], SHARE, 3)
    (row, *_) = found[0].rows
    shown = cells(row, found)
    assert f"{row.disks_busy:.3f} ± {row.errors_90['disks_busy']:.3f}" in shown
    assert title_of("t", found).endswith("before hard disks, estimated from 30.0\u00a0% of the blocks")
    assert any(line.startswith("Estimated from 30.0") and "rough" in line for line in notes(found, SHARE))
    assert [line for line in answers(found, SHARE) if line.startswith("What costs least a year is not said from a")]
    assert not [line for line in answers(found, SHARE) if "A year costs" in line]
    assert shown[-1] == f"{money(row.usd_a_year)} ± {money(row.errors_90['usd_a_year'])}"


def reach(axes):
    """Ends of the lines along which figures may be off."""
    return {tuple(np.round(end, 9)) for own in axes.collections for line in own.get_segments() for end in line}


def test_the_picture_shows_how_far_the_figures_of_the_sample_may_be_off():
    options = replace(SHARE, rates=write_rates("10%,25%"), policies=("rejectx",))
    sizes = [replace(options, sizes=[Size.parse(size)]) for size in ("10%", "20%")]
    tables = [flash_tables(sample_of(TRACE, 0.3), BLOCKS, [], own, 3)[0] for own in sizes]
    rows = [row for row in tables[0].rows if row.asked is not None]
    ends = [(row, row.disks_busy + sign * row.errors_90["disks_busy"]) for row in rows for sign in (-1, 1)]
    bars, lines, by_size = (Figure().subplots() for _ in range(3))
    plot._bars(bars, rows)
    assert reach(bars) == {(round(end, 9), place) for place, row in enumerate(rows) for own, end in ends if own is row}
    plot._curves(lines, tables[0])
    assert reach(lines) == {(round(row.written_bytes_s / 1e6, 9), round(end, 9)) for row, end in ends}
    low, high = lines.get_ylim()
    assert low < min(end for _, end in ends) and high > max(end for _, end in ends)
    plot._over_sizes(by_size, tables, rows[0].asked)
    assert len(reach(by_size)) == 4 and {round(end, 9) for row, end in ends if row is rows[0]} < {
        end for _, end in reach(by_size)
    }


def test_what_is_drawn_are_blocks_of_the_cache(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    write_trace(TRACE, path)
    found = read_requests(TraceFiles([path]), 0.3, None)
    assert geometry_of_sample(found) == BLOCKS and 0 < len(found.trace) < len(TRACE)
    large = replace(TRACE, size=np.full(len(TRACE), OBJECTS.segment_bytes))
    assert geometry_of_sample(read_requests(large, 0.5, None)) == OBJECTS
    assert read_requests(large, "auto", None) is large
    accesses = int(accesses_of(TRACE, BLOCKS.segment_bytes).sum())
    monkeypatch.setenv(memory.FROM, str(accesses))
    assert read_requests(TraceFiles([path]), "auto", None).rate == 1  # as it keeps so few
    monkeypatch.setenv(memory.FROM, str(accesses + 1))
    assert len(read_requests(TraceFiles([path]), "auto", None)) == len(TRACE)
    assert len(read_requests(TraceFiles([path]), "exact", None)) == len(TRACE)


def test_what_does_not_fit_in_memory_is_refused_before_it_runs(monkeypatch):
    monkeypatch.setattr(memory, "memory_left", lambda: 1000)
    with pytest.raises(TraceError, match=r"its requests touch 1.*of memory, and 1,000 B is left"):
        read_requests(TRACE, "exact", None)


def test_a_sample_without_reads_is_refused():
    writes = replace(TRACE, op=np.ones(len(TRACE), np.uint8))
    with pytest.raises(ConfigError, match=r"a sample at rate 0\.3 has no read; use a higher one, or exact"):
        whole_of(sample_of(writes, 0.3))
