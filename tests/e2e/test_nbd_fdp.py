"""The emulated FDP namespace: its counts are to the page those of the simulator, and its data is what was written."""

import json
import subprocess
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from cachezoo.bundles import load
from cachezoo.kernels.ftl import FlashDrive, run_ftl
from cachezoo.runtime import open as open_model
from cachezoo.runtime.abi import VARIABLE
from tests import placement_data
from tests.c_library import make
from tests.nbd_filter import serve

PAGE, PAGES, UNIT_PAGES, UNITS, FREE = 8192, 3000, 16, 260, 4
STATS_BYTES = 8192
FOREST = Path(__file__).parents[1] / "golden/protocol2/streams.spool.lifetime"
OPTIONS = [f"size={PAGES * PAGE}", f"page={PAGE}", f"unit-pages={UNIT_PAGES}", f"units={UNITS}", f"keep-free={FREE}"]
pytestmark = pytest.mark.needs("nbdkit", "gcc")


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    return make(tmp_path_factory, "fdp", "lib") / "nbdkit-cachezoo-fdp-plugin.so"


def counted(server):
    with server.disk("stats") as stats:
        return json.loads(stats.read(0, STATS_BYTES)[0])


def simulated(pages, handles, n_handles, trim=None, **drive):
    """What the simulator counts of the same writes, on a drive of the same geometry."""
    own = FlashDrive(UNITS, UNIT_PAGES, PAGES, FREE, streams=n_handles, **drive)
    bounds = np.array([0, len(pages)], np.int64)
    return run_ftl(np.asarray(pages, np.int32), np.asarray(handles, np.uint8), own, bounds=bounds, trim=trim)


def agrees(stats, run):
    assert stats["host_pages"] == run.host.sum() and stats["copied_pages"] == run.copied.sum()
    assert stats["erased_units"] == run.erased.sum() and stats["waf"] == run.waf()
    handles = len(stats["host_pages_by_handle"])
    assert stats["host_pages_by_handle"] == run.host_by_stream[:handles].tolist()
    assert stats["hbmw"] == PAGE * stats["host_pages"]
    assert stats["mbmw"] == PAGE * (stats["host_pages"] + stats["copied_pages"])


@pytest.mark.slow(seconds=60)
def test_a_bundle_s_placement_has_the_simulator_s_write_amplification(plugin, tmp_path, monkeypatch):
    """Each page of each write goes to the export of the handle that the bundle names."""
    monkeypatch.setenv(VARIABLE, str(plugin.with_name("libcachezoo.so")))
    batch = placement_data.cycle(12, 5000)
    n = placement_data.FOREST_STREAMS
    pages, handles = [], []
    with (
        serve(None, tmp_path, [*OPTIONS, f"handles={n}"], [str(plugin)]) as server,
        open_model(FOREST) as model,
        ExitStack() as stack,
    ):
        disks = [stack.enter_context(server.disk(f"ruh={k}")) for k in range(n)]
        for at, op, offset, size in zip(batch.time_us, batch.op, batch.offset, batch.size, strict=True):
            if not op:
                continue
            for k, handle in enumerate(model.place_pages(int(at), int(offset), int(size))):
                page = int(offset) // PAGE + k
                low, high = max(int(offset), page * PAGE), min(int(offset + size), (page + 1) * PAGE)
                disks[handle].write(low, bytes([handle + 1]) * (high - low))
                pages.append(page)
                handles.append(handle)
        agrees(counted(server), simulated(pages, handles, n))
        last = dict(zip(pages, handles, strict=True))
        for page in sorted(last)[:50]:  # through any export
            assert bytes([last[page] + 1]) in disks[0].read(page * PAGE, PAGE)[0]
    assert handles == load(FOREST).serving().place(batch).tolist() and len(set(handles)) > 2


@pytest.mark.parametrize(
    ("options", "drive"),
    [
        ([], {}),
        (["victim=cost-benefit"], {"victim": "cost-benefit"}),
        (["isolation=initially"], {"copies": "shared"}),
        (["isolation=persistently", "victim=cost-benefit"], {"copies": "apart", "victim": "cost-benefit"}),
    ],
)
def test_every_kind_of_drive_counts_as_the_simulator_does(plugin, tmp_path, options, drive):
    """Writes of skewed places through one aliased export, a tenth of them trims."""
    draws, n, handles = np.random.default_rng(5), 12_000, 3
    pages = np.where(draws.random(n) < 0.8, draws.integers(0, PAGES // 5, n), draws.integers(0, PAGES, n))
    named, trim = draws.integers(0, handles, n), draws.random(n) < 0.1
    with serve(None, tmp_path, [*OPTIONS, f"handles={handles}", "alias=true", *options], [str(plugin)]) as server:
        with server.disk() as disk:
            assert disk.size == handles * PAGES * PAGE
            for page, handle, gone in zip(pages.tolist(), named.tolist(), trim.tolist(), strict=True):
                offset = (handle * PAGES + page) * PAGE
                if gone:
                    disk.trim(offset, PAGE)
                else:
                    disk.write(offset, b"x" * PAGE)
        agrees(counted(server), simulated(pages, named, handles, trim, **drive))


@pytest.mark.needs("fio")
def test_fio_writes_to_two_handles(plugin, tmp_path):
    """A job for each export; what it wrote is counted by handle, and at the end written to a file."""
    options = [*OPTIONS, "handles=2", f"stats={tmp_path / 'stats.json'}"]
    with serve(None, tmp_path, options, [str(plugin)]) as server:
        jobs = []
        for k, size in enumerate((4, 8)):
            uri = f"nbd+unix:///ruh={k}?socket={server.path}"
            jobs += [f"--name=handle{k}", "--ioengine=nbd", f"--uri={uri}", "--rw=randwrite", "--bs=8k", "--randseed=1",
                     f"--io_size={size}m", f"--size={PAGES * PAGE}"]  # fmt: skip
        done = subprocess.run(["fio", *jobs], capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        found = counted(server)
        server.stop()
    assert found["host_pages_by_handle"] == [512, 1024]
    assert json.loads((tmp_path / "stats.json").read_text()) == found


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "give size="),
        (["size=100"], "it is a multiple of page=8192"),
        (["size=8M", "units=8"], "no such drive: too few reclaim units"),
        (["size=8M", "victim=oldest"], "victim=oldest: it is one of greedy, cost-benefit"),
        (["size=8M", "handles=129"], "handles=129: it is a number from 1 to 128"),
        (["size=8M", "over-provisioning=1"], "it is a share above 0 and below 1"),
        (["size=8M", "ruhs=3"], "ruhs: no such option"),
    ],
)
def test_what_is_no_drive_is_refused_in_one_line(plugin, tmp_path, options, said):
    command = ["nbdkit", "-f", "-U", str(tmp_path / "no.sock"), str(plugin), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and said in done.stderr


def test_an_export_of_no_handle_is_refused(plugin, tmp_path):
    with serve(None, tmp_path, [*OPTIONS, "handles=2"], [str(plugin)]) as server, pytest.raises(ConnectionResetError):
        with server.disk("ruh=2"):
            pass


def test_a_larger_file_is_not_cut(plugin, tmp_path):
    kept = tmp_path / "data"
    kept.write_bytes(bytes(PAGES * PAGE + 1))
    done = subprocess.run(
        ["nbdkit", "-U", "-", plugin, *OPTIONS, f"file={kept}", "--run", "true"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode != 0 and "would be cut; give another file" in done.stderr
    assert kept.stat().st_size == PAGES * PAGE + 1
