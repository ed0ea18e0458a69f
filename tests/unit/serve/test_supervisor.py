"""What the supervising process says to systemd, and the words of nbdkit that it passes on."""

import socket

import pytest

from cachezoo.serve import control, supervisor
from cachezoo.serve.words import ServeError


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
    import threading

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
