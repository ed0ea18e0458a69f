"""A client of NBD that connects and leaves, as the protocol's handshake has it (NetworkBlockDevice/nbd, proto.md)."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

from cachezoo.serve.words import ServeError

MAGIC, OPTION, REPLY, REQUEST = b"NBDMAGIC", b"IHAVEOPT", 0x3E889045565A9, 0x25609513
GO, INFO, ACK, DISCONNECT = 7, 3, 1, 2
FIXED = 1  # a flag of the server, and of the client


def connect(path: Path, patience_s: float) -> None:
    """Open the default export of a server, as its first client, and leave.

    Raises:
        ServeError: the server refuses, or does not answer in time.
    """
    try:
        with socket.socket(socket.AF_UNIX) as wire:
            wire.settimeout(patience_s)
            wire.connect(str(path))
            first = _take(wire, 18)
            if first[:16] != MAGIC + OPTION:
                raise ServeError(f"{path}: no server of NBD")
            wire.sendall(struct.pack(">I", FIXED) + OPTION + struct.pack(">IIIH", GO, 6, 0, 0))
            kind = INFO
            while kind == INFO:
                magic, _, kind, size = struct.unpack(">QIII", _take(wire, 20))
                _take(wire, size)
                if magic != REPLY:
                    raise ServeError(f"{path}: no answer of NBD")
            if kind != ACK:
                raise ServeError(f"{path}: the disk cannot be opened")
            wire.sendall(struct.pack(">IHHQQI", REQUEST, 0, DISCONNECT, 0, 0, 0))
            while wire.recv(1 << 12):  # until the server has closed it
                pass
    except OSError as error:
        raise ServeError(f"{path}: {error.strerror or error}") from error


def _take(wire: socket.socket, size: int) -> bytes:
    taken = b""
    while len(taken) < size:
        part = wire.recv(size - len(taken))
        if not part:
            raise ConnectionResetError("the server closed the connection")
        taken += part
    return taken
