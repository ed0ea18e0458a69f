"""A client of network block devices that does one request at a time and looks at the clock."""

import socket
import struct
import time
from contextlib import contextmanager

FIXED_NEWSTYLE_NO_ZEROES = 3
EXPORT_NAME = 1
READ, WRITE = 0, 1
REQUEST, REPLY = 0x25609513, 0x67446698


class Client:
    """One connection.

    Attributes:
        size: of the disk, bytes.
    """

    def __init__(self, wire, export=b""):
        self._wire = wire
        assert self._take(16) == b"NBDMAGICIHAVEOPT"
        self._take(2)
        option = struct.pack(">I8sII", FIXED_NEWSTYLE_NO_ZEROES, b"IHAVEOPT", EXPORT_NAME, len(export))
        self._wire.sendall(option + export)
        self.size, _ = struct.unpack(">QH", self._take(10))

    def _take(self, count):
        data = b""
        while len(data) < count:
            part = self._wire.recv(count - len(data))
            assert part, "the server closed the connection"
            data += part
        return data

    def read(self, offset, size):
        """The bytes, and how long it took in µs."""
        return self._request(READ, offset, size, b"", size)

    def write(self, offset, data):
        """How long it took in µs."""
        return self._request(WRITE, offset, len(data), data, 0)[1]

    def _request(self, kind, offset, size, data, returned):
        begin = time.monotonic_ns()
        self._wire.sendall(struct.pack(">IHHQQI", REQUEST, 0, kind, 7, offset, size) + data)
        magic, error, handle = struct.unpack(">IIQ", self._take(16))
        got = self._take(returned)
        assert (magic, error, handle) == (REPLY, 0, 7)
        return got, (time.monotonic_ns() - begin) / 1000


@contextmanager
def connected(path):
    """A client of the disk that listens there."""
    with socket.socket(socket.AF_UNIX) as wire:
        wire.settimeout(30)
        wire.connect(str(path))
        yield Client(wire)
