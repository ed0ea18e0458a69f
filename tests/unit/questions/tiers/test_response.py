"""Response times of hierarchies, by hand on devices whose times can be added in the head."""

from dataclasses import replace

import numpy as np
import pytest

from cachezoo.devices.queueing import MOST_LOAD, hdd_load
from cachezoo.errors import DeviceError, TraceError
from cachezoo.questions.tiers.bench import blocks_of
from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.reduced import volume_trace
from cachezoo.questions.tiers.response import DRAM_US, depth_of, loop_of, paper_metrics, response, stretch
from cachezoo.questions.tiers.run import counts, run_tiers
from cachezoo.questions.tiers.stream import tier_stream
from tests.page_data import seeded_trace
from tests.tiers_data import (
    BUFFER_TIER,
    DEVICE,
    DISK_TIER,
    MOVED_UP,
    RAM_TIER,
    SSD_TIER,
    WRITTEN,
    run_of,
    stream_of,
    trace_of,
)

DISK_IO, SSD_READ, SSD_WRITE = 1000.0, 10.0, 20.0
PER_PAGE = 4.0


def test_amat_is_by_hand_and_by_its_formula():
    """A page from the disk, one from RAM, one from the SSD, one from the buffer; then two from the disk at once."""
    ts = stream_of([(0, 90, 1), (0, 90, 1), (0, 90, 1), (0, 90, 1), (0, 8, 2)])
    events = [(0, 0, WRITTEN), (2, 0, MOVED_UP)]
    run = run_of([DISK_TIER, RAM_TIER, SSD_TIER, BUFFER_TIER, DISK_TIER, DISK_TIER], events)
    found = response(ts, run, DEVICE).tiered
    disk, two, ssd = DISK_IO + PER_PAGE, DISK_IO + 2 * PER_PAGE, SSD_READ + PER_PAGE
    assert found.amat_us == pytest.approx((disk + 2 * DRAM_US + ssd + 2 * two) / 6, rel=1e-4)
    mean = found.rhr * DRAM_US + found.shr * found.rta_ssd_us + found.dhr * found.rta_hdd_us
    assert found.amat_us == pytest.approx(mean)
    assert (found.rhr, found.bhr, found.shr, found.dhr) == pytest.approx((2 / 6, 1 / 6, 1 / 6, 3 / 6))
    assert found.p50_us == pytest.approx(ssd, rel=1e-3)
    assert found.p99_us == pytest.approx(two, rel=0.1)
    assert (found.reads, found.writes, found.requests, found.ssd_written) == (6, 0, 5, 1)
    assert found.busiest == "disk"
    assert found.iops == pytest.approx(1e6 * 5 / (disk + two), rel=1e-4)
    assert found.iops_ssd == pytest.approx(1e6 * 2 / (SSD_WRITE + SSD_READ), rel=1e-6)


def test_requests_that_arrive_together_wait_for_each_other_only_in_the_open_loop():
    ts = stream_of([(0, 8, 1), (0, 100, 1), (0, 200, 1)], gap_us=1)
    run = run_of([DISK_TIER] * 3)
    alone = response(ts, run, DEVICE, loop="alone").tiered
    waiting = response(ts, run, DEVICE, loop="open", stretched=1.0).tiered
    assert waiting.alone_us == alone.alone_us == alone.amat_us
    assert alone.p99_us == pytest.approx(DISK_IO + PER_PAGE, rel=1e-3)
    assert waiting.amat_us == pytest.approx(2 * (DISK_IO + PER_PAGE), rel=1e-2)
    assert waiting.disk_busy > 100
    assert alone.iops == waiting.iops


def test_one_factor_spreads_all_hierarchies_so_that_the_disk_alone_can_keep_up():
    ts = tier_stream(seeded_trace(3000, 400, 3))
    factor = stretch(ts, DEVICE)
    span = float(ts.trace.time_us[-1] - ts.trace.time_us[0])
    assert factor == pytest.approx(max(1.0, hdd_load(volume_trace(ts), DEVICE.hdd) / (MOST_LOAD * span)))
    runs = [run_tiers(parse_hierarchy(text), ts, 40, 200) for text in ("hca", "lru")]
    found = [response(ts, run, DEVICE, loop="open").tiered for run in runs]
    assert {own.stretched for own in found} == {factor}
    assert found[0].span_s == found[1].span_s


def test_only_what_counts_is_replayed_and_counted():
    ts = tier_stream(seeded_trace(4000, 500, 4))
    run = run_tiers(parse_hierarchy("hca"), ts, 40, 200)
    first = len(ts) // 2
    found = response(ts, run, DEVICE, first)
    row = found.reduced.first_request
    counted = counts(run, ts, int(ts.pages.request_start[row]))
    figures = found.tiered
    assert row == ts.request_of[first]
    assert (figures.rhr, figures.shr, figures.dhr) == pytest.approx((counted.rhr, counted.shr, counted.dhr))
    assert figures.bhr == pytest.approx(counted.buffer / counted.reads)
    assert (figures.reads, figures.writes, figures.ssd_written) == (counted.reads, counted.writes, counted.ssd_writes)
    assert figures.requests == len(ts.trace) - row
    assert found.reduced.disk.request.min() >= row


def test_a_larger_ssd_and_ram_take_less_time():
    ts = tier_stream(seeded_trace(6000, 800, 5))
    times = [
        response(ts, run_tiers(parse_hierarchy("lru | lru"), ts, ram, ssd), DEVICE, len(ts) // 2).tiered.amat_us
        for ram, ssd in ((20, 50), (20, 400), (200, 400))
    ]
    assert times[0] > times[1] > times[2]


def test_blocks_of_time_make_up_the_whole():
    ts = tier_stream(seeded_trace(6000, 800, 6))
    found = response(ts, run_tiers(parse_hierarchy("hca"), ts, 40, 200), DEVICE)
    blocks = found.blocks(20)
    assert blocks.shape == (20,)
    assert blocks.mean() == pytest.approx(found.tiered.amat_us, rel=0.01)
    assert blocks.std() > 0
    with pytest.raises(TraceError, match="too few read requests for 9000 blocks"):
        found.blocks(9000)


def test_a_request_as_large_as_a_block_of_time_makes_fewer_blocks():
    requests = [(0, 10 * k, 1) for k in range(400)]
    blocks = []
    for pages in (1, 60, 1000):
        requests[200] = (0, 5000, pages)
        ts = stream_of(requests)
        blocks.append(blocks_of(ts.reads_from(0)))
    assert blocks == [8, 7, 0]


def test_iops_of_snapshots_lie_about_those_of_the_whole():
    ts = tier_stream(seeded_trace(6000, 800, 7))
    found = response(ts, run_tiers(parse_hierarchy("hca"), ts, 40, 200), DEVICE)
    snapshots = found.iops_by_snapshot(1.0)
    assert len(snapshots) == pytest.approx(float(ts.trace.time_us[-1] - ts.trace.time_us[0]) / 1e6, abs=1)
    assert snapshots.min() < found.tiered.iops < snapshots.max()
    assert found.iops_by_snapshot(1e9) == pytest.approx([found.tiered.iops])


def test_random_reads_are_as_many_a_second_as_the_disk_does_over_the_share_that_it_gets():
    """HCA, Table V: IOPS of a random read are about 102 / DHR, whatever RAM, SSD and working set."""
    pages = np.random.default_rng(2).integers(0, 3000, 20_000)
    ts = stream_of([(0, int(page), 1) for page in pages])
    found = [
        response(ts, run_tiers(parse_hierarchy("hca"), ts, ram, ssd), DEVICE, len(ts) // 2).tiered
        for ram, ssd in ((300, 300), (300, 1200), (900, 1200))
    ]
    assert found[0].dhr > 2.5 * found[2].dhr
    disk_alone = 1e6 / (DISK_IO + PER_PAGE)
    assert [own.iops * own.dhr for own in found] == pytest.approx([disk_alone] * 3, rel=0.01)


def test_without_disk_or_ssd_ios_ram_is_what_counts():
    ts = stream_of([(0, 0, 1), (0, 0, 1)])
    found = response(ts, run_of([RAM_TIER] * 2), DEVICE).tiered
    assert found.amat_us == found.p99_us == pytest.approx(DRAM_US)
    assert (found.busiest, found.iops) == ("ram", pytest.approx(1e6 / DRAM_US))
    assert (found.rta_ssd_us, found.rta_hdd_us, found.write_us, found.iops_ssd) == (0, 0, 0, 0)


def test_a_trace_that_reads_nothing_has_no_amat():
    ts = stream_of([(1, 0, 1), (1, 3, 1)])
    with pytest.raises(TraceError, match="made: no page is read where it counts"):
        response(ts, run_of([DISK_TIER] * 2), DEVICE).tiered  # noqa: B018 - computed when read


def with_latency(trace, latency_us):
    return tier_stream(replace(trace, latency_us=np.full(len(trace), latency_us, np.int64)))


def test_the_loop_has_as_many_requests_as_were_outstanding_when_the_trace_was_captured():
    trace = trace_of([(0, page, 1) for page in range(0, 900, 9)], gap_us=100)
    run = run_of([DISK_TIER] * 100)
    unknown, one, four = tier_stream(trace), with_latency(trace, 100), with_latency(trace, 400)
    assert [loop_of(ts) for ts in (unknown, one, four)] == ["alone", "closed", "closed"]
    assert loop_of(with_latency(trace, -1)) == "alone"
    assert [depth_of(ts) for ts in (unknown, one, four)] == [1, 1, 4]
    times = [response(ts, run, DEVICE).tiered for ts in (unknown, one, four)]
    assert times[0].amat_us == times[1].amat_us == pytest.approx(times[0].alone_us)
    assert times[2].amat_us == pytest.approx(4 * times[0].amat_us, rel=0.05)
    assert times[2].depth == 4
    assert times[2].alone_us == times[0].alone_us
    assert times[2].disk_busy == pytest.approx(1)


def test_an_open_loop_needs_a_clock():
    ts = stream_of([(0, 0, 1), (0, 1, 1)], gap_us=0)
    with pytest.raises(DeviceError, match="made: the trace has no clock, so an open loop has no load; use closed"):
        response(ts, run_of([DISK_TIER] * 2), DEVICE, loop="open")
    assert response(ts, run_of([DISK_TIER] * 2), DEVICE).tiered.dhr == 1


def test_a_read_waits_for_what_is_being_flushed():
    ts = stream_of([(0, page, 1) for page in range(9)] + [(0, 0, 1)])
    tier = [RAM_TIER, DISK_TIER, *[RAM_TIER] * 7, SSD_TIER]
    early, late = ([(at, page, WRITTEN) for page in range(8)] for at in (0, 8))
    found = [response(ts, run_of(tier, events, ssd_pages=8), DEVICE).tiered.rta_ssd_us for events in (early, late)]
    assert found[1] > found[0] + 8 * PER_PAGE


@pytest.fixture(scope="module")
def pair():
    ts = tier_stream(seeded_trace(6000, 800, 2))
    return [response(ts, run_tiers(parse_hierarchy(text), ts, 40, 200), DEVICE) for text in ("hca", "hcalfu")]


def test_each_equation_as_printed(pair):
    own, base = (found.tiered for found in pair)
    found = paper_metrics(own, base)
    assert found["xcrta"] == pytest.approx(own.rta_ssd_us * own.shr)
    assert found["hcrta"] == pytest.approx(own.rhr * DRAM_US + own.shr * own.shr * own.rta_ssd_us)
    assert found["xciops"] == pytest.approx(own.iops_ssd * own.shr)
    assert found["bdrta"] == pytest.approx(base.dhr * base.rta_hdd_us)
    assert found["hcdrta"] == pytest.approx(own.dhr * own.rta_hdd_us)
    assert own.amat_us == pytest.approx(own.rhr * DRAM_US + found["xcrta"] + found["hcdrta"])
    assert found["rhr"] + found["shr"] + found["dhr"] == pytest.approx(1)


def test_hcrta_ranks_a_hierarchy_that_does_nothing_first(pair):
    own, base = (found.tiered for found in pair)
    assert base.amat_us > own.amat_us
    assert paper_metrics(base, base)["hcrta"] < paper_metrics(own, base)["hcrta"]


def test_dollars_per_io_are_a_mean_over_snapshots(pair):
    found = pair[0]
    snapshots = found.iops_by_snapshot()
    assert found.usd_per_io(250.0) == pytest.approx((250.0 / snapshots).mean())
    assert found.usd_per_io(500.0) == pytest.approx(2 * found.usd_per_io(250.0))
