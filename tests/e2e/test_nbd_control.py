"""The control socket of the mounted cache: status, another policy, another SSD, while clients read and write."""

import contextlib
import json
import os
import random
import shutil
import socket
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from cachezoo.bundles.writer import write_bundle
from cachezoo.coded import Coded
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.engine import simulate
from cachezoo.policies.prefetches import prefetched_stream
from cachezoo.policies.spec import parse
from cachezoo.seeds import derive_seed
from cachezoo.serving.requests import batch_of
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import Trace, TraceMeta
from tests.baleen_data import make_trace
from tests.bundle_data import EXPORT, metrics, reseal, trained_of  # noqa: F401 - a fixture
from tests.c_library import CHECKED, make
from tests.nbd_filter import control, refused, sanitizing, serve

ROOT = Path(__file__).parents[2]
STORED = ROOT / "tests/golden/protocol2"
UNIT, UNITS, BLOCKS = 4096, 256, 64
SANITIZERS = {"": {}, "asan": CHECKED, "tsan": {"OPTIMISE": "-O1", "EXTRA_CFLAGS": "-g -fsanitize=thread"}}
LONG = [pytest.param(name, marks=pytest.mark.long) for name in ("asan", "tsan")]
POLICIES = ("lru", "s3fifo", "rejectx(x=1)+lirs+next(n=4)", "arc", "wtinylfu", "sieve", "larc", "clock")

pytestmark = pytest.mark.needs("nbdkit", "gcc")


@pytest.fixture
def folder(tmp_path):
    """With a disk of 1 MiB of random bytes."""
    (tmp_path / "disk").write_bytes(random.Random(derive_seed(0, "disk")).randbytes(UNITS * UNIT))
    return tmp_path


def options(folder, size="256K", *more):
    return [f"cz-ssd={folder / 'ssd'}", f"cz-size={size}", f"cz-control={folder / 'control'}", *more]


def ask(folder, command, *lines):
    return control(folder / "control", command, *lines)


def status(folder):
    return ask(folder, "status")


def read_units(disk, folder, numbers=range(UNITS)):
    """They are what the disk holds."""
    behind = (folder / "disk").read_bytes()
    for number in numbers:
        assert disk.read(number * UNIT, UNIT)[0] == behind[number * UNIT : (number + 1) * UNIT], number


# ---- status ----


def test_the_status_counts_requests_units_and_times(built, folder):
    with serve(built, folder, options(folder, "1M", "cz-policy=s3fifo")) as server:
        with server.disk() as disk:
            read_units(disk, folder)
            read_units(disk, folder)
            disk.write(0, bytes(UNIT))
        found = status(folder)
        server.stop()
    assert (found["mode"], found["policy"], found["kind"], found["writes"]) == ("policy", "s3fifo", "policy", "around")
    assert (found["read_requests"], found["write_requests"], found["read_hits"]) == (2 * UNITS, 1, UNITS)
    assert (found["resident"], found["cache_bytes"], found["disk_bytes"]) == (UNITS, 1 << 20, UNITS * UNIT)
    assert (found["bypassed"], found["bypass_reason"], found["bypassed_at_s"]) == (False, "", -1)
    latency = found["latency"]
    counts = {name: latency[name]["count"] for name in latency}
    assert counts == {"decision": 2 * UNITS + 1, "read_ssd": UNITS, "read_disk": UNITS, "read_both": 0, "write": 1}
    for histogram in latency.values():
        assert len(histogram["buckets"]) == len(histogram["bounds"]) + 1
        assert np.all(np.diff(histogram["buckets"]) >= 0)
        assert np.all(np.diff(histogram["bounds"]) > 0)
        assert histogram["buckets"][-1] == histogram["count"]
        assert histogram["p50"] <= histogram["p99"] <= histogram["max"] <= histogram["sum"] or histogram["count"] == 0


def test_the_socket_is_the_owners_and_goes_with_the_process(built, folder):
    with serve(built, folder, options(folder)) as server:
        assert stat.S_IMODE((folder / "control").stat().st_mode) == 0o600
        other = folder / "other"
        other.mkdir()
        shutil.copy(folder / "disk", other)
        used = [f"cz-ssd={other / 'ssd'}", "cz-size=256K", f"cz-control={folder / 'control'}"]
        said = refused(built, other, used)
        assert "another process listens there" in said
        assert said.count("\n") == 1
        assert not (other / "ssd").exists()
        server.kill()
    assert (folder / "control").exists()
    with serve(built, folder, options(folder)) as server:  # what a killed process left is replaced
        assert status(folder)["policy"] == "lru"
        server.stop()
    assert not (folder / "control").exists()


def test_with_write_back_policy_and_ssd_stay(built, folder):
    """The SSD may hold what the disk does not."""
    given = options(folder, "1M", "cz-policy=lru", "cz-writes=back", f"cz-label={folder / 'label'}")
    with serve(built, folder, given) as server:
        with server.disk() as disk:
            disk.write(0, b"b" * UNIT)
            assert status(folder)["dirty"] == 1
            assert "until the next start" in ask(folder, "reload", "cz-policy=arc")["error"]
            assert "the disk does not" in ask(folder, "attach", f"cz-ssd={folder / 'ssd2'}")["error"]
            assert disk.read(0, UNIT)[0] == b"b" * UNIT
        server.stop()
    assert (folder / "disk").read_bytes()[:UNIT] == b"b" * UNIT


def test_commands_that_are_none_are_refused_in_a_line(built, folder):
    with serve(built, folder, options(folder)) as server:
        assert "the commands are status, reload and attach" in ask(folder, "halt")["error"]
        with socket.socket(socket.AF_UNIX) as wire:
            wire.connect(str(folder / "control"))
            wire.sendall(b"x" * 40000)
        assert status(folder)["policy"] == "lru"
        server.stop()


def trickle(wire, ends):
    """A client that sends a command letter by letter, until it is cut off."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        while not ends.wait(0.2):
            wire.sendall(b"x")


@pytest.mark.parametrize("stops", [False, True])
def test_a_slow_client_keeps_neither_others_nor_the_end_waiting(built, folder, stops):
    ends = threading.Event()
    with serve(built, folder, options(folder)) as server, socket.socket(socket.AF_UNIX) as wire:
        wire.connect(str(folder / "control"))
        wire.sendall(b"x")
        slow = threading.Thread(target=trickle, args=(wire, ends))
        slow.start()
        try:
            if not stops:
                assert status(folder)["policy"] == "lru"  # after the time that a command may take
            server.stop()
        finally:
            ends.set()
            slow.join()


@pytest.mark.parametrize("cut", [b"reload\ncz-policy=arc", b"reload\ncz-policy=arc\n", b"status", b"status\n"])
def test_a_command_that_is_cut_off_is_not_carried_out(built, folder, cut):
    with serve(built, folder, options(folder)) as server:
        with socket.socket(socket.AF_UNIX) as wire:
            wire.connect(str(folder / "control"))
            wire.sendall(cut)
            wire.shutdown(socket.SHUT_WR)
            assert list(json.loads(wire.recv(1 << 16))) == ["error"]
        assert status(folder)["policy"] == "lru"
        server.stop()


def test_an_answer_is_json_whatever_bytes_are_in_it(built, folder):
    """What is no UTF-8 comes back as U+FFFD, and so does a letter that was cut."""
    texts = {
        "ä€𝄞": "ä€𝄞".encode(),
        "\ufffd": b"\xff",
        "\ufffd" * 2: b"\xc0\xaf",  # too long
        "\ufffd" * 3: b"\xed\xa0\x80",  # half of a pair
        "\ufffd" * 4: b"\xf4\x90\x80\x80",  # past the last letter
        "x" * 63 + "\ufffd": b"x" * 63 + "€".encode(),
    }
    with serve(built, folder, options(folder)) as server:
        for text, sent in texts.items():
            with socket.socket(socket.AF_UNIX) as wire:
                wire.connect(str(folder / "control"))
                wire.sendall(sent + b"\n\n")
                assert json.loads(wire.recv(1 << 16))["error"].startswith(f"{text}: the commands")
        server.stop()


def test_ghosts_are_not_resident(built, folder):
    """Arc remembers as many pages again as it holds, which go and come back."""
    with serve(built, folder, options(folder, "256K", "cz-policy=arc")) as server:
        with server.disk() as disk:
            for part in (range(64), range(64), range(UNITS), range(UNITS)):
                read_units(disk, folder, part)
        found = status(folder)
        assert (found["resident"], found["units"]) == (64, 64)
        server.stop()


# ---- options ----

WRONG = {
    "cz-policy=nothing": "nothing is unknown",
    "cz-policy=lru cz-mode=lru": "not for cz-policy",
    "cz-policy=lru cz-window=3": "not for cz-policy",
    "cz-policy=lru cz-prefetch=next(4)": "lru+next(n=4)",
    "cz-policy=lru cz-block=64K": "cz-block is not for cz-policy",
    "cz-policy=lru cz-unit=8K": "have 4096 bytes",
    "cz-policy=lru cz-bundle=/nothing": "give one",
    "cz-policy=lru cz-key=/nothing": "cz-key is of the release",
    "cz-mode=lru cz-window=3": "for cz-mode=rejectx",
    "cz-mode=rejectx cz-writes=through": "cz-policy=lru is one",
    "cz-writes=sideways": "around, through and back",
    "cz-write-rate=fast": "not a size",
    "cz-write-rate=10MB/year": "not a rate; write 10MB/s",
    "cz-write-rate=10XB/s": "not a rate; write 10MB/s",
    "cz-write-rate=-1MB/s": "not a rate; write 10MB/s",
    "cz-write-rate=0.001B/day": "at least 1B/s",
    "cz-size=3Q": "not a size",
    "cz-nothing=1": "no option of this filter",
    f"cz-bundle={STORED / 'streams.ledger.fios'}": "not a bundle of kind",
    f"cz-bundle={STORED / 'admission.database.lgbm'} cz-writes=through": "kind admission caches no writes",
    "cz-control=" + "/x" * 60: "longer than 107 bytes",
    "cz-control=/nothing/at/all": "No such file",
}  # fmt: skip


@pytest.mark.parametrize("given", WRONG)
def test_wrong_options_are_refused_in_a_line_before_anything_is_written(built, folder, given):
    size = [] if "cz-size" in given else ["cz-size=256K"]
    said = refused(built, folder, [f"cz-ssd={folder / 'ssd'}", *size, *given.split(" ")])
    assert WRONG[given] in said
    assert said.count("\n") == 1
    assert not (folder / "ssd").exists()


def test_rejectx_has_a_window_where_none_is_given(built, folder):
    with serve(built, folder, options(folder, "256K", "cz-mode=rejectx")) as server:
        assert status(folder)["policy"] == "rejectx(window=100000)"
        server.stop()


def test_what_the_budget_does_not_allow_is_read_from_the_disk(built, folder):
    """40 units in ten seconds; then the budget is lifted, and what hits is written."""
    with serve(built, folder, options(folder, "1M", "cz-policy=lru", f"cz-write-rate={4 * UNIT}")) as server:
        with server.disk() as disk:
            read_units(disk, folder)
            read_units(disk, folder)
            found = status(folder)
            assert found["write_rate"] == 4 * UNIT
            assert found["read_hits"] == UNITS
            assert found["ssd_writes_over_budget"] > 0
            assert found["hits_read_from_disk"] > UNITS // 2
            assert ask(folder, "reload", "cz-write-rate=1GiB/s")["done"] == "reload"
            assert status(folder)["write_rate"] == 1 << 30
            read_units(disk, folder)
            read_units(disk, folder)
        lifted = status(folder)
        server.stop()
    assert lifted["hits_read_from_disk"] <= found["hits_read_from_disk"] + UNITS
    assert lifted["read_hits"] == 3 * UNITS


def test_an_admission_keeps_the_rate_by_its_threshold(built, folder, trained_of):  # noqa: F811
    """Reads of a disk four times the cache, for a while; a reload keeps rate and balance."""
    trained = Path(shutil.copytree(trained_of("admission")[0], folder / "trained"))
    values = json.loads((trained / "train.json").read_text())
    rules = {"step_misses": 4, "window_misses": 200, "recent_misses": 40, "hold_misses": 8, "horizon_s": 0.25}
    values["calibration"]["controller"] |= rules
    values["calibration"]["with_prefetch"]["mode"] = "none"
    (trained / "train.json").write_text(json.dumps(values))
    bundle, requests = folder / "bundle", batch_of(make_trace(3000, 9))
    write_bundle(trained, requests, metrics("admission.database.lgbm"), EXPORT, bundle)
    rate, draws = 60 * UNIT, random.Random(derive_seed(0, "reads"))
    more = f"cz-bundle={bundle}", f"cz-write-rate={rate}B/s"
    with serve(built, folder, options(folder, "256K", *more)) as server:
        with server.disk() as disk:
            begin = time.monotonic()
            for turn in range(6):
                while time.monotonic() < begin + (turn + 1) / 3:
                    read_units(disk, folder, [draws.randrange(UNITS)])
                if turn == 2:
                    assert ask(folder, "reload", f"cz-bundle={bundle}")["done"] == "reload"
            found, seconds = status(folder), time.monotonic() - begin
        server.stop()
    most = rate * seconds + 4 * 0.25 * rate + 2 * (4 + 8) * UNIT
    assert (found["write_rate"], found["ssd_writes_over_budget"]) == (rate, 0)
    assert 0 < found["ssd_write_bytes"] <= most


# ---- reload ----


class Replayed:
    """Requests of a few pages, most of them near the beginning of a disk; one in eight is a write."""

    def __init__(self, rows=3000, pages=2000):
        rng = np.random.default_rng(derive_seed(0, "replayed"))
        first = np.minimum(rng.exponential(250, rows).astype(np.int64), pages - 8)
        self.pages = pages
        self.trace = Trace(
            np.arange(rows, dtype=np.int64),
            (rng.random(rows) < 0.125).astype(np.uint8),
            first * UNIT,
            rng.integers(1, 5, rows) * UNIT,
            Coded.of(["disk"] * rows),
            TraceMeta("replayed", "web", "test", "0" * 64),
        )

    def hits(self, text, capacity):
        """Reads of pages that hit, as simulated."""
        spec, pages = parse(text), expand_pages(self.trace)
        stream = prefetched_stream(self.trace, pages, spec.plan(self.trace, pages), "around")
        outcome = simulate(spec.composition(), stream, capacity).outcome
        return int(np.sum((outcome == HIT) & (self.trace.op[stream.request_of] == 0)))

    def send(self, disk, rows):
        trace = self.trace
        blank = bytes(int(trace.size.max()))
        for row in rows:
            offset, size = int(trace.offset[row]), int(trace.size[row])
            if trace.op[row] == 0:
                disk.read(offset, size)
            else:
                disk.write(offset, blank[:size])


@pytest.fixture(scope="module")
def replayed():
    return Replayed()


@pytest.mark.parametrize("text", ["s3fifo", "arc", "rejectx(x=1)+lirs"])
@pytest.mark.parametrize("reloaded", [False, True])
def test_a_replayed_trace_hits_as_in_the_simulator(built, tmp_path, replayed, text, reloaded):
    """By a policy that is given at the start, and by one that takes the place of another before the first request."""
    with (tmp_path / "disk").open("wb") as file:
        file.truncate(replayed.pages * UNIT)
    first = "lru" if reloaded else text
    with serve(built, tmp_path, options(tmp_path, "1M", f"cz-policy={first}")) as server:
        if reloaded:
            assert ask(tmp_path, "reload", f"cz-policy={text}")["policy"] == text
        with server.disk() as disk:
            replayed.send(disk, range(len(replayed.trace)))
        found = status(tmp_path)
        server.stop()
    assert found["read_hits"] == replayed.hits(text, 256) > 0
    assert found["reloads"] == reloaded


@pytest.mark.parametrize("after", ["cz-mode=rejectx cz-window=50", "cz-policy=lru", "cz-policy=s3fifo"])
def test_a_reload_goes_on_with_what_is_resident_as_a_restart_does(built, folder, after):
    rng = random.Random(derive_seed(0, "reload"))
    numbers = [min(int(rng.expovariate(0.02)), UNITS - 1) for _ in range(1200)]
    found = []
    for reloads in (False, True):
        (folder / "ssd").unlink(missing_ok=True)
        with serve(built, folder, options(folder, "256K", "cz-mode=lru")) as server:
            with server.disk() as disk:
                read_units(disk, folder, numbers[:600])
                if reloads:
                    before = status(folder)
                    answer = ask(folder, "reload", *after.split(" "))
                    assert answer["kept_units"] == 64
                    read_units(disk, folder, numbers[600:])
                    found.append(status(folder)["read_hits"] - before["read_hits"])
            server.stop()
        if not reloads:
            with serve(built, folder, options(folder, "256K", *after.split(" "))) as server:
                with server.disk() as disk:
                    read_units(disk, folder, numbers[600:])
                found.append(status(folder)["read_hits"])
                assert status(folder)["resident_at_start"] == 64
                server.stop()
    assert found[0] == found[1] > 0


WRONG_RELOADS = {
    "": "reload needs",
    "cz-policy=nothing": "nothing is unknown",
    "cz-policy=lru cz-mode=lru": "not for cz-policy",
    "cz-policy=lru cz-policy=arc": "given twice",
    "cz-bundle=/nothing": "/nothing",
    "cz-bundle=models": "the whole path",
    f"cz-bundle={STORED / 'streams.ledger.fios'}": "not a bundle of kind",
    "cz-size=1M": "does not take cz-size",
    "cz-window=4": "for cz-mode=rejectx",
    "nonsense": "key=value",
}  # fmt: skip


def test_a_reload_that_is_refused_changes_nothing(built, folder):
    damaged = folder / "damaged"
    shutil.copytree(STORED / "admission.database.lgbm", damaged)
    (damaged / "model.json").write_bytes((damaged / "model.json").read_bytes() + b" ")
    wrong = WRONG_RELOADS | {f"cz-bundle={damaged}": "damaged"}
    with serve(built, folder, options(folder, "1M", "cz-policy=arc")) as server:
        with server.disk() as disk:
            read_units(disk, folder)
            for lines, said in wrong.items():
                answer = ask(folder, "reload", *lines.split(" "))
                assert list(answer) == ["error"], lines
                assert said in answer["error"]
                assert "\n" not in answer["error"]
            assert status(folder)["policy"] == "arc"
            read_units(disk, folder)
            assert (status(folder)["read_hits"], status(folder)["reloads"]) == (UNITS, 0)
        server.stop()


def test_a_bundle_takes_the_place_of_a_policy_and_goes_again(built, folder):
    bundle = STORED / "admission.database.lgbm"
    with serve(built, folder, options(folder, "1M", "cz-mode=lru")) as server:
        with server.disk() as disk:
            read_units(disk, folder)
            answer = ask(folder, "reload", f"cz-bundle={bundle}")
            assert (answer["bundle"], answer["kept_units"]) == ("admission.database.lgbm", UNITS)
            read_units(disk, folder)
            found = status(folder)
            assert (found["mode"], found["kind"], found["read_hits"]) == ("model", "admission", UNITS)
            assert ask(folder, "reload", "cz-policy=sieve")["policy"] == "sieve"
            read_units(disk, folder)
        assert status(folder)["read_hits"] == 2 * UNITS
        server.stop()


def rounds_of_a_client(server, own, ends):
    """Write blocks of its own, one in four, and read those of all: never older than what it has seen."""
    rng, seen, turn = random.Random(derive_seed(0, "client", own)), [0] * BLOCKS, 0
    with server.disk() as disk:
        while not ends.is_set() or turn < 20:
            turn += 1
            mine = rng.randrange(own, BLOCKS, 4)
            disk.write(mine * UNIT, turn.to_bytes(8, "little") * (UNIT // 8))
            seen[mine] = turn
            for _ in range(8):
                other = rng.randrange(BLOCKS)
                data = disk.read(other * UNIT, UNIT)[0]
                found = int.from_bytes(data[:8], "little")
                assert data == found.to_bytes(8, "little") * (UNIT // 8)
                assert found >= seen[other]
                seen[other] = found
            if turn % 8 == 0:
                disk.flush()
    return turn


def under_load(server, change):
    """Clients that check what they read while something is done."""
    ends = threading.Event()
    with ThreadPoolExecutor(4) as pool:
        clients = [pool.submit(rounds_of_a_client, server, own, ends) for own in range(4)]
        try:
            change()
        finally:
            ends.set()
        return sum(client.result() for client in clients)


def blank_disk(folder, slow):
    (folder / "disk").write_bytes(bytes(BLOCKS * UNIT))
    return [str(slow), f"file={folder / 'disk'}", "slow-us=300"]


@pytest.mark.parametrize("sanitizer", ["", *LONG])
@pytest.mark.parametrize("writes", ["around", "through"])
@pytest.mark.parametrize("label", [False, True])
def test_reloads_under_load_cut_nobody_and_show_nothing_old(tmp_path_factory, slow, folder, sanitizer, label, writes):
    built = make(tmp_path_factory, "filter", **SANITIZERS[sanitizer]) / "nbdkit-cachezoo-filter.so"
    own = [f"cz-label={folder / 'label'}"] if label else []
    given = options(folder, "128K", "cz-policy=lru", f"cz-writes={writes}", *own)

    def reload_all():
        for turn in range(2):
            for text in POLICIES:
                answer = ask(folder, "reload", f"cz-policy={text}")
                assert answer["policy"] == text
                assert answer["kept_units"] <= 32
            assert "error" in ask(folder, "reload", "cz-policy=none such")
            if writes == "around":
                assert ask(folder, "reload", "cz-mode=rejectx", f"cz-window={turn}")["mode"] == "rejectx"

    with serve(built, folder, given, blank_disk(folder, slow), sanitizing(sanitizer)) as server:
        assert under_load(server, reload_all) > 0
        found = status(folder)
        server.stop()
    assert found["reloads"] == 2 * (len(POLICIES) + (writes == "around"))
    assert found["read_hits"] > 0
    assert (found["ssd_corrupt"], found["ssd_errors"], found["policy_failures"], found["bypassed"]) == (0, 0, 0, False)


@pytest.mark.parametrize("kills", [3, pytest.param(50, marks=pytest.mark.long)])
def test_a_kill_during_a_reload_loses_nothing(built, folder, kills):
    """Every unit that is taken up afterwards is what the disk holds."""
    rng = random.Random(derive_seed(0, "kill"))
    given = options(folder, "512K", "cz-policy=lru", f"cz-label={folder / 'label'}")
    taken_up = 0
    for _ in range(kills):
        with serve(built, folder, given) as server, ThreadPoolExecutor(1) as pool:
            with server.disk() as disk:
                read_units(disk, folder)
                taken_up += status(folder)["resident_at_start"]
                for _ in range(16):
                    disk.write(rng.randrange(UNITS) * UNIT, rng.randbytes(UNIT))

                def reload_until_killed(server=server):
                    with pytest.raises((OSError, ValueError)):
                        while True:
                            for text in POLICIES:
                                ask(folder, "reload", f"cz-policy={text}")

                reloads = pool.submit(reload_until_killed)
                read_units(disk, folder, range(rng.randrange(UNITS)))
                server.kill()
                reloads.result()
    with serve(built, folder, given) as server:
        with server.disk() as disk:
            read_units(disk, folder)
        taken_up += status(folder)["resident_at_start"]
        server.stop()
    assert taken_up > 0


# ---- attach ----


def break_ssd(server, folder):
    """Reads of many units at once fail, so that the cache is bypassed."""
    end = time.monotonic() + 60
    while status(folder)["ssd_writes"] < UNITS:
        assert time.monotonic() < end, "nothing was written to the SSD within 60 s"
    os.truncate(folder / "ssd", 1 << 20)
    behind = (folder / "disk").read_bytes()
    with server.disk() as disk:
        for low in range(0, UNITS * UNIT, 16 * UNIT):
            assert disk.read(low, 16 * UNIT)[0] == behind[low : low + 16 * UNIT]
    assert status(folder)["bypassed"]


@pytest.mark.parametrize("label", [False, True])
@pytest.mark.parametrize("same", [False, True])
def test_another_ssd_takes_the_place_of_one_that_failed(built, folder, label, same):
    own = [f"cz-label={folder / 'label'}"] if label else []
    ssd = folder / ("ssd" if same else "ssd2")
    with serve(built, folder, options(folder, "1M", "cz-policy=lru", *own)) as server:
        with server.disk() as disk:
            read_units(disk, folder)
            break_ssd(server, folder)
            found = status(folder)
            assert "failed on the SSD tier" in found["bypass_reason"]
            assert 0 <= found["bypassed_at_s"] <= found["uptime_s"]
            disk.write(7 * UNIT, b"z" * UNIT)
            disk.flush()
            answer = ask(folder, "attach", f"cz-ssd={ssd}")
            assert answer.get("cache_bytes") == 1 << 20, answer
            hits = status(folder)["read_hits"]
            read_units(disk, folder)
            read_units(disk, folder)
            found = status(folder)
            assert found["read_hits"] - hits == UNITS
            assert (found["bypassed"], found["bypass_reason"], found["ssd"]) == (False, "", str(ssd))
        server.stop()
    left = [f"cz-ssd={ssd}", "cz-size=1M", f"cz-control={folder / 'control'}", *own]
    with serve(built, folder, left) as server:
        with server.disk() as disk:
            read_units(disk, folder)
        assert status(folder)["resident_at_start"] == UNITS
        server.stop()


def test_a_larger_ssd_takes_the_place_of_a_sound_one_which_is_not_believed_again(built, folder):
    own = [f"cz-label={folder / 'label'}"]
    with serve(built, folder, options(folder, "256K", "cz-policy=s3fifo", *own)) as server, server.disk() as disk:
        read_units(disk, folder)
        assert ask(folder, "attach", f"cz-ssd={folder / 'ssd2'}", "cz-size=1M")["cache_bytes"] == 1 << 20
        assert status(folder)["units"] == UNITS
        disk.write(0, b"n" * UNIT)
        disk.flush()
        read_units(disk, folder)
        hits = status(folder)["read_hits"]
        read_units(disk, folder)
        assert status(folder)["read_hits"] - hits == UNITS
        server.kill()
    with serve(built, folder, options(folder, "256K", *own)) as server:  # the old SSD
        with server.disk() as disk:
            read_units(disk, folder)
        assert status(folder)["resident_at_start"] == 0
        server.stop()


def test_what_is_named_on_another_ssd_is_overwritten(built, folder):
    (folder / "full").write_bytes(b"something else" * 1000)
    with serve(built, folder, options(folder, "1M")) as server:
        with server.disk() as disk:
            read_units(disk, folder)
            refusal = ask(folder, "attach", f"cz-ssd={folder / 'full'}")["error"]
            name = next(word for word in refusal.split() if word.startswith("cz-format="))
            assert ask(folder, "attach", f"cz-ssd={folder / 'full'}", name)["done"] == "attach"
            read_units(disk, folder)
            read_units(disk, folder)
        assert status(folder)["read_hits"] == UNITS
        server.stop()
    assert b"something" not in (folder / "full").read_bytes()[: 1 << 20]


def test_an_ssd_before_the_first_client_is_taken_up_as_at_a_start(built, folder):
    with serve(built, folder, options(folder, "1M")) as server:
        assert ask(folder, "attach", f"cz-ssd={folder / 'ssd2'}")["done"] == "attach"
        with server.disk() as disk:
            read_units(disk, folder)
            read_units(disk, folder)
        assert status(folder)["read_hits"] == UNITS
        server.stop()
    assert (folder / "ssd2").stat().st_size > UNITS * UNIT


def bundle_of_segments(folder, segment, block):
    """The admission bundle, of other segments; its golden rows are not checked at a start."""
    bundle = folder / f"bundle{segment}"
    shutil.copytree(STORED / "admission.database.lgbm", bundle)
    model = json.loads((bundle / "model.json").read_text())
    model["geometry"] = {"segment_bytes": segment, "block_bytes": block}
    (bundle / "model.json").write_text(json.dumps(model))
    reseal(bundle)
    return bundle


@pytest.mark.parametrize(("segment", "block"), [(131072, 1 << 20), (4096, 16384)])
def test_segments_and_blocks_of_a_bundle_outlast_a_reload_and_another_ssd(built, folder, segment, block):
    """The policy that takes its place has them, and so has the one that the other SSD begins with."""
    bundle = bundle_of_segments(folder, segment, block)
    behind = (folder / "disk").read_bytes()
    with serve(built, folder, options(folder, "1M", f"cz-bundle={bundle}")) as server:
        with server.disk() as disk:
            assert disk.read(0, 1 << 17)[0] == behind[: 1 << 17]
            assert ask(folder, "reload", "cz-mode=lru", "cz-prefetch=all_on_miss")["done"] == "reload"
            assert ask(folder, "attach", f"cz-ssd={folder / 'ssd2'}")["done"] == "attach"
            disk.read(0, 512)
            assert status(folder)["prefetched"] == block // segment - 1
            for low in range(0, UNITS * UNIT, 1 << 17):
                assert disk.read(low, 1 << 17)[0] == behind[low : low + (1 << 17)]
        found = status(folder)
        assert (found["unit_bytes"], found["resident"]) == (segment, (1 << 20) // segment)
        server.stop()


def test_another_ssd_is_refused_where_the_bundle_has_other_segments_by_then(built, folder):
    bundle = bundle_of_segments(folder, 4096, 16384)
    behind = (folder / "disk").read_bytes()
    with serve(built, folder, options(folder, "1M", f"cz-bundle={bundle}")) as server:
        shutil.rmtree(bundle)
        bundle_of_segments(folder, 131072, 1 << 20).rename(bundle)
        assert "a start of its own" in ask(folder, "attach", f"cz-ssd={folder / 'ssd2'}")["error"]
        with server.disk() as disk:
            assert disk.read(0, 1 << 17)[0] == behind[: 1 << 17]
        assert status(folder)["attaches"] == 0
        server.stop()


def test_an_ssd_that_a_start_would_refuse_is_refused_and_the_old_one_stays(built, folder):
    (folder / "full").write_bytes(b"something else" * 1000)
    wrong = {
        "": "attach needs cz-ssd",
        f"cz-ssd={folder / 'ssd'}": "it is the SSD in use",
        f"cz-ssd={folder / 'disk'}": "it is the disk itself",
        f"cz-ssd={folder / 'full'}": "cz-format=data:",
        f"cz-ssd={folder}": "neither a file nor a block device",
        "cz-ssd=ssd2": "the whole path",
        f"cz-ssd={folder / 'ssd2'} cz-size=0": "cz-size is 0",
        f"cz-ssd={folder / 'ssd2'} cz-policy=lru": "does not take cz-policy",
        f"cz-ssd={folder / 'ssd2'} cz-label={folder / 'full'}": "no label",
    }
    with serve(built, folder, options(folder, "1M")) as server:
        with server.disk() as disk:
            read_units(disk, folder)
            for lines, said in wrong.items():
                answer = ask(folder, "attach", *lines.split(" "))
                assert list(answer) == ["error"], lines
                assert said in answer["error"], lines
            read_units(disk, folder)
        found = status(folder)
        assert (found["read_hits"], found["attaches"], found["bypassed"]) == (UNITS, 0, False)
        server.stop()


@pytest.mark.parametrize("sanitizer", ["", *LONG])
@pytest.mark.parametrize("writes", ["around", "through"])
@pytest.mark.parametrize("label", [False, True])
def test_ssds_change_under_load_and_nobody_reads_what_is_old(tmp_path_factory, slow, folder, sanitizer, label, writes):
    built = make(tmp_path_factory, "filter", **SANITIZERS[sanitizer]) / "nbdkit-cachezoo-filter.so"
    own = [f"cz-label={folder / 'label'}"] if label else []

    def attach_all():
        for turn in range(6):
            answer = ask(folder, "attach", f"cz-ssd={folder / f'ssd{turn}'}", f"cz-size={(turn % 3 + 1) * 64}K")
            assert answer["done"] == "attach", answer
            assert ask(folder, "reload", f"cz-policy={POLICIES[turn]}")["done"] == "reload"
            time.sleep(0.05)

    given = options(folder, "128K", "cz-policy=lru", f"cz-writes={writes}", *own)
    with serve(built, folder, given, blank_disk(folder, slow), sanitizing(sanitizer)) as server:
        assert under_load(server, attach_all) > 0
        found = status(folder)
        server.stop()
    assert (found["attaches"], found["ssd_corrupt"], found["ssd_errors"], found["bypassed"]) == (6, 0, 0, False)
    assert found["read_hits"] > 0
