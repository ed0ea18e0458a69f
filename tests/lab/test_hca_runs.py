"""What HCA's figures are made of: the workloads, six hours in a closed loop, and HCA on a trace."""

from dataclasses import replace

import numpy as np
import pytest

from cachezoo.devices.analytic import t_hdd_us, t_ssd_us
from cachezoo.devices.profile import load_models
from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.reduced import reduce
from cachezoo.questions.tiers.response import DRAM_US
from cachezoo.questions.tiers.run import DISK, WRITTEN, run_tiers
from cachezoo.questions.tiers.stream import tier_stream
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import write_trace
from cachezoo.traces.table import OP_WRITE, validate
from lab.hca import closed as hca_closed
from lab.hca import run as hca_run
from lab.hca.closed import AGREED, HOUR_US, Timed, six_hours
from lab.hca.paper import MAIN, OLTP, RANDOM, RUN_HOURS, Cell, cells
from lab.hca.traces import LOG_SHARE, SAMPLE, SPREAD_BYTES, Workload, pages_of

DEVICE = load_models(hca_run.MEASURED_ON)


def test_a_longer_workload_begins_as_a_shorter_one():
    for name in (RANDOM, OLTP):
        long, short = (Workload(name, 10, 1).trace(requests) for requests in (3000, 1000))
        validate(long, name)
        np.testing.assert_array_equal(long.offset[:1000], short.offset)
        np.testing.assert_array_equal(long.op[:1000], short.op)
    assert (Workload(RANDOM, 10, 1).trace(100).offset != Workload(RANDOM, 10, 2).trace(100).offset).any()


def test_random_reads_are_even_over_all_records():
    workload = Workload(RANDOM, 10, 1)
    trace = workload.trace(20 * workload.records)
    record, counts = np.unique(trace.offset, return_counts=True)
    assert len(record) == workload.records == pages_of(10) // 2
    assert (trace.op == 0).all() and trace.offset.max() < SPREAD_BYTES
    assert counts.std() == pytest.approx(np.sqrt(20), rel=0.05)  # of Poisson counts


def test_oltp_writes_records_and_a_log_in_order():
    workload = Workload(OLTP, 10, 1)
    trace = workload.trace(100_000)
    gap = np.diff(np.unique(trace.offset)).min()
    record = trace.offset // gap
    log = record >= workload.records - round(LOG_SHARE * workload.records)
    reads = int((trace.op != OP_WRITE).sum())
    assert (trace.op[log] == OP_WRITE).all()
    assert np.count_nonzero((trace.op == OP_WRITE) & ~log) / reads == pytest.approx(0.1, abs=0.005)
    assert np.count_nonzero(log) / reads == pytest.approx(0.01, abs=0.002)
    assert (np.diff(record[log]) == 1).all()


def test_the_disk_alone_does_what_the_paper_s_did():
    assert hca_run.disk_iops(DEVICE, 1) == pytest.approx(MAIN[RANDOM][0].storage_iops, rel=0.01)


def test_ram_alone_hits_what_it_was_fitted_to():
    for name, tolerance in ((OLTP, 0.015), (RANDOM, 0.06)):
        found = six_hours(Workload(name, 10, 1), parse_hierarchy("arc"), 2, 0, DEVICE)
        assert found.shares()[0] == pytest.approx(MAIN[name][0].ram, abs=tolerance)


def test_ram_with_an_ssd_hits_what_it_was_fitted_to():
    cell = next(one for one in cells(OLTP) if one.key == (2, 4, 20))
    assert hca_run.sized_run(OLTP, "l2arc", cell, 1).ram == pytest.approx(cell.ram, abs=0.01)


def test_without_an_ssd_a_request_takes_what_the_disk_takes():
    ts = tier_stream(Workload(OLTP, 10, 1).trace(2000))
    run = run_tiers(parse_hierarchy("lru"), ts, 200, 0)
    asks = np.zeros(2000, bool)
    asks[ts.request_of[ts.write | (run.tier == DISK)]] = True
    took = np.full(2000, DRAM_US)
    took[asks] += t_hdd_us(ts.trace.take(asks), DEVICE.hdd)
    timed = Timed(ts, run, DEVICE)
    np.testing.assert_allclose(timed.path_us, took)
    np.testing.assert_allclose(timed.end_us, SAMPLE * np.cumsum(took))


def test_time_never_runs_ahead_of_the_ssd_s_work():
    ts = tier_stream(Workload(RANDOM, 10, 1).trace(6000))
    run = run_tiers(parse_hierarchy("hca"), ts, pages_of(1), pages_of(2))
    timed, asked = Timed(ts, run, DEVICE), reduce(ts, run).ssd
    work = np.bincount(asked.request, t_ssd_us(asked.trace, DEVICE.ssd), 6000).cumsum()
    assert (timed.end_us >= SAMPLE * work * (1 - 1e-12)).all()
    assert (timed.end_us >= SAMPLE * np.cumsum(timed.path_us) * (1 - 1e-12)).all()
    slow = DEVICE.model_copy(update={"ssd": DEVICE.ssd.model_copy(update={"write_us": 1e6})})
    np.testing.assert_allclose(
        Timed(ts, run, slow).end_us[-1], SAMPLE * t_ssd_us(asked.trace, slow.ssd).sum(), rtol=1e-9
    )


@pytest.fixture(scope="module")
def l2arc():
    return six_hours(Workload(RANDOM, 10, 1), parse_hierarchy(hca_run.hierarchy_of("l2arc")), 2, 4, DEVICE)


def test_six_hours_are_six_hours(l2arc):
    ends = l2arc.timed.end_us
    assert ends[l2arc.requests - 1] <= RUN_HOURS * HOUR_US < ends[l2arc.requests]
    assert l2arc.iops == pytest.approx(1e6 * SAMPLE * l2arc.requests / ends[l2arc.requests - 1], rel=0.01)
    assert sum(l2arc.shares()) == pytest.approx(1)
    windows = l2arc.over_time()
    counts = np.diff([l2arc.requests_by(k / 6) for k in range(37)])
    assert [one.iops for one in windows] == pytest.approx((counts * SAMPLE / 600).tolist())
    disk = [one.shares[2] for one in windows]
    assert np.average(disk, weights=counts) == pytest.approx(l2arc.shares(last=int(counts.sum()))[2])
    latency = [one.latency_ms for one in windows]
    assert np.average(latency, weights=counts) == pytest.approx(l2arc.latency_ms())
    assert disk[0] > disk[-1]  # the SSD fills


def test_a_feed_s_clock_agrees_with_what_its_run_takes(l2arc):
    again = Timed(l2arc.ts, l2arc.run, DEVICE)
    started = l2arc.ts.trace.time_us[-1]
    assert started == pytest.approx(again.end_us[-2], rel=AGREED)
    np.testing.assert_array_equal(l2arc.ts.time_us, l2arc.ts.trace.time_us[l2arc.ts.request_of])


def test_the_ssd_holds_what_was_written_and_has_not_left(l2arc):
    held, hours = l2arc.held_pages()
    assert 0 < held.max() <= pages_of(4) and held.min() >= 0
    assert (np.diff(hours) >= 0).all() and hours[-1] <= RUN_HOURS
    within = l2arc.run.event_at < l2arc.ts.pages.request_start[l2arc.requests]
    written = np.count_nonzero(l2arc.run.event[within] == WRITTEN)
    assert l2arc.ssd_writes_mb_s() == pytest.approx(written * 4096 * SAMPLE / (6 * 3600 * 1e6))


def test_a_feed_at_no_rate_that_counts_leaves_ram_alone(l2arc):
    slow = parse_hierarchy("l2arc(rate=4096, feed=3600000)")
    found = six_hours(Workload(RANDOM, 10, 1), slow, 2, 4, DEVICE)
    alone = six_hours(Workload(RANDOM, 10, 1), parse_hierarchy("arc"), 2, 0, DEVICE)
    assert found.shares()[1] < l2arc.shares()[1]
    assert found.shares()[0] == pytest.approx(alone.shares()[0], abs=0.01)


def test_what_a_snapshot_costs():
    found = six_hours(Workload(RANDOM, 10, 1), parse_hierarchy("arc"), 2, 0, DEVICE)
    even = replace(found, timed=Timed(found.ts, found.run, DEVICE))
    even.timed.end_us = np.arange(1, len(found.ts.trace) + 1) * (RUN_HOURS * HOUR_US / found.requests)
    assert even.cost() == pytest.approx(hca_closed.PRICE / even.iops, rel=0.01)
    assert found.cost() > even.cost()  # the mean of what is divided by


def test_a_set_up_stands_beside_the_paper_s():
    cell = Cell(2, 4, 10, 0.5789, 0.2238, 170.6)
    found = hca_run.sized_run(RANDOM, "l2arc", cell, 1)
    assert (found.key, found.paper_disk, found.paper_iops) == (cell.key, 0.5789, 170.6)
    assert found.disk == pytest.approx(cell.disk, abs=0.06) and found.iops == pytest.approx(cell.iops, rel=0.15)


def test_a_trace_is_run_at_every_ratio_and_buffer(tmp_path):
    workload = Workload(OLTP, 10, 1).trace(3000)
    trace = replace(workload, time_us=np.arange(3000, dtype=np.int64) * 20_000, size=np.full(3000, 4096, np.int64))
    path = tmp_path / "one.parquet"
    write_trace(trace, path, expand_pages(trace))
    found = hca_run.curve(path, "database")
    assert [(one.ratio, one.buffer_bytes) for one in found] == [
        (ratio, buffer) for ratio in hca_run.RATIOS for buffer in hca_run.BUFFERS
    ]
    for one in found:
        assert one.ram + one.ssd + one.disk == pytest.approx(1)
        assert one.base_ram + one.base_disk == pytest.approx(1)
        assert one.ram >= one.base_ram - 1e-12 and one.disk <= one.base_disk + 1e-12
