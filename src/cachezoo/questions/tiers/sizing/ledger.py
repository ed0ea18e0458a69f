"""A file of points that are done, so that a long search goes on where it was stopped."""

import hashlib
import json
from pathlib import Path
from typing import Any

from cachezoo.errors import CachezooError, ConfigError
from cachezoo.io import parsed_json
from cachezoo.questions.tiers.sizing.points import Point
from cachezoo.traces.table import Trace

Row = dict[str, Any]
KIND = "cachezoo size"
HEAD = "what"


def digest(trace: Trace) -> str:
    """Of a trace's requests: 32 hex digits of BLAKE2b over its times, operations, places and sizes."""
    found = hashlib.blake2b(digest_size=16)
    for column in (trace.time_us, trace.op, trace.offset, trace.size, trace.volume.codes):
        found.update(column.tobytes())
    return found.hexdigest()


class Ledger:
    """Figures of points by what they are of, kept in memory and, if a path is given, in a file of JSON lines.

    The first line says of which trace, devices and windows the points are; a file of others is refused. A last line
    that is cut off, as an interrupt may leave it, is dropped.
    """

    def __init__(self, path: Path | None, what: Row) -> None:
        """Read what is there.

        Args:
            path: the file, which may be new; None keeps nothing.
            what: JSON values that the figures hang on.

        Raises:
            ConfigError: the file is of something else, or no such file.
        """
        self._path, self._rows = path, dict[Point, Row]()
        if path is None:
            return
        if path.exists() and path.stat().st_size:
            self._read(path, what)
            return
        path.write_text(json.dumps({"kind": KIND, HEAD: what}) + "\n", encoding="utf-8")

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, point: Point) -> Row | None:
        """A point's figures; None where it is not done."""
        return self._rows.get(point)

    def put(self, point: Point, row: Row) -> None:
        """Keep a point's figures: JSON values."""
        self._rows[point] = row
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([point.hierarchy, point.ram_pages, point.ssd_pages, row]) + "\n")

    def _read(self, path: Path, what: Row) -> None:
        whole = path.read_bytes()
        kept = whole[: whole.rfind(b"\n") + 1]
        try:
            lines = [parsed_json(line, str(path)) for line in kept.decode("utf-8").splitlines()]
            head, rows = lines[0], lines[1:]
            if head["kind"] != KIND:
                raise KeyError(KIND)
            written = dict(head[HEAD])
            own = {Point(text, int(ram), int(ssd)): dict(row) for text, ram, ssd, row in rows}
        except (CachezooError, ValueError, KeyError, IndexError, TypeError) as error:
            raise ConfigError(f"{path}: no file of --resume; name another, or a new one") from error
        differ = sorted(key for key in {*written, *what} if written.get(key) != what.get(key))
        if differ:
            raise ConfigError(f"{path}: its points are of another {differ[0]}; name another file, or a new one")
        self._rows = own
        if len(kept) < len(whole):
            path.write_bytes(kept)
