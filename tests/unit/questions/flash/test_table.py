"""`cachezoo recommend --only flash`'s rows, against the rooms that they come from."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from cachezoo.cli.options import write_rates
from cachezoo.contest.counting import Count
from cachezoo.errors import BundleError, ConfigError, TraceError
from cachezoo.flash_cache.policies import Tuned, baseline, is_mounted, prefetch_of
from cachezoo.flash_cache.problem import flash_problem
from cachezoo.kernels.segments import Geometry
from cachezoo.kernels.write_budget import Controller
from cachezoo.questions.flash.bench import FlashOutcome
from cachezoo.questions.flash.model import decide, geometry_of, open_bundles, thresholds_of
from cachezoo.questions.flash.options import (
    BLOCKS,
    DISK,
    MODELLED,
    OBJECTS,
    POLICIES,
    TOLERANCE,
    FlashOptions,
    flash_problem_of,
    geometry_by_reads,
)
from cachezoo.questions.flash.sentences import cells, kept_of, shipped_of
from cachezoo.questions.flash.table import OPT_SEARCH, Limits, cases_of, flash_tables
from cachezoo.serving.requests import batch_of
from cachezoo.show.formats import percent, rate
from cachezoo.sizes import Size
from cachezoo.traces.read import read_any
from cachezoo.zoo.admission.serve import serve_trace
from tests import baleen_data
from tests.baleen_data import LABEL, make_trace, partial_scans

ROOT = Path(__file__).resolve().parents[4]
STORED = ROOT / "tests/golden/protocol2"
FLASH = baleen_data.FLASH.model_copy(update={"disk": MODELLED})
ADMISSION = STORED / "admission.database.lgbm"


def options(**changed):
    given = {"sizes": [Size.parse("10%")], "rates": write_rates("25%"), "policies": POLICIES, **changed}
    return FlashOptions(**given)


def table(trace, what, bundles=(), geometry=BLOCKS):
    opened = open_bundles(bundles)
    models = [decide(own, trace) for own in opened]
    ran = []
    (found,) = flash_tables(trace, geometry, models, what, 3, lambda done, note="": ran.append(done))
    assert ran == list(range(len(cases_of(what, models)))) and len(found.rows) == len(ran)
    return found


def test_the_settings_are_those_of_the_project():
    assert (DISK.seek_ms, DISK.rate_mib_s, TOLERANCE) == (FLASH.seek_ms, FLASH.rate_mib_s, LABEL.budget_tolerance)
    assert {name: getattr(LABEL, name) for name in OPT_SEARCH if name not in ("cache_fraction", "write_budget")} == {
        name: value for name, value in OPT_SEARCH.items() if name not in ("cache_fraction", "write_budget")
    }
    assert (BLOCKS.block_bytes, BLOCKS.segment_bytes) == (LABEL.block_bytes, LABEL.segment_bytes)


def test_rows_are_those_of_the_rooms_own_policies_at_the_same_budget():
    trace = make_trace(4000, 5)
    problem = flash_problem(trace, LABEL, FLASH)
    found = table(trace, options(prefetch=["none", "next(8)"], sizes=[Size.parse(f"{problem.capacity}p")]))
    assert found.capacity == problem.capacity and found.windows.first == problem.first
    for row in found.rows:
        if row.policy == "opt":
            continue
        limit, half = problem.accept_all.segment_writes / 4, TOLERANCE / 2
        own = [
            replace(problem, budget=limit / 2**halves * (1 - half), tolerance=half)
            for halves in range(7 if row.asked else 1)
        ]
        ran = [baseline(row.policy, 3, trace.meta.trace_id)(each, prefetch_of(each, row.prefetch)) for each in own]
        tuned = next(
            one for one in ran if one.run.segment_writes / problem.accept_all.segment_writes == row.written_share
        )
        assert row.knob == (tuned.knob if row.asked else None)
        seconds = problem.dt_seconds(tuned.run)[problem.first :].sum()
        assert row.disks_busy == pytest.approx(seconds / (found.windows.seconds * found.windows.count))
        hit = (tuned.run.io_segments == 0)[problem.first :] & problem.read[problem.first :]
        assert row.io_hit_ratio == pytest.approx(hit.sum() / problem.read[problem.first :].sum())
        assert row.disks_busy_peak >= row.disks_busy >= row.disks_busy_interval[0]


def test_policies_without_a_model_come_first_then_bundles_then_the_oracle():
    trace = make_trace(3000, 5)
    found = table(trace, options(rates=write_rates("10%,30%")), [ADMISSION])
    kinds = [row.kind for row in found.rows]
    assert kinds == sorted(kinds, key=["without model", "model", "oracle"].index)
    assert {row.prefetch for row in found.rows if row.kind == "without model"} == {"none", "next(16)"}
    assert {row.prefetch for row in found.rows if row.kind == "model"} == {"none", "next(16)"}
    assert {row.asked for row in found.rows if row.policy in ("accept_all", "admission.database.lgbm")} == {
        None, "10%", "30%",
    }  # fmt: skip
    for row in found.rows:
        if row.asked is not None and row.reached:
            share = float(row.asked.rstrip("%")) / 100
            assert share * (1 - TOLERANCE) <= row.written_share <= share
    assert [lead.asked for lead in found.leads] == ["10%", "30%"]


def test_a_bundle_as_shipped_runs_at_its_own_thresholds():
    trace = make_trace(3000, 5)
    problem = flash_problem(trace, LABEL, FLASH)
    found = table(trace, options(policies=["rejectx"], sizes=[Size.parse(f"{problem.capacity}p")]), [ADMISSION])
    (own,) = open_bundles([ADMISSION])
    serving, (mode, threshold) = own.serving(), list(thresholds_of(own).items())[1]
    scores = serving.scores(serve_trace(serving, trace))
    shipped = {row.prefetch: row for row in found.rows if row.kind == "model" and row.asked is None}
    before = replace(problem, whole_block=False)  # as bundles without `policy.touch` have it
    alone = before.run(scores >= serving.threshold)
    both = before.run(scores >= threshold, prefetch_of(problem, mode))
    assert alone.segment_writes != both.segment_writes
    assert alone.segment_writes != problem.run(scores >= serving.threshold).segment_writes
    for name, run in (("none", alone), (mode, both)):
        assert shipped[name].written_share == run.segment_writes / problem.accept_all.segment_writes
        assert shipped[name].reached is None


def test_a_bundle_as_shipped_keeps_each_rate_by_its_controller():
    trace = make_trace(30_000, 5)
    (own,) = open_bundles([ADMISSION])
    quick = Controller(step_misses=16, window_misses=1024, recent_misses=128, hold_misses=64)
    model = replace(decide(own, trace), controller=quick)
    what = options(policies=["rejectx"], rates=write_rates("10%,30%"))
    (size,) = what.sizes
    problem = flash_problem_of(trace, BLOCKS, size, what)
    (found,) = flash_tables(trace, BLOCKS, [model], what, 3)
    shipped = [row for row in found.rows if row.as_shipped]
    assert {(row.prefetch, row.asked) for row in shipped} == {
        (mode, rate) for mode in model.thresholds for rate in ("10%", "30%")
    }
    for row in shipped:
        share = float(row.asked.rstrip("%")) / 100
        at_rate = replace(problem, budget=share * problem.accept_all.segment_writes)
        fetched = prefetch_of(problem, row.prefetch)
        run = at_rate.run_controlled(model.scores, model.thresholds[row.prefetch], quick, fetched)
        assert row.written_share == run.segment_writes / problem.accept_all.segment_writes
        assert row.written_share == pytest.approx(share, rel=0.025) and row.reached
    assert all(not lead.model.as_shipped for lead in found.leads)
    lines = shipped_of(found)
    assert [line.split(", as shipped")[0] for line in lines] == [
        "As a cache would run it at 10%", "As a cache would run it at 30%",
    ]  # fmt: skip


def test_what_a_bundle_saves_is_of_the_best_policy_without_a_model():
    trace = make_trace(4000, 5)
    found = table(trace, options(), [ADMISSION])
    (lead,) = found.leads
    rated = [row for row in found.rows if row.asked]
    rival = min((row for row in rated if row.kind == "without model"), key=lambda row: row.disks_busy)
    ours = min((row for row in rated if row.kind == "model"), key=lambda row: row.disks_busy)
    assert (lead.rival.policy, lead.model.policy) == (rival.policy, ours.policy)
    assert lead.saved.value == pytest.approx(1 - ours.disks_busy / rival.disks_busy)
    assert lead.saved.ends[0] <= lead.saved.value <= lead.saved.ends[1]


def test_the_best_policy_that_a_controller_keeps_has_a_row_and_a_sentence():
    trace = make_trace(20_000, 5)
    what = options(rates=write_rates("5%,10%"), policies=["coin_flip"], rivals=["coin_flip", "rejectx+fifo"])
    problem = flash_problem_of(trace, BLOCKS, what.sizes[0], what)
    (found,) = flash_tables(trace, BLOCKS, [], what, 3)
    assert [(row.asked, row.set_by) for row in found.rows] == [
        ("5%", ""), ("5%", "kept"), ("10%", ""), ("10%", "kept"),
    ]  # fmt: skip
    for row, lead, line in zip(found.rows[1::2], found.kept, kept_of(found), strict=True):
        at_rate = replace(problem, budget=float(row.asked.rstrip("%")) / 100 * problem.accept_all.segment_writes)
        ran = {name: baseline(name, 3, trace.meta.trace_id, Controller())(at_rate, None).run for name in what.rivals}
        seconds = {name: problem.dt_seconds(run)[problem.first :].sum() for name, run in ran.items()}
        over = {name: run.segment_writes > 1.05 * at_rate.budget for name, run in ran.items()}
        best = min(seconds, key=lambda name: (over[name], seconds[name]))
        assert row.policy == best == lead.rival.policy and lead.model is None
        assert row.segment_writes == ran[row.policy].segment_writes and cells(row, [found])[2] == f"{row.asked}, kept"
        runs = "a mounted cache runs it only at a fixed setting" if is_mounted(row.policy) else "no runtime has it"
        assert line == (
            f"Kept at {row.asked} throughout, {row.policy} is the best of the policies without a model: it keeps "
            f"{row.disks_busy:.3f} disks busy, writing {rate(row.written_bytes_s)} (simulated; {runs})."
        )
    names = ("coin_flip", "rejectx+s3fifo", "bloom_rejectx+fifo")
    assert [is_mounted(name) for name in names] == [True, True, False]


def test_what_a_controller_could_not_keep_is_not_the_best():
    """One miss of CoinFlip's fetches a whole block: it writes twenty times what it may, and saves the most."""
    trace = partial_scans(3000, 5)
    what = options(rates=write_rates("10%"), policies=[], rivals=["coin_flip", "rejectx"], prefetch=["all_on_miss"])
    problem = flash_problem_of(trace, BLOCKS, what.sizes[0], what)
    (found,) = flash_tables(trace, BLOCKS, [], what, 3)
    (row,) = [one for one in found.rows if one.set_by == "kept"]
    at_rate = replace(problem, budget=0.1 * problem.accept_all.segment_writes)
    policies = {name: baseline(name, 3, trace.meta.trace_id, Controller()) for name in what.rivals}
    runs = {name: own(at_rate, prefetch_of(problem, "all_on_miss")).run for name, own in policies.items()}
    assert runs["coin_flip"].segment_writes > 10 * at_rate.budget
    assert problem.dt_seconds(runs["coin_flip"]).sum() < problem.dt_seconds(runs["rejectx"]).sum()
    assert row.policy == "rejectx" and row.segment_writes <= 1.05 * at_rate.budget


def test_a_bundle_as_shipped_is_held_against_what_the_same_controller_keeps():
    trace = make_trace(20_000, 5)
    (own,) = open_bundles([ADMISSION])
    model = replace(decide(own, trace), controller=Controller())
    what = options(policies=[], rivals=["rejectx"])
    (found,) = flash_tables(trace, BLOCKS, [model], what, 3)
    (lead,), (line,) = found.kept, kept_of(found)
    ours = [row for row in found.rows if row.kind == "model" and row.as_shipped and row.prefetch != "none"]
    assert lead.model in ours and lead.rival.set_by == "kept" and lead.model.set_by == "as shipped"
    assert lead.saved.value == pytest.approx(1 - lead.model.disks_busy / lead.rival.disks_busy)
    assert line.startswith("As a cache would run it at 25%, as shipped with prefetch ") and not shipped_of(found)
    assert f"{'saves' if lead.saved.value > 0 else 'costs'} {percent(abs(lead.saved.value))}" in line


def test_rates_follow_the_clock_and_days_what_it_stands_for():
    trace = make_trace(3000, 5)
    trace = replace(trace, time_us=trace.time_us * 1000)
    found = table(trace, options(rates=write_rates("2kB/s"), policies=["coin_flip"]))
    (row,) = found.rows
    assert row.reached and row.written_bytes_s == pytest.approx(2000, rel=TOLERANCE)
    days = found.seconds / 86_400
    assert row.ssd_bytes_a_day == pytest.approx(row.written_bytes_s * found.seconds / days)
    assert row.drive_writes_a_day == pytest.approx(row.ssd_bytes_a_day / (found.capacity * 4096))
    assert row.lifetime_years == pytest.approx(5 / row.drive_writes_a_day)
    scaled = replace(trace, meta=replace(trace.meta, extra={"time_scale": "10"}))
    (slow,) = table(scaled, options(rates=write_rates("2kB/s"), policies=["coin_flip"])).rows
    assert slow.ssd_bytes_a_day == pytest.approx(row.ssd_bytes_a_day / 10)
    assert slow.written_bytes_s == row.written_bytes_s
    short = table(make_trace(3000, 5), options(policies=["coin_flip"])).rows[0]
    assert short.lifetime_years is short.ssd_bytes_a_day is None


@pytest.mark.parametrize("case", ["row numbers", "one time", "the reader says so", "columns say so"])
def test_without_a_clock_nothing_is_said_by_the_second(case):
    trace = make_trace(500, 5)
    assert table(trace, options(policies=["accept_all"])).clock
    times = {"row numbers": np.arange(500), "one time": np.zeros(500, np.int64)}.get(case, trace.time_us)
    extra = {
        "the reader says so": {"time": "row numbers, a microsecond apart"},
        "columns say so": {"columns": "time=row:us"},
    }
    without = replace(trace, time_us=times, meta=replace(trace.meta, extra=extra.get(case, {})))
    found = table(without, options(policies=["accept_all", "rejectx"]))
    assert not found.clock and found.write_disks_busy is None
    for row in found.rows:
        assert row.disks_busy is row.disks_busy_peak is row.written_bytes_s is row.ssd_bytes_a_day is None
        assert row.disk_ms_per_read > 0
    with pytest.raises(ConfigError, match="the trace has no clock, so there is no rate; give a share as 25%"):
        table(without, options(rates=write_rates("10MB/s")))


def test_a_higher_limit_is_never_worse_and_says_where_more_writes_do_not_help():
    trace = make_trace(4000, 5)
    found = table(trace, options(rates=write_rates("80%,10%,40%"), policies=["coin_flip", "rejectx"]))
    for name in ("coin_flip", "rejectx"):
        rows = sorted((row for row in found.rows if row.policy == name), key=lambda row: float(row.asked.rstrip("%")))
        busy = [row.disks_busy for row in rows]
        assert busy == sorted(busy, reverse=True)
        assert all(row.written_share <= float(row.asked.rstrip("%")) / 100 for row in rows)


def test_the_warm_up_can_be_given():
    trace = make_trace(2000, 5)
    whole = table(trace, options(policies=["accept_all"], count=Count("all")))
    late = table(trace, options(policies=["accept_all"], count=Count("1900")))
    assert (whole.windows.first, late.windows.first) == (0, 1900)
    problem = flash_problem_of(trace, BLOCKS, Size.parse("10%"), options())
    hit, read = problem.accept_all.io_segments == 0, problem.read
    for found, first in ((whole, 0), (late, 1900)):
        assert found.rows[0].io_hit_ratio == pytest.approx((hit & read)[first:].sum() / read[first:].sum())
    with pytest.raises(ConfigError, match="--count 2000: the trace ends before"):
        table(trace, options(count=Count("2000")))


def test_the_geometry_follows_the_reads_or_the_bundles():
    trace = make_trace(300, 5)
    assert geometry_by_reads(trace) == BLOCKS
    assert geometry_by_reads(replace(trace, size=np.full(300, 131_072))) == OBJECTS
    own = open_bundles([ADMISSION])
    assert geometry_of(own, None) == BLOCKS
    assert geometry_of([], None) is None
    with pytest.raises(ConfigError, match="it learned on segments of 4096 bytes in blocks of 262144"):
        geometry_of(own, OBJECTS)


def test_capacities_are_shares_of_segments_or_what_fits():
    trace = make_trace(2000, 5)
    distinct = flash_problem_of(trace, BLOCKS, Size.parse("10%"), options()).accesses.n_segments
    assert flash_problem_of(trace, BLOCKS, Size.parse("50%"), options()).capacity == round(distinct / 2)
    assert flash_problem_of(trace, BLOCKS, Size.parse("1MiB"), options()).capacity == 256
    assert flash_problem_of(trace, Geometry(2**18, 2**13), Size.parse("9p"), options()).capacity == 4
    with pytest.raises(ConfigError, match="--size 4KiB: less than one segment of 128 KiB"):
        flash_problem_of(trace, OBJECTS, Size.parse("4KiB"), options())


def test_a_trace_without_reads_is_refused():
    trace = make_trace(50, 5)
    with pytest.raises(TraceError, match="no reads, and a flash cache is filled by reads"):
        flash_problem_of(replace(trace, op=np.ones(50, np.uint8)), BLOCKS, Size.parse("10%"), options())


@pytest.mark.parametrize(
    ("bundles", "said"),
    [
        ([STORED / "caching.database.lstm1x8"], "decides nothing in a flash cache; compare --bundle runs"),
        ([STORED / "workload.lstm8"], "decides nothing in a flash cache; give another"),
        ([ADMISSION, ADMISSION], "given twice"),
    ],
)
def test_bundles_that_do_not_go_together_are_one_line(bundles, said):
    with pytest.raises((ConfigError, BundleError), match=said):
        open_bundles(bundles)


def test_drifted_inputs_are_told_where_the_bundle_states_its_own():
    trace = make_trace(2000, 5)
    (own,) = open_bundles([ADMISSION])
    assert decide(own, trace).drifted is None
    rows, inputs = own.serving().features(batch_of(trace))[trace.op == 0], {}
    for k, entry in enumerate(own.manifest["features"]):
        column = np.sort(rows[:, k])
        codes = np.bincount(column.astype(np.int64) + 1) if entry["encoding"] == "ordinal" else None
        inputs[entry["name"]] = np.quantile(column, np.arange(11) / 10) if codes is None else codes
    own.manifest["measured"]["inputs"] = inputs
    assert decide(own, trace).drifted == ()
    far = decide(own, replace(trace, size=trace.size * 64)).drifted
    assert {"end", "size"} <= set(far)


def test_a_captured_trace_of_large_objects_runs_in_its_own_geometry():
    trace = read_any(ROOT / "data/raw/captured/blob_test.parquet")
    assert geometry_by_reads(trace) == OBJECTS
    found = table(trace, options(policies=["accept_all", "rejectx", "opt"]), geometry=OBJECTS)
    busy = {row.policy: row.disks_busy for row in found.rows}
    assert busy["opt"] < busy["rejectx"] < busy["accept_all"] < 1.0


def limits(cost, given, most=1e9):
    """A policy that writes what it is set to, up to `most`, and costs the disks what `cost` says of that."""
    tried = []

    def set_to(target):
        tried.append(target)
        writes = int(min(target, most))
        run = SimpleNamespace(segment_writes=writes)
        return FlashOutcome(cost(writes), np.zeros(0), "none", Tuned(run, target, True))

    return Limits(set_to, given), tried


def test_where_more_writes_are_worse_fewer_are_taken():
    own, tried = limits(lambda writes: abs(writes - 1000) + 1, [4000, 2000, 500])
    for limit, writes, more_helps in ((4000, 1000, False), (2000, 1000, False), (500, 500, True)):
        found = own.best(limit)
        assert (found.writes, found.reached, found.more_helps) == (writes, writes == limit, more_helps)
    assert len(tried) == len(set(tried))


def test_where_more_writes_help_the_limit_is_used_and_one_half_is_tried():
    own, tried = limits(lambda writes: 1 / writes, [4000])
    found = own.best(4000)
    assert (found.writes, found.reached, found.more_helps, tried) == (4000, True, True, [4000, 2000])


def test_a_policy_that_cannot_write_more_is_not_said_to_be_helped_by_less():
    own, _ = limits(lambda writes: 1 / writes, [4000], most=300)
    found = own.best(4000)
    assert (found.writes, found.reached, found.more_helps) == (300, False, True)


def test_a_policy_that_always_writes_more_than_the_limit_is_taken_where_it_exceeds_it_least():
    def set_to(target):
        writes = int(target) + 500
        tuned = Tuned(SimpleNamespace(segment_writes=writes), target, True)
        return FlashOutcome(1 / writes, np.zeros(0), "none", tuned)

    assert Limits(set_to, [400, 100]).best(100).writes == 550


@pytest.mark.parametrize("limit", [1.0, 1.5, 3.0])
def test_the_least_limits_end(limit):
    own, tried = limits(lambda writes: writes, [limit])
    assert own.best(limit).writes <= limit and len(tried) <= 3
