"""The nbdkit filter: hits as simulated, right bytes after restarts, kills and damage, and errors that stay inside."""

import hashlib
import json
import os
import random
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from cachezoo.bundles import Coded, RequestBatch, load
from cachezoo.bundles.protocol import model_digest
from cachezoo.bundles.release import release, sign_release
from cachezoo.flash_cache.modes import plain_prefetch
from cachezoo.kernels.flash import simulate_flash, simulate_rejectx
from cachezoo.kernels.segments import Geometry, expand_segments
from cachezoo.seeds import derive_seed
from cachezoo.traces.ingest import ingest
from cachezoo.traces.read import TraceFiles
from cachezoo.traces.store import read_trace
from tests.c_library import CHECKED, make
from tests.nbd_crashes import run as run_crashes
from tests.nbd_crashes import set_up
from tests.nbd_filter import refused, sanitizing, serve
from tests.nbd_kills import run as run_kills
from tests.signed import public_pem, signing

ROOT = Path(__file__).parents[2]
STORED = ROOT / "tests/golden/protocol2"
CAPTURED = ROOT / "data/raw/captured/web_test.parquet"
UNIT, REPLAYED = 4096, 12_000

pytestmark = pytest.mark.needs("nbdkit", "gcc")


@pytest.fixture
def folder(tmp_path):
    """With a disk of 1 MiB of random bytes."""
    (tmp_path / "disk").write_bytes(random.Random(derive_seed(0, "disk")).randbytes(1 << 20))
    return tmp_path


def tier(folder, size="256K", *more):
    """Options of a tier, with its counters."""
    return [f"cz-ssd={folder / 'ssd'}", f"cz-size={size}", f"cz-stats={folder / 'stats.json'}", *more]


def labelled(folder, size="256K", *more):
    """Options of a tier that outlasts kills."""
    return tier(folder, size, f"cz-label={folder / 'label'}", *more)


def back(folder, size="256K", *more):
    """Options of a tier with write-back, by a page cache of 4 KiB pages."""
    return labelled(folder, size, *more, "cz-writes=back", "cz-policy=s3fifo")


def through(folder, size="256K", *more):
    """The same with write-through."""
    return labelled(folder, size, *more, "cz-writes=through", "cz-policy=lru")


def counters(folder):
    return json.loads((folder / "stats.json").read_text())


def wait_for_text(path, text):
    """Until a file holds it."""
    end = time.monotonic() + 60
    while not path.exists() or text not in path.read_text():
        assert time.monotonic() < end, f"{path} did not say {text!r} within 60 s"
        time.sleep(0.005)


def wait_for_entries(folder, count, slots=256):
    """Until the table on the SSD has so many: fills are written behind the reads."""
    end = time.monotonic() + 60
    while True:
        table = np.frombuffer((folder / "ssd").read_bytes()[8192 : 8192 + slots * 32], np.int64).reshape(-1, 4)
        if np.count_nonzero(table[:, 1]) == count:
            return
        assert time.monotonic() < end, f"the table did not have {count} entries within 60 s"
        time.sleep(0.005)


def read_all(server, folder, step=64 << 10):
    """Read the whole disk through the cache; it is what the disk holds."""
    behind = (folder / "disk").read_bytes()
    with server.disk() as disk:
        assert disk.size == len(behind)
        for low in range(0, len(behind), step):
            assert disk.read(low, min(step, len(behind) - low))[0] == behind[low : low + step], f"from byte {low}"


class Replayed:
    """The beginning of a captured trace, for the simulator and for a client."""

    def __init__(self):
        trace = read_trace(CAPTURED)
        rows = slice(0, REPLAYED)
        self.op, self.offset, self.size = trace.op[rows], trace.offset[rows], trace.size[rows]
        self.time_us = trace.time_us[rows]
        self.accesses = expand_segments(np.zeros(REPLAYED, np.int32), self.offset, self.size, Geometry())
        self.read = self.op == 0
        self.disk_bytes = (int((self.offset + self.size).max()) // UNIT + 1024) * UNIT

    def plain(self, mode):
        return plain_prefetch(mode, self.accesses.first + self.accesses.sizes - 1, self.accesses.per_block)

    def send(self, disk):
        """One request after the other."""
        blank = bytes(int(self.size.max()))
        for op, offset, size in zip(self.op.tolist(), self.offset.tolist(), self.size.tolist(), strict=True):
            if op == 0:
                disk.read(offset, size)
            else:
                disk.write(offset, blank[:size])


@pytest.fixture(scope="module")
def replayed():
    return Replayed()


def served(built, tmp_path, replayed, options):
    """The filter's counters after the replay."""
    with (tmp_path / "disk").open("wb") as file:
        file.truncate(replayed.disk_bytes)
    with serve(built, tmp_path, options) as server:
        with server.disk() as disk:
            replayed.send(disk)
        server.stop()
    return counters(tmp_path)


def check_counters(found, expected):
    assert found["read_hits"] == expected.hits.sum() > 0
    assert found["admitted"] + found["prefetched"] == expected.written.sum()
    assert found["ssd_writes"] + found["ssd_writes_skipped"] == expected.written.sum()
    assert found["prefetched"] == expected.prefetched.sum()
    assert found["evicted"] == expected.evictions > 0
    assert found["disk_read_units"] == expected.io_segments.sum()
    zeros = {"hits_read_from_disk", "ssd_corrupt", "ssd_errors", "policy_failures", "ssd_writes_cancelled"}
    assert {name: found[name] for name in zeros} == dict.fromkeys(zeros, 0)
    assert not found["bypassed"]
    assert found["decisions"] == REPLAYED


def test_a_replayed_trace_hits_as_in_the_simulator_by_lru(built, tmp_path, replayed):
    found = served(built, tmp_path, replayed, tier(tmp_path, "8M", "cz-prefetch=next(16)"))
    admit = np.ones(REPLAYED, np.bool_)
    prefetch = replayed.plain("next(16)")
    expected = simulate_flash(replayed.accesses, replayed.read, admit, 2048, prefetch=prefetch, whole_block=True)
    check_counters(found, expected)


def test_a_replayed_trace_hits_as_in_the_simulator_by_rejectx(built, tmp_path, replayed):
    options = tier(tmp_path, "4M", "cz-mode=rejectx", "cz-window=5000", "cz-prefetch=all_on_partial")
    prefetch = replayed.plain("all_on_partial")
    expected = simulate_rejectx(replayed.accesses, replayed.read, 5000, 1024, prefetch=prefetch, whole_block=True)
    check_counters(served(built, tmp_path, replayed, options), expected)


def batch_of(replayed):
    """The requests as the filter gives them to its model: one volume, nothing known of programs."""
    unknown = Coded.of(["a program that no model has seen"] * REPLAYED)
    volume = Coded.of(["disk"] * REPLAYED)
    return RequestBatch(replayed.time_us, replayed.op, replayed.offset, replayed.size, volume, volume, unknown)


def test_a_replayed_trace_hits_as_in_the_simulator_by_a_model(built, tmp_path, replayed):
    path = STORED / "admission.database.lgbm"
    bundle = load(path)
    setting = bundle.manifest["calibration"]["with_prefetch"]
    model = bundle.serving()
    admit = model.scores(model.features(batch_of(replayed))) >= setting["threshold"]
    assert 0 < admit.sum() < REPLAYED
    found = served(built, tmp_path, replayed, tier(tmp_path, "4M", f"cz-bundle={path}"))
    prefetch = replayed.plain(setting["mode"])
    check_counters(found, simulate_flash(replayed.accesses, replayed.read, admit, 1024, prefetch=prefetch))
    assert (found["mode"], found["bundle"]) == ("model", "admission.database.lgbm")
    assert (found["prefetch"], found["model_digest"]) == (setting["mode"], bundle.model_digest)


def with_values(source, target, threshold, touch):
    """A bundle as it would be with another threshold, and saying what a read touches."""
    shutil.copytree(source, target)
    model = json.loads((target / "model.json").read_text())
    model["calibration"]["threshold"] = threshold
    model["policy"]["touch"] = touch
    content = json.dumps(model).encode()
    (target / "model.json").write_bytes(content)
    manifest = json.loads((target / "manifest.json").read_text())
    entry = next(entry for entry in manifest["files"] if entry["path"] == "model.json")
    entry |= {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
    manifest["model_digest"] = model_digest(manifest["files"])
    content = json.dumps(manifest).encode()
    (target / "manifest.json").write_bytes(content)
    (target / "manifest.sha256").write_text(f"{hashlib.sha256(content).hexdigest()}  manifest.json\n")
    return target


def test_after_a_clean_end_the_tier_is_warm(built, folder):
    for _ in range(2):
        with serve(built, folder, tier(folder, "1M")) as server:
            read_all(server, folder)
            server.stop()
    assert (counters(folder)["resident_at_start"], counters(folder)["read_hits"], counters(folder)["read_misses"]) == (
        256,
        256,
        0,
    )


def test_what_was_used_last_stays_after_a_restart(built, folder):
    with serve(built, folder, tier(folder, "32K")) as server:
        with server.disk() as disk:
            for number in (0, 1, 2, 3, 4, 5, 6, 7, 0, 2, 4, 6):
                disk.read(number * UNIT, UNIT)
        server.stop()
    with serve(built, folder, tier(folder, "32K")) as server:
        with server.disk() as disk:
            for number in (10, 11, 12, 13, 0, 2, 4, 6):
                disk.read(number * UNIT, UNIT)
        server.stop()
    assert (counters(folder)["resident_at_start"], counters(folder)["read_hits"]) == (8, 4)


def test_what_the_disk_has_not_flushed_is_cached_but_not_kept(built, folder):
    """A crash of the machine could undo the write, and the tier would hold what the disk does not."""

    def warm(flush):
        with serve(built, folder, labelled(folder, "1M")) as server:
            with server.disk() as disk:
                disk.write(0, b"x" * UNIT)
                disk.read(0, UNIT)
                disk.read(8 * UNIT, UNIT)
                if flush:
                    disk.flush()
                wait_for_entries(folder, 1 + flush)
                server.kill()
        with serve(built, folder, labelled(folder, "1M")) as server:
            read_all(server, folder)
            server.stop()
        recovered = counters(folder)["resident_at_start"]
        (folder / "ssd").unlink()
        return recovered

    assert (warm(flush=False), warm(flush=True)) == (1, 2)


def test_a_tier_of_another_disk_volume_or_geometry_begins_empty(built, folder):
    def start(*options, size="256K"):
        with serve(built, folder, tier(folder, size, *options)) as server:
            read_all(server, folder)
            server.stop()
            said = server.said.read_text()
        return counters(folder)["resident_at_start"], said

    assert start() == (0, "")
    assert start("cz-volume=other")[0] == 0
    assert "it is of another volume" in start()[1]
    assert "its geometry is another" in start(size="128K")[1]
    start()
    with (folder / "disk").open("ab") as file:
        file.write(b"more" * 128)
    assert "the disk behind it has another size" in start()[1]
    assert start()[0] == 64


def test_a_disk_that_ends_within_a_segment_is_read_to_its_last_byte(built, folder):
    os.truncate(folder / "disk", (1 << 20) - 3 * 512)
    for _ in range(2):
        with serve(built, folder, tier(folder, "1M", "cz-prefetch=all_on_miss")) as server:
            read_all(server, folder, 4096)
            server.stop()
    assert counters(folder)["read_hits"] == 256


@pytest.mark.parametrize("unit", [4096, 12288, 16384])
def test_a_disk_of_larger_blocks_than_segments_is_passed_through(built, folder, unit):
    small = f"the disk is read in blocks of 8192 bytes and a segment has {unit}"
    plugin = ["--filter=blocksize-policy", "file", str(folder / "disk")]
    plugin += ["blocksize-minimum=8192", "blocksize-preferred=8192", "blocksize-error-policy=error"]
    options = tier(folder, "768K", f"cz-unit={unit}", "cz-block=196608")
    with serve(built, folder, options, plugin) as server:
        read_all(server, folder, 8192)
        read_all(server, folder, 8192)
        server.stop()
        said = server.said.read_text()
    assert said.count(small) == (0 if unit == 16384 else 2)
    assert (counters(folder)["read_misses"] > 0) == (unit == 16384)
    assert counters(folder)["policy_failures"] == 0


@pytest.mark.parametrize("damages", [10, pytest.param(200, marks=pytest.mark.long)])
def test_a_damaged_tier_gives_right_bytes_or_none(built, folder, damages):
    rng = random.Random(derive_seed(0, "damage"))
    with serve(built, folder, tier(folder, "1M")) as server:
        read_all(server, folder)
        server.stop()
    sound = (folder / "ssd").read_bytes()
    table, data = 8192 + 256 * 32, 1 << 20
    recovered = corrupt = 0
    for case in range(damages):
        damaged = bytearray(sound)
        for _ in range(rng.randint(1, 12)):
            low, high = rng.choice(((8, 512), (8, table), (data, len(damaged))))  # without its first word it is no tier
            at = rng.randrange(low, high)
            length = rng.choice((1, 1, 8, 512, 4096))
            damaged[at : at + length] = rng.choice((bytes(length), rng.randbytes(length)))[: len(damaged) - at]
        if case % 10 == 0:
            del damaged[rng.randrange(data, len(damaged)) :]
        (folder / "ssd").write_bytes(damaged)
        with serve(built, folder, tier(folder, "1M")) as server:
            read_all(server, folder)
            server.stop()
        recovered += counters(folder)["resident_at_start"]
        corrupt += counters(folder)["ssd_corrupt"]
    assert recovered > 0
    assert corrupt > 0


def test_slots_that_were_swapped_are_not_served(built, folder):
    """Whole entries and whole data, each with a right CRC of its own, but of other slots or another tier."""
    with serve(built, folder, tier(folder)) as server:
        read_all(server, folder)
        server.stop()
    sound = bytearray((folder / "ssd").read_bytes())
    sound[8192:8224], sound[8224:8256] = sound[8224:8256], sound[8192:8224]
    (folder / "ssd").write_bytes(sound)
    with serve(built, folder, tier(folder)) as server:
        read_all(server, folder)
        server.stop()
    assert counters(folder)["resident_at_start"] == 62


REJECTX = ("cz-mode=rejectx", "cz-window=300", "cz-prefetch=next(4)")


@pytest.mark.parametrize("kills", [3, pytest.param(200, marks=pytest.mark.long)])
@pytest.mark.parametrize("options", [(), REJECTX])
@pytest.mark.parametrize("label", [True, False])
def test_no_kill_makes_a_stale_byte(built, slow, tmp_path, options, label, kills):
    counts = run_kills(built, slow, tmp_path, kills, [*options, *([f"cz-label={tmp_path / 'label'}"] if label else [])])
    assert (counts["resident_at_start"] > 0) == label
    assert counts["read_hits"] > 0 or not label
    assert counts["ssd_errors"] == 0


@pytest.mark.parametrize("crashes", [20, pytest.param(1000, marks=pytest.mark.long)])
def test_no_crash_of_the_machine_makes_a_stale_byte(built, slow, tmp_path, crashes):
    counts = run_crashes(set_up(tmp_path, built, slow), crashes)
    assert counts["resident_at_start"] > 0
    assert counts["ssd_corrupt"] > 0 or crashes < 1000  # of few, it may be that none tore what is taken up


def test_a_second_process_on_the_tier_or_the_disk_is_refused(built, folder):
    other = folder / "other"
    other.mkdir()
    shutil.copy(folder / "disk", other)
    with serve(built, folder, tier(folder)) as server:
        for place, options, said in (
            (other, tier(folder), f"{folder / 'ssd'}: another cache uses this tier"),
            (folder, tier(other), f"{folder / 'disk'}: another cache uses this disk"),
        ):
            message = refused(built, place, options)
            assert said in message
            assert message.count("\n") == 1
        server.stop()


def rounds_of_a_client(server, own):
    """Write blocks of its own, one in four, and read those of all: never older than what it has seen."""
    blocks = 16
    rng, seen = random.Random(derive_seed(0, "client", own)), [0] * blocks
    with server.disk() as disk:
        for turn in range(1, 61):
            mine = rng.choice([k for k in range(blocks) if k % 4 == own])
            disk.write(mine * UNIT, turn.to_bytes(8, "little") * (UNIT // 8))
            seen[mine] = turn
            for _ in range(6):
                other = rng.randrange(blocks)
                data = disk.read(other * UNIT, UNIT)[0]
                found = int.from_bytes(data[:8], "little")
                assert data == found.to_bytes(8, "little") * (UNIT // 8)
                assert found >= seen[other]
                seen[other] = found
            disk.flush()


SANITIZERS = {"": {}, "asan": CHECKED, "tsan": {"OPTIMISE": "-O1", "EXTRA_CFLAGS": "-g -fsanitize=thread"}}


@pytest.mark.parametrize("mode", [tier, through, back])
@pytest.mark.parametrize(
    "sanitizer",
    ["", *(pytest.param(name, marks=pytest.mark.long) for name in ("asan", "tsan"))],
)
def test_clients_of_one_disk_see_each_others_writes(tmp_path_factory, slow, folder, sanitizer, mode):
    built = make(tmp_path_factory, "filter", **SANITIZERS[sanitizer]) / "nbdkit-cachezoo-filter.so"
    (folder / "disk").write_bytes(bytes(1 << 20))
    plugin = [str(slow), f"file={folder / 'disk'}", "slow-us=300"]
    options = mode(folder, "32K", "cz-stats-interval=1", *(["cz-prefetch=next(2)"] if mode is tier else []))
    with serve(built, folder, options, plugin, sanitizing(sanitizer)) as server, ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(rounds_of_a_client, server, own) for own in range(4)]:
            done.result()
        with server.disk() as disk:
            read = disk.read(0, disk.size)[0]
        server.stop()
    assert read == (folder / "disk").read_bytes()
    assert counters(folder)["read_hits"] > 0


@contextmanager
def small_filesystem(folder, size):
    """A tmpfs of so many bytes."""
    place = folder / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "cachezoo-test", str(place)], check=True, timeout=30)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True, timeout=30)


@pytest.mark.needs("root")
def test_a_full_device_ends_the_cache_and_no_client_sees_it(built, folder):
    with small_filesystem(folder, (1 << 20) + (128 << 10)) as place:
        options = [f"cz-ssd={place / 'ssd'}", "cz-size=1M", f"cz-stats={folder / 'stats.json'}"]
        with serve(built, folder, options) as server:
            for _ in range(2):
                read_all(server, folder)
            with server.disk() as disk:
                disk.write(0, b"y" * (64 << 10))
            read_all(server, folder)
            server.stop()
            assert server.said.read_text().count("the cache is bypassed from here on") == 1
        found = counters(folder)
        assert found["ssd_errors"] >= 8
        assert found["bypassed"]
        assert 0 < found["ssd_writes"] <= 32
        (place / "ssd").unlink()
        for _ in range(2):
            with serve(built, folder, options) as server:
                server.stop()


def test_a_device_that_shrinks_ends_the_cache_and_no_client_sees_it(built, folder):
    with serve(built, folder, tier(folder, "1M")) as server:
        read_all(server, folder)
        server.wait_until_alone()  # all is written
        os.truncate(folder / "ssd", (1 << 20) + 8192)
        read_all(server, folder)
        server.stop()
    assert counters(folder)["ssd_errors"] >= 8
    assert counters(folder)["bypassed"]
    with serve(built, folder, tier(folder, "1M")) as server:
        read_all(server, folder)
        server.stop()
    assert counters(folder)["resident_at_start"] == 0


def test_trims_and_zeroes_leave_the_cache(built, folder):
    with serve(built, folder, tier(folder, "1M")) as server:
        read_all(server, folder)
        with server.disk() as disk:
            disk.zero(3 * UNIT, 2 * UNIT)
            disk.trim(100 * UNIT, 20 * UNIT)
        read_all(server, folder)
        server.stop()
    found = counters(folder)
    assert (found["zeroes"], found["trims"], found["invalidated"], found["read_hits"]) == (1, 1, 22, 256 - 22)


def test_the_last_counters_are_written_however_late_threads_start(built, folder):
    source, late = ROOT / "runtimes/c/tests/late_preload.c", folder / "late.so"
    flags = ["-std=gnu11", "-D_GNU_SOURCE", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["gcc", *flags, "-o", str(late), str(source), "-ldl"], check=True, timeout=60)
    with serve(built, folder, tier(folder), variables={"LD_PRELOAD": str(late)}) as server:
        server.stop()
    assert counters(folder)["read_requests"] == 0


def test_the_log_is_a_trace(built, folder):
    options = tier(folder, "256K", f"cz-log={folder / 'log.csv'}", "cz-volume=sda")
    with serve(built, folder, options) as server:
        with server.disk() as disk:
            disk.write(4096, b"z" * 1024)
            disk.read(512, 8192)
        server.stop()
    ingest(TraceFiles([folder / "log.csv"]), folder / "log.parquet")
    trace = read_trace(folder / "log.parquet")
    assert trace.op.tolist() == [1, 0]
    assert (trace.offset.tolist(), trace.size.tolist()) == ([4096, 512], [1024, 8192])
    assert trace.volume.names == ("sda",)


@pytest.mark.needs("libsodium")
def test_where_a_key_is_set_no_bundle_is_loaded_but_one_of_its_release(built, folder):
    secret, key = folder / "key.pem", folder / "key.pub"
    secret.write_bytes(signing().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    key.write_bytes(public_pem())
    (own,) = found = release([STORED / "admission.database.lgbm"], folder / "release")
    sign_release(found, folder / "release", secret)
    with serve(built, folder, tier(folder, "4M", f"cz-bundle={own.archive}", f"cz-key={key}")) as server:
        server.stop()
    assert counters(folder)["bundle"] == own.bundle.id
    other = Path(shutil.copy(own.archive, folder))
    for more in ((f"cz-bundle={other}",),):
        message = refused(built, folder, tier(folder, "4M", *more, f"cz-key={key}"))
        assert "asks for a signed release" in message and message.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["cz-size=1M"], "cz-ssd is missing"),
        (["cz-ssd=ssd"], "cz-size is missing"),
        (["cz-ssd=ssd", "cz-size=1M", "cz-mode=arc"], "there are lru, rejectx and model"),
        (["cz-ssd=ssd", "cz-size=1M", "cz-mode=model"], "cz-mode=model needs cz-bundle"),
        (["cz-ssd=ssd", "cz-size=1M", "cz-window=5"], "cz-window and cz-misses are for cz-mode=rejectx"),
        (["cz-ssd=ssd", "cz-size=1M", "cz-colour=red"], "cz-colour is no option"),
        (["cz-ssd=ssd", "cz-size=1M", "cz-prefetch=next(0)"], "prefetch mode next(0) is unknown"),
        (["cz-ssd=ssd", "cz-size=1M", "cz-prefetch=ml_range"], "prefetch mode ml_range is unknown"),
        (["cz-ssd=ssd", "cz-size=1M", "cz-prefetch-bundle=b"], "models of kind prefetch are no longer run"),
        (["cz-ssd=ssd", "cz-size=1M", "cz-unit=1000"], "whole sectors of 512 bytes"),
        (["cz-ssd=ssd", "cz-size=1K"], "capacity is 0"),
        (["cz-ssd=.", "cz-size=1M"], "neither a file nor a block device"),
        (["cz-ssd=ssd", "cz-size=1M", "cz-bundle=nowhere"], "nowhere"),
        (["cz-ssd=ssd", "cz-size=1M", "cz-key=key"], "cz-key is of the release that cz-bundle is in"),
        (["cz-ssd=ssd", "cz-size=1M", "cz-log=disk"], "exists already"),
        (["cz-ssd=ssd", "cz-size=1M", "cz-stats=nowhere/x.json"], "nowhere/x.json: No such file or directory"),
    ],
)
def test_wrong_options_are_refused_in_a_line(built, folder, monkeypatch, options, said):
    monkeypatch.chdir(folder)
    message = refused(built, folder, options)
    assert said in message
    assert message.count("\n") == 1
