"""What the virtual I/O cache's figures are made of: applications made anew, alone and on one cache, and a disk."""

import numpy as np
import pytest
import yaml

from cachezoo.kernels.virtual.queues import moves
from cachezoo.kernels.virtual.vrm import simulate
from cachezoo.settings.data import CorpusEntry
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import write_trace
from lab.virtual import alone as virtual_alone
from lab.virtual import run as virtual_run
from lab.virtual import shared as virtual_shared
from lab.virtual.alone import QUANTUM, STANDARD, Source, alone, heat_of, measured, moves_file, shortened
from lab.virtual.disk import THINK_US, Disk
from lab.virtual.paper import APPLICATIONS, MB_PAGES, QUEUE_MB, SIZES_MB, WORKLOADS
from lab.virtual.run import Settings
from lab.virtual.shared import shared, shared_sizes
from lab.virtual.traces import references
from tests.request_data import trace_of

N = QUEUE_MB * MB_PAGES


def positions(name):
    """Where an application's pages are in an LRU queue of 1 GB, in MB; without those not in it."""
    page_ids = references(name, 1)
    found = moves("lru", page_ids, int(page_ids.max()) + 1, N).position
    return found[found >= 0] / MB_PAGES


@pytest.mark.parametrize("name", APPLICATIONS)
def test_an_application_has_its_working_set_and_length(name):
    own, page_ids = APPLICATIONS[name], references(name, 1)
    assert page_ids.dtype == np.int32 and len(page_ids) == own.references
    assert page_ids.min() == 0 and len(np.unique(page_ids)) == page_ids.max() + 1 == own.pages


def test_an_application_is_the_same_again_and_another_with_another_seed():
    np.testing.assert_array_equal(references("cass", 1), references("cass", 1))
    for name in ("bsse", "cass", "pnetcdf", "tpcc", "tpcr"):
        assert (references(name, 1) != references(name, 2)).any()


def test_references_fall_where_the_paper_has_them():
    assert set(np.unique(positions("mpitile"))) == {(255 * MB_PAGES - 1) / MB_PAGES}
    netcdf = positions("pnetcdf")
    assert netcdf.min() > 256 and netcdf.max() < 356 and np.ptp(netcdf) > 80
    far = positions("lu")
    far = far[far > 64]
    assert np.mean((far >= 128) & (far < 192)) > 0.99
    for name in ("btB", "btC", "hpio"):
        assert positions(name).max() == 0
    assert positions("btA").max() > 399


def test_iterations_have_half_of_their_references_in_order():
    page_ids = references("dft2", 1)
    integrals = 3 * APPLICATIONS["dft2"].pages // 4
    swept = page_ids[page_ids < integrals]
    assert len(swept) == len(page_ids) // 2
    assert set(np.unique(np.diff(swept))) == {1, 1 - integrals}


@pytest.mark.parametrize("n", [256, 700, 3000])
def test_a_shorter_lru_queue_moves_as_a_longer_one_does_in_its_part(n):
    page_ids = np.random.default_rng(5).zipf(1.3, 4000).clip(max=2000).astype(np.int32)
    short = shortened(moves("lru", page_ids, 2001, 4096), n)
    for found, expected in zip(short, moves("lru", page_ids, 2001, n), strict=True):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == np.int32


def naive_disk(miss, moved, latency):
    clock, free, work = 0, 0, 0
    for missed, more in zip(miss, moved, strict=True):
        clock = max(clock + THINK_US, free)
        if missed:
            clock += latency
        free = clock + more * latency
        work += (missed + more) * latency
    return max(clock, free), work


@pytest.mark.parametrize("latency", [100, 900, 4000])
def test_a_disk_is_as_busy_as_one_reference_after_the_other_makes_it(latency):
    rng = np.random.default_rng(latency)
    for _ in range(50):
        miss, moved = rng.random(40) < 0.4, rng.integers(0, 4, 40) * (rng.random(40) < 0.5)
        found = Disk(miss, moved, latency)
        total, work = naive_disk(miss, moved, latency)
        assert (found.total_us, found.busy) == (total, pytest.approx(work / total))
        assert found.mean_us == total / 40


def test_the_loop_s_hits_save_no_transfer():
    found = virtual_alone.loop()
    assert found.plain == 0 and found.hits > 0.95
    assert found.transfers == pytest.approx(1, abs=1e-3)
    assert found.transfers == pytest.approx(1 - found.hits + found.moved)


def test_heat_is_the_decayed_count_of_each_row():
    rows = np.zeros(2 * QUANTUM, np.int32)
    rows[:QUANTUM] = 4 * MB_PAGES
    rows[:3] = -1
    found = heat_of(Source("lu", "made", None, 1, swept=False), rows)
    assert len(found.rows) == virtual_alone.HEAT_ROWS and found.references == 2 * QUANTUM
    assert found.rows[1] == [QUANTUM - 3, round(0.95 * (QUANTUM - 3))] and found.rows[0] == [0, QUANTUM]
    assert sum(map(sum, found.rows[2:])) == 0


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """Two captured traces: a loop over 3 MB, and one over 1 MB."""
    folder = tmp_path_factory.mktemp("traces")
    found = []
    for name, pages, length in (("long_test", 768, 9000), ("short_test", 256, 6000)):
        requests = [
            {"time_us": k, "op": 0, "offset": k % pages * 4096, "size": 4096, "volume": "v"} for k in range(length)
        ]
        trace = trace_of(requests)
        path = folder / f"{name}.parquet"
        write_trace(trace, path, expand_pages(trace))
        found.append(Source(name, "captured", path, 1, swept=name == "long_test"))
    return found


def test_an_application_is_run_at_every_size_and_setting(captured, tmp_path):
    found = alone(captured[0], tmp_path, keep=True)
    assert set(found.sizes) == {(queue, size) for queue in ("lru", "lfu", "arc") for size in SIZES_MB}
    small, large = found.sizes["lru", 2], found.sizes["lru", 4]
    assert small.plain == 0 and small.hits > 0.5 and 1 - small.hits + small.fragmentation >= 1
    assert large.plain == large.hits == pytest.approx(1 - 768 / 9000) and large.fragmentation == 0
    assert found.sweeps["cost", 1.0, 32] == found.sweeps["f", 2, 32]  # all fits: nothing is moved
    assert len(found.sweeps) == 2 * sum(map(len, virtual_alone.SWEEPS.values()))
    assert [one.megabytes for one in found.profiles()] == list(SIZES_MB)
    assert found.heat is None and not found.disk
    page_ids = captured[0].page_ids()
    kept = np.load(moves_file(tmp_path, "long_test"))
    np.testing.assert_array_equal(kept, np.stack(moves("lru", page_ids, 768, N)))
    direct = simulate(moves("lru", page_ids, 768, N), 512, N, STANDARD)
    assert found.parts[1 / 2] == found.parts[1 / 4] == measured(direct, np.zeros(9000, np.bool_))  # two fragments


def test_applications_on_one_cache_are_beside_one_lru_over_all(captured, tmp_path):
    for one in captured:
        alone(one, tmp_path, keep=True)
    rows = shared("C2", "captured", tuple(captured), tmp_path)
    assert [one.megabytes for one in rows] == shared_sizes(2) == [size for size in SIZES_MB if size >= 4]
    assert rows[0].applications == 2
    most = 1 - (768 + 256) / 15000
    assert rows[0].plain == pytest.approx(most) and rows[-1].split == pytest.approx(most, abs=0.1)
    for one in rows:
        assert 0 <= one.hits <= most + 1e-12 and one.allocation >= 0 and one.fragmentation >= 0


def test_workloads_are_table_3_s_and_the_captured_test_traces():
    with open("params.yaml", encoding="utf-8") as file:
        data = yaml.safe_load(file)
    rows = data["data"]["corpus"]["web"]
    corpus = {"web": {key: CorpusEntry.model_validate(rows[key]) for key in ("caddy_a", "web_test_long")}}
    settings = Settings(categories=["mail", "web"], roles=data["data"]["roles"], corpus=corpus, seed=7)
    found = virtual_run.sources(settings)
    assert [one.name for one in found[:20]] == list(APPLICATIONS)
    assert [(one.name, one.swept) for one in found[20:]] == [
        ("mail_test", True), ("web_lighttpd", True), ("web_test", True), ("caddy_a", False),
    ]  # fmt: skip
    own = virtual_run.workloads(settings, found)
    assert {name: tuple(one.name for one in parts) for name, parts in own.items()} == {
        **WORKLOADS, "C4": ("mail_test", "web_test"),
    }  # fmt: skip


def test_an_interval_is_student_s():
    assert virtual_run.half_width(np.array([1.0, 2.0, 3.0])) == pytest.approx(4.302653 / np.sqrt(3))
    assert virtual_run.half_width(np.array([1.0])) == 0.0


def test_shared_caches_have_two_fragments_for_each():
    assert shared_sizes(4)[0] == 8 and shared_sizes(20)[0] == 64
    assert virtual_shared.STEP == virtual_shared.REACH == 1
