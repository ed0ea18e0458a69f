"""The filter's control socket: what it counts, another policy, another SSD. docs/mounted.md has the protocol."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

from cachezoo.serve.words import ServeError, here

Options = Mapping[str, Optional[str]]
PATIENCE_S = 60.0  # a bundle is verified before it is taken
MOST = 1 << 20


def listens(path: Path) -> bool:
    """Whether the filter takes commands there: nbdkit writes its process id a moment before it does."""
    with socket.socket(socket.AF_UNIX) as wire:
        return wire.connect_ex(str(path)) == 0


def ask(path: Path, command: str, options: Options | None = None, patience_s: float = PATIENCE_S) -> dict[str, Any]:
    """The filter's answer.

    Args:
        path: of the socket.
        command: status, reload or attach.
        options: of the filter; one whose value is None is left out.
        patience_s: how long it may take.

    Raises:
        ServeError: it refuses, with its line, or does not answer.
    """
    lines = [command, *(f"{key}={text}" for key, text in (options or {}).items() if text is not None), "", ""]
    said = b""
    with socket.socket(socket.AF_UNIX) as wire:
        wire.settimeout(patience_s)
        try:
            wire.connect(str(path))
            wire.sendall("\n".join(lines).encode())
            while len(said) < MOST:
                part = wire.recv(1 << 16)
                if not part:
                    break
                said += part
        except OSError as error:
            raise ServeError(f"{path}: the filter does not answer: {error.strerror or error}") from error
    try:
        found = json.loads(said)
    except ValueError as error:
        raise ServeError(f"{path}: the filter's answer is no JSON") from error
    if not isinstance(found, dict):
        raise ServeError(f"{path}: the filter's answer is no JSON object")
    if "error" in found:
        raise ServeError(here(str(found["error"])))
    return found
