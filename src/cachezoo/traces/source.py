"""A trace's file as a stream of bytes: compression recognised by content, damage answered with a typed error.

Text in UTF-16 that begins with its byte order mark, as PowerShell writes it, comes as UTF-8.
"""

import bz2
import codecs
import gzip
import lzma
import os
import shutil
import stat
import tempfile
import weakref
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from cachezoo.errors import TraceError
from cachezoo.io import sha256_file
from cachezoo.traces.wording import many

HEAD_BYTES = 1 << 16
READ_BYTES = 4 << 20
PACKED_BYTES = 1 << 18
MOST_LINE_BYTES = 64 << 20
MAGICS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}
SUFFIXES = (".gz", ".bz2", ".xz", ".zst", ".lz4")
DAMAGE = (OSError, EOFError, lzma.LZMAError, zlib.error, ValueError)  # what decompressors raise
LF, CR, TAB, BLANK = b"\n\r\t "
NARROW = 128  # signs below it are ASCII
BOM = b"\xef\xbb\xbf"
WIDE_BOMS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
WIDE_BYTES = 256  # so many bytes tell text in UTF-16 from other bytes


def line_feeds(text: bytes) -> bytes:
    """The text with a line feed for each line end: a carriage return with a line feed after it is one, as is either.

    A carriage return at the very end may be half of one.
    """
    if b"\r" not in text:
        return text
    signs = np.frombuffer(text, np.uint8)
    returns, feeds = signs == CR, signs == LF
    if not returns[-1] and not (returns[:-1] > feeds[1:]).any():
        return text.translate(None, b"\r")  # all are of CRLF, and this is much faster than what follows
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _decompressed(raw: BinaryIO, compression: str) -> BinaryIO:
    if compression == "gzip":
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    if compression == "bzip2":
        return cast(BinaryIO, _Streams(raw, bz2.BZ2Decompressor))
    if compression == "xz":
        return cast(BinaryIO, _Streams(raw, lzma.LZMADecompressor))
    if compression in ("zstd", "lz4"):
        import pyarrow as pa

        return cast(BinaryIO, pa.CompressedInputStream(raw, compression))
    return raw


def refuse_pipe(path: Path) -> None:
    """Refuse a pipe where a trace is read more than once.

    Raises:
        TraceError: it is one.
    """
    if path.is_fifo() or path.is_socket():
        raise TraceError(f"{path}: is a pipe, but is needed more than once; save the trace to a file first")


class DamagedTrace(TraceError):
    """A file whose bytes end early or are no compressed data.

    Attributes:
        where: the file, and how far it could be read.
        said: what its decompressor says.
    """

    def __init__(self, where: str, said: str) -> None:
        super().__init__(f"{where} ({said}); fetch the file again")
        self.where, self.said = where, said

    def after(self, rows: int) -> "DamagedTrace":
        """The same, with how many rows could be read before the damage."""
        return DamagedTrace(f"{self.where}, {many(rows, 'row')} read before it", self.said)


@dataclass
class Source:
    """One file of a trace, or a pipe, which is copied to a temporary file when it is first looked at."""

    path: Path  # the file; errors name it so
    # bytes of the file, as stored, that the present or last `blocks` has read: what progress counts
    consumed: int = field(default=0, init=False)

    @cached_property
    def stored(self) -> Path:
        """Where the bytes lie: the file, or the copy of a pipe, which goes with this object or the process.

        Raises:
            TraceError: there is no such file, or it is neither file nor pipe, or a pipe cannot be copied.
        """
        try:
            mode = self.path.stat().st_mode
        except FileNotFoundError as error:
            hint = "; for what is piped in, write /dev/stdin" if str(self.path) == "-" else ""
            raise TraceError(f"{self.path}: no such file{hint}") from error
        if stat.S_ISREG(mode):
            return self.path
        if stat.S_ISDIR(mode):
            raise TraceError(f"{self.path}: is a folder; name the trace's files")
        if not stat.S_ISFIFO(mode) and not stat.S_ISSOCK(mode):
            raise TraceError(f"{self.path}: is neither a file nor a pipe; name the trace's files")
        return self._copied()

    def _copied(self) -> Path:
        """A pipe's bytes in a temporary file: a trace is read more than once, its beginning to begin with."""
        folder = tempfile.gettempdir()
        try:
            with tempfile.NamedTemporaryFile(prefix=f"cachezoo.{self.path.name}.", dir=folder, delete=False) as copy:
                weakref.finalize(self, Path(copy.name).unlink)
                with self.path.open("rb") as pipe:
                    shutil.copyfileobj(pipe, copy, READ_BYTES)
                return Path(copy.name)
        except OSError as error:
            message = (
                f"{self.path}: is a pipe, which is copied to {folder} to be read, and cannot be ({error.strerror}); "
                "make room there, or set TMPDIR to a folder with more"
            )
            raise TraceError(message) from error

    @cached_property
    def compression(self) -> str:
        """``gzip``, ``bzip2``, ``xz``, ``zstd``, ``lz4`` or ``none``, by the file's first bytes."""
        with self._raw() as raw:
            start = raw.read(6)
        return next((name for magic, name in MAGICS.items() if start.startswith(magic)), "none")

    @cached_property
    def sha256(self) -> str:
        """Hex sha256 of the file as stored."""
        return sha256_file(self.stored)

    @property
    def size(self) -> int:
        """Bytes of the file as stored."""
        return self.stored.stat().st_size

    @property
    def stem(self) -> str:
        """The file's name without its suffixes for compression and format, as text that UTF-8 can hold."""
        name = os.fsencode(self.path.name).decode("utf-8", "replace")
        for suffix in SUFFIXES:
            name = name.removesuffix(suffix)
        return name.rsplit(".", 1)[0]

    @contextmanager
    def _raw(self) -> Iterator[BinaryIO]:
        with self.stored.open("rb") as raw:
            yield raw

    @contextmanager
    def _stream(self) -> Iterator[BinaryIO]:
        """The decompressed bytes; whatever is wrong with them is a `TraceError` that names the file."""
        with self._raw() as raw:
            try:
                yield _narrow(_Counted(self, raw, _decompressed(raw, self.compression)))  # type: ignore[arg-type]
            except DAMAGE as error:
                said = " ".join(str(error).split())[:200] or type(error).__name__
                where = f"{self.path}: damaged or cut short after {self.consumed:,} of {self.size:,} bytes"
                raise DamagedTrace(where, said) from error

    def head(self, most: int = HEAD_BYTES) -> bytes:
        """The first decompressed bytes, without a byte-order mark.

        Raises:
            TraceError: the file is missing, or damaged this early.
        """
        with self._stream() as stream:
            return _filled(stream, most + len(BOM)).removeprefix(BOM)[:most]

    def first_lines(self) -> list[str]:
        """The lines of the file's beginning that are not blank, as text; the last may be cut short.

        Raises:
            TraceError: as `head`.
        """
        return [line for line in line_feeds(self.head()).decode("utf-8", "replace").split("\n") if line.strip(" \t")]

    def blocks(self, size: int = READ_BYTES, *, to_damage: bool = False) -> Iterator[bytes]:
        """The decompressed bytes in blocks of `size`; only the last is shorter.

        Args:
            size: bytes of a block.
            to_damage: whether a shorter block with what can be read before damage comes first.

        Raises:
            TraceError: the file is missing.
            DamagedTrace: it is damaged or cut short.
        """
        with self._stream() as stream:
            parts: list[bytes] = []
            missing = size
            try:
                while part := stream.read(missing):
                    parts.append(part)
                    missing -= len(part)
                    if not missing:
                        yield _one(parts)
                        parts, missing = [], size
            except DAMAGE:
                if parts and to_damage:
                    yield _one(parts)
                raise
            if parts:
                yield _one(parts)

    def lines(self, size: int = READ_BYTES) -> Iterator[bytes]:
        """The decompressed text in blocks that end with a line, without a byte-order mark, with line feeds alone.

        A line feed, a carriage return, and both in this order end a line. A last line that has no end is in the last
        block.

        Raises:
            TraceError: as `blocks`, or a line is so long that this is no text.
        """
        whole = rest = held = b""
        first = True
        blocks = self.blocks(size, to_damage=True)
        while True:
            try:
                block = next(blocks, b"")
            except DamagedTrace:
                if whole:
                    yield whole
                raise
            if not block:
                break
            text = held + (block.removeprefix(BOM) if first else block)
            first = False
            # The line feed that belongs to a carriage return at a block's end may be in the next block.
            held = text[-1:] if text.endswith(b"\r") else b""
            text = line_feeds(text[:-1] if held else text)
            end = text.rfind(b"\n") + 1
            if end:
                if whole:
                    yield whole
                whole, rest = b"".join((rest, memoryview(text)[:end])), text[end:]
            else:
                rest += text
            if len(rest) > MOST_LINE_BYTES:
                message = f"{self.path}: a line is longer than {MOST_LINE_BYTES:,} bytes: it is no text; use --format"
                raise TraceError(message)
        rest += line_feeds(held)
        if whole or rest:
            yield whole + rest


class _Streams:
    """Streams of bzip2 or xz one after another.

    The standard library's files end, without a word, where a further stream's beginning is damaged.
    """

    def __init__(self, raw: BinaryIO, new: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]) -> None:
        self._raw, self._new, self._stream = raw, new, new()

    def read(self, size: int) -> bytes:
        """Some bytes, at most `size`; none at the end."""
        while True:
            packed = b""
            if self._stream.eof:
                packed = self._stream.unused_data.lstrip(b"\0")
                while not packed and (block := self._raw.read(PACKED_BYTES)):
                    packed = block.lstrip(b"\0")  # padding
                if not packed:
                    return b""
                self._stream = self._new()
            elif self._stream.needs_input and not (packed := self._raw.read(PACKED_BYTES)):
                raise EOFError  # `Source` says what it means
            if data := self._stream.decompress(packed, size):
                return data


class _Counted:
    """Reads of a stream, and how far they have come in the file underneath."""

    def __init__(self, source: Source, raw: BinaryIO, stream: BinaryIO) -> None:
        self._source, self._at = source, raw
        # A long read of gzip or zstd loses what it has when it meets damage.
        self._some = stream.read1 if isinstance(stream, gzip.GzipFile) else stream.read
        self._most = None if source.compression in ("none", "gzip") else PACKED_BYTES
        source.consumed = 0

    def read(self, size: int) -> bytes:
        try:
            return self._some(size if self._most is None else min(size, self._most))
        finally:
            self._source.consumed = self._at.tell()


def wide_text(data: bytes) -> str:
    """The encoding of text in UTF-16, with a byte order mark or without one; empty where bytes are no such text.

    Args:
        data: the first bytes of a file.
    """
    data = data[: len(data) // 2 * 2]
    named = WIDE_BOMS.get(data[:2])
    for encoding in (named,) if named else WIDE_BOMS.values():
        # Text of the usual signs has a zero in each unit; a binary record has others in both of its bytes.
        units = np.frombuffer(data, np.dtype("<u2" if encoding == "utf-16-le" else ">u2"))[1 if named else 0 :]
        signs = (units >= BLANK) | (units == TAB) | (units == LF) | (units == CR)
        if len(units) and signs.all() and 2 * np.count_nonzero(units < NARROW) >= len(units):
            return encoding
    return ""


class _Joined:
    """A stream with bytes put back that were read of it."""

    def __init__(self, start: bytes, stream: BinaryIO) -> None:
        self._start, self._stream = start, stream

    def read(self, size: int) -> bytes:
        if not self._start:
            return self._stream.read(size)
        data, self._start = self._start[:size], self._start[size:]
        return data


class _Narrow:
    """Text in UTF-16 as UTF-8; what is no such text becomes bytes that are none of UTF-8 either, in its row."""

    def __init__(self, stream: _Joined, encoding: str) -> None:
        self._stream, self._rest, self._ended = stream, b"", False
        self._decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")

    def read(self, size: int) -> bytes:
        """Some bytes, at most `size`; none at the end."""
        while not self._rest and not self._ended:
            data = self._stream.read(size)
            self._ended = not data
            self._rest = self._decoder.decode(data, self._ended).encode("utf-8", "surrogatepass")
        data, self._rest = self._rest[:size], self._rest[size:]
        return data


def _narrow(stream: BinaryIO) -> BinaryIO:
    """A stream of bytes, as UTF-8 where it is of text in UTF-16."""
    start = _filled(stream, len(BOM) - 1)
    if start not in WIDE_BOMS:
        return cast(BinaryIO, _Joined(start, stream))
    start += _filled(stream, WIDE_BYTES)
    joined = _Joined(start, stream)
    # The mark itself becomes the one of UTF-8, which comes off as any other.
    return cast(BinaryIO, _Narrow(joined, encoding) if (encoding := wide_text(start)) else joined)


def _filled(stream: BinaryIO, size: int) -> bytes:
    """Up to `size` bytes, fewer only at the end."""
    parts: list[bytes] = []
    missing = size
    while missing and (part := stream.read(missing)):
        parts.append(part)
        missing -= len(part)
    return _one(parts)


def _one(parts: list[bytes]) -> bytes:
    return parts[0] if len(parts) == 1 else b"".join(parts)
