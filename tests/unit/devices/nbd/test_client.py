"""The client of network block devices, against nbdkit and against servers that answer wrongly."""

import socket
import struct
import threading
from contextlib import contextmanager

import pytest

from cachezoo.devices.nbd.client import Client, connected
from cachezoo.errors import DeviceError
from tests.nbd_filter import serve

GREETING = b"NBDMAGICIHAVEOPT" + bytes(2)


@contextmanager
def answering(script):
    """A client's end of a socket, at whose other end a script of (bytes to take, bytes to send) runs."""
    near, far = socket.socketpair()

    def play():
        with far:
            for take, send in script:
                while take > 0:
                    take -= len(far.recv(take)) or take
                far.sendall(send)

    player = threading.Thread(target=play)
    player.start()
    with near:
        near.settimeout(10)
        yield near
    player.join(10)


@pytest.mark.needs("nbdkit")
def test_what_is_written_is_read_and_what_fails_is_said(tmp_path):
    with serve(
        None, tmp_path, [], ["--filter=error", "memory", "1M", "error-trim=ENOSPC", "error-trim-rate=100%"]
    ) as server:
        with connected(server.path) as disk:
            assert disk.size == 1 << 20
            assert disk.write(4096, b"x" * 8192) > 0 and disk.write(0, b"y", durable=True) > 0
            data, took = disk.read(0, 12288)
            assert data == b"y" + bytes(4095) + b"x" * 8192 and took > 0
            disk.zero(4096, 4096)
            disk.flush()
            assert disk.read(4096, 4096)[0] == bytes(4096)
            with pytest.raises(DeviceError, match="the disk answered: No space left on device"):
                disk.trim(0, 4096)
            with pytest.raises(DeviceError, match="the disk answered: Invalid argument"):
                disk.read(1 << 20, 512)
            assert disk.read(8192, 1)[0] == b"x"
        server.kill()


def test_a_server_of_something_else_is_none():
    with answering([(0, b"SSH-2.0-OpenSSH_9.2 and more")]) as wire, pytest.raises(ConnectionError, match="no server"):
        Client(wire)


def test_a_server_that_goes_is_said_to_have_gone():
    with (
        answering([(0, GREETING), (20, b"")]) as wire,
        pytest.raises(ConnectionError, match="closed"),
    ):
        Client(wire)


def test_an_answer_to_something_else_is_refused():
    answer = struct.pack(">IIQ", 0x67446698, 0, 8)
    with answering([(0, GREETING), (20, struct.pack(">QH", 4096, 1)), (28, answer)]) as wire:
        client = Client(wire)
        with pytest.raises(ConnectionError, match="something else than the request"):
            client.read(0, 1)
