"""The folder of a served disk: who may use it, who holds it, and what a killed process leaves."""

import fcntl
import json
import os
import subprocess

import pytest

from cachezoo.serve import attach, run, state
from cachezoo.serve.state import State, base
from cachezoo.serve.words import ServeError


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.setenv("CACHEZOO_RUN", str(tmp_path / "run"))
    return tmp_path


def test_where_it_is(monkeypatch):
    for name in ("CACHEZOO_RUN", "RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert str(base()) == "/run/cachezoo"
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert base().name == "cachezoo-1000"
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/")
    assert str(base()) == "/cachezoo"
    monkeypatch.setenv("RUNTIME_DIRECTORY", "/run/cachezoo/sdb")
    assert str(base()) == "/run/cachezoo"
    monkeypatch.setenv("CACHEZOO_RUN", "/x")
    assert str(base()) == "/x"


def test_others_may_not_write_there(here):
    (here / "run").mkdir()
    (here / "run").chmod(0o777)
    with pytest.raises(ServeError, match="others can write to it"):
        State("d").make()


@pytest.mark.parametrize("folder", ["run", "run/d"])
def test_what_others_could_have_written_is_not_believed(here, monkeypatch, folder):
    own = State("d")
    own.make()
    handle = own.take()
    own.write({"pid": os.getpid(), "mode": "around", "device": None})
    sent = []
    monkeypatch.setattr(os, "kill", lambda *words: sent.append(words))
    (here / folder).chmod(0o777)
    for act in (own.read, own.locked, own.running, own.forget, lambda: run.stop("d"), lambda: run.status("d")):
        with pytest.raises(ServeError, match="others can write to it"):
            act()
    (here / folder).chmod(0o700)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(ServeError, match="run it as who serves it"):
        run.stop("d")
    assert sent == []
    os.close(handle)


@pytest.mark.parametrize(
    ("mode", "left", "says"),
    [
        ("back", 0, None),
        ("around", None, None),
        (
            "back",
            8192,
            "d: stopped, but 8 KiB are on the SSD alone. Do not mount the disk itself, and keep SSD and lab",
        ),
        ("back", None, "d: stopped. The SSD may hold what is not on the disk. Do not mount the disk itself"),
        ("back", "killed", "d: stopped. The SSD may hold what is not on the disk"),
    ],
)
def test_stop_says_whether_the_disk_holds_everything(here, monkeypatch, mode, left, says):
    own = State("d")
    own.make()
    handle = own.take()
    own.write({"pid": os.getpid(), "mode": mode, "device": None})

    def end(pid, number):
        if number:
            if left != "killed":
                with own.last.open("r+") as last:
                    json.dump({"left": left}, last)
            own.remove()
            os.close(handle)

    monkeypatch.setattr(os, "kill", end)
    if says is None:
        assert run.stop("d") == "d: stopped. The disk holds everything."
    else:
        with pytest.raises(ServeError, match=says):
            run.stop("d")
    assert not (here / "run").exists()


def test_who_may_not_look_hears_that_root_serves(here, monkeypatch):
    (here / "system/srv").mkdir(parents=True)
    monkeypatch.setattr(state, "SYSTEM", str(here / "system"))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    for act in (lambda: run.status(None), lambda: run.stop(None), lambda: run.stop("srv")):
        with pytest.raises(ServeError, match=r"srv: (it is )?served by root: .*sudo"):
            act()


def test_a_socket_s_name_has_to_be_short(here, monkeypatch):
    monkeypatch.setenv("CACHEZOO_RUN", str(here / ("x" * 100)))
    with pytest.raises(ServeError, match="too long for a socket; set CACHEZOO_RUN"):
        State("d").make()


def test_one_process_holds_it(here, monkeypatch):
    monkeypatch.setattr(state, "PATIENCE_S", 0.0)
    own = State("d")
    own.make()
    handle = own.take()
    assert own.locked() and state.served() == ["d"]
    with pytest.raises(ServeError, match="d: the nbdkit of before has not ended yet"):
        State("d").take()
    own.write({"pid": os.getpid()})
    with pytest.raises(ServeError, match=f"d: it is served by process {os.getpid()}"):
        State("d").take()
    assert State("d").running()["pid"] == os.getpid()
    os.close(handle)
    assert not own.locked()
    with pytest.raises(ServeError, match="d: it is not served"):
        own.running()
    own.remove()
    assert not (here / "run").exists()


def test_a_lock_that_its_holder_removed_is_not_taken_for_one(here):
    own = State("d")
    own.make()
    os.close(own.take())
    (own.folder / "lock").unlink()
    handle = own.take()
    assert os.path.samestat(os.fstat(handle), os.stat(own.folder / "lock"))
    os.close(handle)


def test_what_a_killed_process_left_is_removed_by_stop(here):
    own = State("d")
    own.make()
    os.close(own.take())
    own.write({"pid": 1 << 22})
    assert run.stop("d") == "d: it had ended; what it left is removed."
    assert not own.folder.exists()
    own.make()
    os.close(own.take())
    own.write({"pid": 1 << 22, "mode": "back"})
    with pytest.raises(ServeError, match=r"d: its process had been killed. The SSD may hold"):
        run.stop("d")


def test_a_name_may_be_left_out_where_there_is_one(here):
    with pytest.raises(ServeError, match="nothing is served"):
        run.name_of(None)
    handles = []
    for name in ("a", "b"):
        own = State(name)
        own.make()
        handles.append(own.take())
        if name == "a":
            assert run.name_of(None) == "a"
    with pytest.raises(ServeError, match="name one of a, b"):
        run.name_of(None)
    for handle in handles:
        fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)


class Machine:
    """A folder that stands for /sys and /dev, with a program of two that attach."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.log = folder, folder / "log"
        for name in ("sys/block", "sys/class/block", "dev", "bin"):
            (folder / name).mkdir(parents=True)
        monkeypatch.setattr(attach, "SYS", folder / "sys")
        monkeypatch.setattr(attach, "DEV", folder / "dev")
        monkeypatch.setattr(attach, "program", self.find)
        monkeypatch.setattr(os, "geteuid", lambda: 0)

    def find(self, name):
        place = self.folder / "bin" / name
        return str(place) if place.exists() else None

    def add(self, name, script):
        place = self.folder / "bin" / name
        place.write_text(f'#!/bin/sh\necho {name} "$@" >> {self.log}\n{script}\n')
        place.chmod(0o755)

    def nbd(self, number, taken=False):
        own = self.folder / f"sys/block/nbd{number}"
        own.mkdir()
        if taken:
            (own / "pid").write_text("1")


@pytest.fixture
def machine(tmp_path, monkeypatch):
    return Machine(tmp_path, monkeypatch)


def test_the_first_free_device_of_nbd_is_attached(machine):
    machine.add("nbd-client", "exit 0")
    for number, taken in ((0, True), (10, False), (9, False)):
        machine.nbd(number, taken)
    found = attach.attach("/s", "uri", "auto")
    assert found.device == str(machine.folder / "dev/nbd9")
    found.detach()
    assert machine.log.read_text() == f"nbd-client -unix /s {found.device} -b 512\nnbd-client -d {found.device}\n"


@pytest.mark.parametrize("script", [None, "exec sleep 60"])
def test_a_device_that_cannot_be_detached_is_an_error_in_a_line(machine, monkeypatch, script):
    monkeypatch.setattr(attach, "PATIENCE_S", 0.05)
    if script:
        machine.add("nbd-client", script)
    with pytest.raises(ServeError, match="/dev/nbd0: "):
        attach.Attached("/dev/nbd0").detach()


def test_a_device_that_a_killed_process_had_is_taken_away_if_it_is_still_its_own(machine):
    machine.add("nbd-client", "exit 0")
    machine.nbd(0, taken=True)
    device = str(machine.folder / "dev/nbd0")
    for holder in (None, "2"):
        attach.detach_stale(device, holder)
    attach.detach_stale(None, "1")
    assert not machine.log.exists()
    attach.detach_stale(device, "1")
    assert machine.log.read_text() == f"nbd-client -d {device}\n"


def test_a_device_of_ublk_is_attached_where_there_is_no_nbd(machine):
    (machine.folder / "dev/ublk-control").touch()
    (machine.folder / "dev/ublkb0").touch()
    machine.add("nbdublk", 'touch "$1"; exec sleep 60')
    found = attach.attach("/s", "uri", "auto")
    assert found.device == str(machine.folder / "dev/ublkb1")
    found.detach()
    assert found.helper.returncode == -15


def test_why_there_is_no_device(machine, monkeypatch):
    assert attach.attach("/s", "u", "auto") == "nbd-client is not installed; the kernel has no ublk"
    machine.add("nbd-client", "echo 'Error: no luck' >&2; exit 1")
    assert attach.attach("/s", "u", "auto") == "the kernel has no nbd; the kernel has no ublk"
    machine.nbd(0)
    assert attach.attach("/s", "u", "auto") == "nbd-client: Error: no luck; the kernel has no ublk"
    with pytest.raises(ServeError, match="--attach /dev/nbd0: nbd-client: Error: no luck"):
        attach.attach("/s", "u", "/dev/nbd0")
    assert attach.attach("/s", "u", "no") == "--attach no"
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert attach.attach("/s", "u", "auto") == "nbd needs root; the kernel has no ublk"


def test_a_device_that_something_lies_on_is_in_use(machine):
    own = machine.folder / "sys/class/block/nbd0"
    (own / "nbd0p1/holders/dm-0").mkdir(parents=True)
    (own / "dev").write_text("43:0\n")
    (own / "nbd0p1/dev").write_text("43:1\n")
    assert attach.in_use("/dev/nbd0") == "/dev/dm-0 lies on it"
    assert attach.in_use("/dev/nbd7") is None


def test_a_mounted_device_is_in_use():
    mounted = subprocess.run(["findmnt", "-n", "-o", "SOURCE", "-T", "/"], capture_output=True, text=True, check=False)
    if not mounted.stdout.startswith("/dev/") or not os.path.exists(
        f"/sys/class/block/{os.path.basename(mounted.stdout.strip())}"
    ):
        pytest.skip("/ is on no block device here")
    assert "it is mounted at" in attach.in_use(mounted.stdout.strip())
