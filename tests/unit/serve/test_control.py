"""The filter's control socket, from the side of who commands."""

import socket

from cachezoo.serve.control import listens


def test_commands_are_taken_once_the_socket_listens(tmp_path):
    path = tmp_path / "control"
    assert not listens(path)
    with socket.socket(socket.AF_UNIX) as wire:
        wire.bind(str(path))
        assert not listens(path)  # nbdkit's process id may be written by then
        wire.listen()
        assert listens(path)
    assert not listens(path)  # left by a process that was killed
