"""A client of a network block device that does one request at a time and looks at the clock.

It speaks the part of the NBD protocol (doc/proto.md of the NBD project) that one connection without structured replies
needs: the fixed newstyle handshake with `NBD_OPT_EXPORT_NAME`, then simple requests.
"""

import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager

from cachezoo.errors import DeviceError

FIXED_NEWSTYLE_NO_ZEROES = 3
EXPORT_NAME = 1
READ, WRITE, FLUSH, TRIM, ZERO = 0, 1, 3, 4, 6
FUA = 1
REQUEST, REPLY = 0x25609513, 0x67446698
HANDLE = 7  # one request is under way at a time, so its handle says nothing


class Client:
    """One connection.

    Attributes:
        size: of the disk, bytes.

    Raises:
        ConnectionError: of every method, the server closed the connection, or is none.
        DeviceError: of every request, the server answered that it failed.
    """

    def __init__(self, wire: socket.socket, export: bytes = b"") -> None:
        """Shake hands on a socket that is connected.

        Args:
            wire: the socket.
            export: name of the disk; the server's own without.
        """
        self._wire = wire
        if self._take(16) != b"NBDMAGICIHAVEOPT":
            raise ConnectionError("no server of network block devices answers there")
        self._take(2)
        option = struct.pack(">I8sII", FIXED_NEWSTYLE_NO_ZEROES, b"IHAVEOPT", EXPORT_NAME, len(export))
        wire.sendall(option + export)
        self.size: int = struct.unpack(">QH", self._take(10))[0]

    def _take(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            part = self._wire.recv(count - len(data))
            if not part:
                raise ConnectionResetError("the server closed the connection")
            data += part
        return bytes(data)

    def read(self, offset: int, size: int) -> tuple[bytes, float]:
        """The bytes, and how long it took in µs."""
        return self._request(READ, offset, size, returned=size)

    def write(self, offset: int, data: bytes, durable: bool = False) -> float:
        """How long it took in µs; with `durable` (FUA) the data is on the disk then."""
        return self._request(WRITE, offset, len(data), data, flags=FUA if durable else 0)[1]

    def flush(self) -> float:
        """All that was acknowledged is on the disk then; how long it took in µs."""
        return self._request(FLUSH, 0, 0)[1]

    def trim(self, offset: int, size: int) -> float:
        """These bytes are needed no more; how long it took in µs."""
        return self._request(TRIM, offset, size)[1]

    def zero(self, offset: int, size: int) -> float:
        """These bytes become zeroes; how long it took in µs."""
        return self._request(ZERO, offset, size)[1]

    def _request(
        self, kind: int, offset: int, size: int, data: bytes = b"", returned: int = 0, flags: int = 0
    ) -> tuple[bytes, float]:
        begin = time.monotonic_ns()
        self._wire.sendall(struct.pack(">IHHQQI", REQUEST, flags, kind, HANDLE, offset, size) + data)
        magic, error, handle = struct.unpack(">IIQ", self._take(16))
        if (magic, handle) != (REPLY, HANDLE):
            raise ConnectionError("the server answered something else than the request")
        if error:
            raise DeviceError(f"the disk answered: {os.strerror(error)}")
        got = self._take(returned)
        return got, (time.monotonic_ns() - begin) / 1000


@contextmanager
def connected(path: str | os.PathLike[str], export: str = "", seconds: float = 30.0) -> Iterator[Client]:
    """A client of the disk that listens on a socket in the file system.

    Args:
        path: of the socket.
        export: name of the disk; the server's own without.
        seconds: that an answer may take.
    """
    with socket.socket(socket.AF_UNIX) as wire:
        wire.settimeout(seconds)
        wire.connect(os.fspath(path))
        yield Client(wire, export.encode())
