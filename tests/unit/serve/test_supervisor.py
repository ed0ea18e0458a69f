"""What the supervising process says to systemd, and the words of nbdkit that it passes on."""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading

import pytest

from cachezoo.serve import attach, control, metrics, run, supervisor, words
from cachezoo.serve.options import OPTIONS, settings
from cachezoo.serve.state import State
from cachezoo.serve.words import ServeError
from tests.serve_data import counters


@pytest.mark.parametrize("abstract", [False, True])
def test_systemd_hears_that_it_serves(tmp_path, monkeypatch, abstract):
    address = f"@cachezoo-test-{tmp_path.name}" if abstract else str(tmp_path / "n")
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wire:
        wire.bind("\0" + address[1:] if abstract else address)
        wire.settimeout(10)
        supervisor.notify("READY=1")
        assert wire.recv(100) == b"READY=1"
    supervisor.notify("STOPPING=1")  # nobody listens


def answering(tmp_path, text):
    """A control socket that gives one answer, with what it was asked."""
    path, asked = tmp_path / "c", []
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen(1)

    def serve():
        with server, server.accept()[0] as wire:
            said = b""
            while not said.endswith(b"\n\n"):
                said += wire.recv(100)
            asked.append(said.decode())
            wire.sendall(text)

    thread = threading.Thread(target=serve)
    thread.start()
    return path, asked, thread


def test_a_command_and_its_answer(tmp_path):
    path, asked, thread = answering(tmp_path, b'{"done": "attach"}\n')
    assert control.ask(path, "attach", {"cz-ssd": "/a b", "cz-size": None, "cz-format": "ext4:x"}) == {"done": "attach"}
    thread.join()
    assert asked == ["attach\ncz-ssd=/a b\ncz-format=ext4:x\n\n"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b'{"error": "cachezoo: cz-policy=x: no such policy"}', "^--policy=x: no such policy$"),
        (b"", "is no JSON"),
        (b"[]", "is no JSON object"),
    ],
)
def test_what_the_filter_refuses_is_one_line(tmp_path, text, says):
    path, _, thread = answering(tmp_path, text)
    with pytest.raises(ServeError, match=says):
        control.ask(path, "reload", {"cz-policy": "x"})
    thread.join()


def test_a_filter_that_is_gone(tmp_path):
    with pytest.raises(ServeError, match="the filter does not answer"):
        control.ask(tmp_path / "none", "status")


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A supervisor of mode back whose nbdkit has ended well, after a client."""
    monkeypatch.setenv("CACHEZOO_RUN", str(tmp_path / "run"))
    monkeypatch.setattr(control, "ask", lambda *words, **more: dict(answer))
    answer = counters(writes="back")
    given = dict.fromkeys(OPTIONS) | {"ssd": "ssd", "size": "64G", "mode": "back", "promise": "50%", "name": "d"}
    one = supervisor.Served(settings(str(tmp_path / "disk"), given, [], None), State("d"))
    one.answer = answer
    one.state.make()
    one._started, one._ready = 1.0, True
    one._child = subprocess.Popen(["true"])
    one._child.wait()
    return one


def last_of(one):
    """What a process that stops it reads."""
    with one.state.last.open("w+") as last:
        status = one.end()
        return status, json.load(last)["left"]


@pytest.mark.parametrize(
    ("said", "disk_bytes", "returncode", "expected"),
    [
        ([], 1 << 20, 0, (supervisor.STOPPED, 0)),
        (["nbdkit: error: cachezoo: 8192 bytes are on the SSD alone; the next start"], 1 << 20, 0, (3, 8192)),
        ([], 1 << 20, -9, (supervisor.LEFT, None)),  # a second Ctrl-C
        ([], 0, 0, (supervisor.LEFT, None)),  # no client, so nothing was taken up
    ],
)
def test_the_end_says_what_is_left_and_keeps_the_log_then(served, said, disk_bytes, returncode, expected):
    served._said.extend(said)
    served._child.returncode = returncode
    served.answer["disk_bytes"] = disk_bytes
    served.state.log.write_text("why")
    assert last_of(served) == expected
    assert served.state.log.exists() == (expected[0] != supervisor.STOPPED)


def test_an_end_goes_on_where_the_device_does_not_go(served, monkeypatch, capsys):
    monkeypatch.setattr(attach, "program", lambda name: None)
    served._attached = attach.Attached("/dev/nbd0")
    assert last_of(served) == (supervisor.STOPPED, 0)
    assert "/dev/nbd0: it cannot be detached" in capsys.readouterr().err and not served.state.folder.exists()


def test_a_full_disk_is_reported_once_and_ends_nothing(served, monkeypatch, capsys):
    def fail(note):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        full.setattr(served.state, "write", fail)
        for _ in range(2):
            served._look()
    served._look()
    assert capsys.readouterr().err.count("No space left on device; serving goes on") == 1
    assert served.state.read()["name"] == "d"


def test_another_policy_is_promised_and_measured_anew(served):
    served.answer.update(read_hits=900, read_misses=100)
    served._look()
    assert (served.note()["promised"], served.note()["measured"]) == (0.5, 0.9)
    served.answer.update(reloads=1)  # of the budget alone
    served._look()
    assert served.note()["promised"] == 0.5
    served.answer.update(reloads=2, policy="lru")
    served._look()
    assert (served.note()["promised"], served.note()["measured"]) == (None, None)
    supervisor.change(served.state, "s3fifo", 0.7)
    served.answer.update(reloads=3, policy="s3fifo")
    served._look()
    assert served.note()["promised"] == 0.7 and not served.state.promise.exists()


def test_a_reload_gives_what_lets_models_take_turns(served, tmp_path, monkeypatch):
    asked, file = [], tmp_path / "d.conf"
    bundle = tmp_path / "caching.web"
    bundle.mkdir()
    (bundle / "manifest.json").write_text("{}")
    turns = {"cz-monitor": "/b/workload", "cz-models": "/b/caching", "cz-vote-every": "60"}
    lines = [f"{key} = {value}" for key, value in {"policy": bundle, "cz-segment": "8K", **turns}.items()]
    file.write_text("\n".join(["[serve]", *lines]))
    monkeypatch.setattr(control, "ask", lambda path, command, given: asked.append((command, given)) or {})
    supervisor.change(served.state, *supervisor.of_file(str(file)))
    supervisor.change(served.state, "lru", None)
    assert asked == [("reload", {"cz-bundle": str(bundle), **turns}), ("reload", {"cz-policy": "lru"})]


def test_an_answer_is_noted_before_the_next_is_asked_for(served, monkeypatch):
    under_way, most, noted = [], [], []

    def ask(*words, **more):
        under_way.append(1)
        most.append(len(under_way))
        threading.Event().wait(0.005)
        noted.append(len(noted) + 1)
        return counters(read_hits=100 * noted[-1], read_misses=0)

    monkeypatch.setattr(control, "ask", ask)
    monkeypatch.setattr(served._watch, "note", lambda *words: under_way.pop())
    threads = [threading.Thread(target=served.families) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert most == [1] * 4


def test_a_terminal_that_is_gone_stops_no_thread(monkeypatch):
    gone = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    monkeypatch.setattr(sys, "stderr", gone)
    words.say("a line")
    monkeypatch.undo()
    with pytest.raises(OSError, match="Bad file"):
        gone.close()


@pytest.mark.parametrize("config", [None, "file"])
def test_a_closed_terminal_ends_it_unless_there_is_a_file_to_read_again(served, monkeypatch, config):
    served.wanted = supervisor.dataclasses.replace(served.wanted, config=config)
    heard = []
    monkeypatch.setattr(served, "start", lambda: {})
    monkeypatch.setattr(served, "reload", lambda *words: heard.append("reload"))
    monkeypatch.setattr(served, "wait", lambda: os.kill(os.getpid(), signal.SIGHUP) or 0)
    monkeypatch.setattr(run, "_print", lambda lines: None)
    assert run._serve(served, as_json=True) == 0
    assert heard == (["reload"] if config else []) and served._stop == (config is None)


def test_a_metrics_file_of_any_name_is_written(served, tmp_path):
    served.wanted = supervisor.dataclasses.replace(
        served.wanted, disk=os.fsdecode(b"/d\xff"), metrics_file=str(tmp_path / "x.prom")
    )
    served._look()
    assert 'disk="/d?"' in (tmp_path / "x.prom").read_text()
    assert metrics.families(served.note())
