"""The profiles that come with the project: Hydra composes each, and the hardware is what its sources say."""

import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml

from cachezoo.coded import Coded
from cachezoo.config.compose import compose
from cachezoo.config.load import validate_params
from cachezoo.devices.analytic import t_hdd_us, t_ssd_us
from cachezoo.devices.profile import access_rows, average_seek_us, distance_us, load_profile, read_device
from cachezoo.devices.queueing import NONE, hdd_times, ssd_times
from cachezoo.kernels.flash import DiskHead
from cachezoo.settings.device import AnalyticDevice, EmulatedDevice, RealDevice
from cachezoo.traces.table import Trace, TraceMeta
from tests.oracles.hdd import seek_us

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "conf/device"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
ANALYTIC = sorted(set(NAMES) - {"real", "emulated"})
KINDS = {"real": RealDevice, "emulated": EmulatedDevice}
MIB = 1 << 20


def composed(name, tmp_path):
    conf = Path(shutil.copytree(ROOT / "conf", tmp_path / "conf"))
    (conf / "overrides.yaml").write_text(f"overrides: [device={name}]\n")
    return validate_params(yaml.safe_load(compose(conf)), "composed").device


def random_trace(n, span, size, write=False):
    offset = np.random.default_rng(8).integers(0, span // 4096, n) * 4096
    marks, meta = np.full(n, write, np.uint8), TraceMeta("t", "w", "csv", "0")
    return Trace(np.arange(n, dtype=np.int64), marks, offset, np.full(n, size, np.int64), Coded.constant("0", n), meta)


def rates(device):
    return {(row["device"], row["op"], row["pattern"], row["size_bytes"]): row for row in access_rows(device)}


def test_these_are_the_profiles():
    assert ANALYTIC == ["exosx20_990pro", "hdd4tb_flash400gb", "hdd7500rpm_lexar32gb", "wdredpro2tb_850pro"]


@pytest.mark.parametrize("name", NAMES)
def test_hydra_composes_each(name, tmp_path):
    device = composed(name, tmp_path)
    assert isinstance(device, KINDS.get(name, AnalyticDevice))
    if name != "emulated":
        assert device == read_device(FOLDER / f"{name}.yaml")


@pytest.mark.parametrize("name", NAMES)
def test_each_number_has_a_comment_that_says_where_it_is_from(name):
    lines = (FOLDER / f"{name}.yaml").read_text().splitlines()
    commented = False
    for line in lines:
        commented = line.lstrip().startswith("#") or (commented and "#" not in line) or "# " in line
        if line.split("#")[0].rstrip().endswith(tuple("0123456789")):
            assert commented, line


def test_the_emulated_disk_is_that_of_rcrnn(tmp_path):
    emulated, analytic = composed("emulated", tmp_path), load_profile("wdredpro2tb_850pro", FOLDER)
    assert (emulated.hdd, emulated.ssd) == (analytic.hdd, analytic.ssd)
    assert load_profile("emulated", FOLDER) == emulated


@pytest.mark.parametrize("name", [*ANALYTIC, "emulated"])
def test_buffers_are_off(name):
    device = load_profile(name, FOLDER)
    assert (device.hdd.read_buffer.segments, device.hdd.write_buffer_bytes, device.ssd.write_buffer_bytes) == (0, 0, 0)


def test_rcrnns_hardware_is_as_its_data_sheets_say():
    device = load_profile("wdredpro2tb_850pro", FOLDER)
    found = rates(device)
    assert 12_000 < found["hdd", "read", "random", 4096]["response_us"] < 13_000
    assert found["ssd", "read", "random", 4096]["iops"] == pytest.approx(10_000, rel=0.001)
    assert found["ssd", "write", "random", 4096]["iops"] == pytest.approx(36_000, rel=0.001)
    assert found["ssd", "read", "sequential", 8 * MIB]["mb_s"] == pytest.approx(550, rel=0.01)
    assert found["ssd", "write", "sequential", 8 * MIB]["mb_s"] == pytest.approx(520, rel=0.01)
    outer = random_trace(2, 4096, MIB)
    assert MIB / t_hdd_us(outer, device.hdd)[0] == pytest.approx(164, rel=0.001)
    assert seek_us(device.hdd, 1 / 3) == pytest.approx(8500, abs=1)


def test_baleens_disk_head_time_is_exact():
    device, cost = load_profile("hdd4tb_flash400gb", FOLDER), DiskHead()
    for size, expected in ((128 << 10, 12.374), (8 * MIB, 67.444)):
        times = t_hdd_us(random_trace(200, 4 * 10**12, size), device.hdd)
        np.testing.assert_allclose(times, 1e6 * cost.seconds(np.ones(200), np.full(200, float(size))), rtol=1e-9)
        assert times[0] / 1000 == pytest.approx(expected, abs=0.0005)


def test_hcas_disk_turns_7500_times_a_minute_and_seeks_8_ms():
    device = load_profile("hdd7500rpm_lexar32gb", FOLDER)
    assert 60e6 / device.hdd.rotation_us == pytest.approx(7500)
    assert average_seek_us(device.hdd) == pytest.approx(8000)
    assert t_ssd_us(random_trace(1, 4096, 8192), device.ssd)[0] == pytest.approx(252, abs=1)


def test_the_current_pair_is_as_its_data_sheets_say():
    device = load_profile("exosx20_990pro", FOLDER)
    assert average_seek_us(device.hdd) == pytest.approx(7400)
    assert average_seek_us(device.hdd, write=True) == pytest.approx(8200)
    found = rates(device)
    assert found["ssd", "read", "random", 4096]["iops"] == pytest.approx(22_000, rel=0.001)
    assert found["ssd", "write", "random", 4096]["iops"] == pytest.approx(80_000, rel=0.001)
    assert found["ssd", "read", "sequential", 8 * MIB]["mb_s"] == pytest.approx(7450, rel=0.05)
    trace = random_trace(20_000, device.hdd.capacity_bytes, 4096)
    deep = ssd_times(trace, device.ssd, NONE, 2048)  # depth 32 in each of 64 queues
    assert 2048 / deep.mean() * 1e6 == pytest.approx(1_400_000, rel=0.1)


@pytest.mark.parametrize("name", ANALYTIC)
def test_the_average_seek_is_that_of_random_requests_through_the_kernel(name):
    hdd = load_profile(name, FOLDER).hdd
    times = t_hdd_us(random_trace(20_000, hdd.capacity_bytes, 512), hdd)
    assert times[1:].mean() - hdd.rotation_us / 2 == pytest.approx(average_seek_us(hdd), rel=0.01)


@pytest.mark.parametrize("name", ANALYTIC)
def test_a_longer_way_never_takes_less(name):
    hdd = load_profile(name, FOLDER).hdd
    times = [distance_us(hdd, 4096, part, write=False) for part in (1e-4, 0.001, 0.01, 0.1, 1 / 3, 1.0)]
    assert all(one <= other + 1e-6 for one, other in pairwise(times))


def test_a_queue_helps_the_current_disk_about_as_much_as_such_disks_are_sold_for():
    hdd = load_profile("exosx20_990pro", FOLDER).hdd
    trace = random_trace(20_000, hdd.capacity_bytes, 4096)
    iops = 16e6 / hdd_times(trace, hdd, NONE, 16, "sstf").mean()
    assert 120 < iops < 180
