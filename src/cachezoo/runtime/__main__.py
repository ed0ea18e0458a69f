"""`cachezoo-bundle verify|inspect|diff|run`: bundles on a machine that has Python 3.9 and libcachezoo alone."""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import struct
import sys
import zipfile
from array import array
from pathlib import Path
from typing import Any, NoReturn, TextIO

from cachezoo.runtime import abi, open
from cachezoo.runtime.abi import RuntimeFault
from cachezoo.runtime.model import FLASH_PAGE, Model

SECTIONS = ("arch", "features", "encodings", "geometry", "policy", "calibration", "measured", "cost", "provenance")
DOCUMENTS = ("manifest.json", "model.json")
DICTIONARY = "sid.bin"  # of kind streams
HEADER = struct.Struct("<8sIIQ")  # of its file
MOST_SHOWN = 40
NUMBERS = ("time_us", "offset", "size")
OPS = {"r": "read", "read": "read", "w": "write", "write": "write"}
TEXTS = ("volume", "namespace", "user", "flags")


def plain(text: str) -> str:
    """A line without what a terminal obeys, as `cachezoo.console`, which is not there, prints it: pictures instead."""
    return "".join(one if one.isprintable() else chr(0x2400 + ord(one)) if one < " " else "\ufffd" for one in text)


def show(line: str, file: TextIO | None = None) -> None:
    """Print a line; names of files and a bundle's texts may hold anything."""
    print(plain(line), file=file or sys.stdout)


def verify(arguments: argparse.Namespace) -> None:
    """Check every file and recompute the golden rows."""
    if abi.library() is None:
        from cachezoo.runtime.fallback import by_numpy

        report = by_numpy("verify", arguments.bundle, arguments.key)
    else:
        with open(arguments.bundle, capacity=1, precision=arguments.precision, key=arguments.key) as model:
            report = {**model.info, **model.verify()}
    names = ("id", "version", "kind", "digest", "rows", "golden_rows", "cases", "output_difference", "agreement")
    for name in names:
        if name in report:
            show(f"{name:18} {report[name]}")
    if report.get("release"):
        show(f"{'release':18} {report['release']}, signed")
    show(f"{arguments.bundle}: verified")


def _documents(path: str, key: str | None) -> dict[str, Any]:
    """Both documents of a bundle in one, once it was checked."""
    with open(path, capacity=1, key=key):
        return {k: v for name in DOCUMENTS for k, v in json.loads(_bytes_of(Path(path), name)).items()}


def _flat(value: object, place: str = "") -> dict[str, str]:
    """A document's values by place; lists longer than four by their length and ends."""
    if isinstance(value, dict):
        found: dict[str, str] = {}
        for key, item in value.items():
            found.update(_flat(item, f"{place}.{key}" if place else str(key)))
        return found
    if isinstance(value, list) and all(isinstance(item, dict) and "name" in item for item in value) and value:
        return {k: v for item in value for k, v in _flat(item, f"{place}.{item['name']}").items()}
    return {place: json.dumps(value)}


def inspect(arguments: argparse.Namespace) -> None:
    """Show what a bundle says of itself."""
    found = _documents(arguments.bundle, arguments.key)
    if arguments.json:
        print(json.dumps(found, sort_keys=True))
        return
    values = _flat({name: value for name, value in found.items() if name not in ("measured", "provenance")})
    for place, text in values.items():
        show(f"{place:40} {text if len(text) <= 100 else text[:97] + '...'}")


def diff(arguments: argparse.Namespace) -> int:
    """Show what changed between two bundles: inputs, thresholds, policy, figures. Exit 1 where something did."""
    old, new = (_documents(path, arguments.key) for path in (arguments.old, arguments.new))
    changed = 0
    for name in (*("id", "version", "kind", "model_digest"), *SECTIONS):
        before, after = _flat(old.get(name), name), _flat(new.get(name), name)
        places = [place for place in {**before, **after} if before.get(place) != after.get(place)]
        for place in places[: None if arguments.all else MOST_SHOWN]:
            show(f"{place}: {_cut(before.get(place))} -> {_cut(after.get(place))}")
        if len(places) > MOST_SHOWN and not arguments.all:
            show(f"{name}: {len(places) - MOST_SHOWN} more; --all shows them")
        changed += len(places)
    before, after = ({entry["path"]: entry["sha256"] for entry in one["files"]} for one in (old, new))
    for path in sorted({**before, **after}):
        if before.get(path) != after.get(path):
            show(f"{path}: {'changed' if path in before and path in after else 'added' if path in after else 'gone'}")
            changed += 1
            if path == DICTIONARY and path in before and path in after:
                show(_streams_moved(Path(arguments.old), Path(arguments.new)))
    show("equal" if not changed else f"{changed} differences")
    return int(changed > 0)


def _streams_moved(old: Path, new: Path) -> str:
    """How many chunks a changed dictionary of streams moved, in words."""
    chunks, moved = chunks_moved(*(_bytes_of(path, DICTIONARY) for path in (old, new)))
    share = 100 * moved / max(chunks, 1)
    return f"{DICTIONARY}: {share:.1f} % of the {chunks} chunks up to the last one learned have another stream"


def chunks_moved(old: bytes, new: bytes) -> tuple[int, int]:
    """Chunks below the last one that either `sid.bin` has learned, and those of another stream in the second."""
    before, after = _ranges(old), _ranges(new)
    end = max(before[-1][0], after[-1][0])
    cuts = sorted({start for start, _ in (*before, *after)} | {end})
    i = j = found = 0
    for low, high in zip(cuts, cuts[1:]):  # noqa: B905, RUF007 - Python 3.9 has no strict and no pairwise
        while i + 1 < len(before) and before[i + 1][0] <= low:
            i += 1
        while j + 1 < len(after) and after[j + 1][0] <= low:
            j += 1
        found += (high - low) * (before[i][1] != after[j][1])
    return end, found


def _ranges(data: bytes) -> list[tuple[int, int]]:
    """(first chunk, stream) of each range of a checked `sid.bin`.

    Raises:
        RuntimeFault: its size is not that of its ranges.
    """
    count = HEADER.unpack_from(data)[3] if len(data) >= HEADER.size else 0
    if count < 1 or len(data) != HEADER.size + 5 * count:
        raise RuntimeFault(f"{DICTIONARY}: its size is not that of its ranges; copy the bundle again")
    end = HEADER.size + 4 * count
    starts = struct.unpack(f"<{count}I", data[HEADER.size : end])
    return list(zip(starts, array("B", data[end:])))  # noqa: B905 - Python 3.9 has no strict


def _bytes_of(path: Path, name: str) -> bytes:
    """A file of a bundle's folder or .zip."""
    if path.is_dir():
        return (path / name).read_bytes()
    with zipfile.ZipFile(path) as archive:
        return archive.read(name)


def _cut(text: str | None) -> str:
    return "none" if text is None else text if len(text) <= 60 else text[:57] + "..."


def run(arguments: argparse.Namespace) -> None:
    """Serve a trace through the cache that a model decides for; of kind streams, count the writes of each stream."""
    with open(arguments.bundle, arguments.capacity, precision=arguments.precision, key=arguments.key) as model:
        if model.info["kind"] == "streams":
            _place(model, arguments)
            return
        if arguments.capacity is None:
            raise RuntimeFault(f"{arguments.bundle}: run needs --capacity, the pages or segments of the cache")
        if not isinstance(model, Model):
            raise RuntimeFault(f"{abi.NAME} was not found; a cache runs in it alone: set {abi.VARIABLE}")
        cache = model.cache(arguments.capacity)
        hits = misses = 0
        for request in _rows(arguments.trace):
            access = cache.access(**request)
            hits, misses = hits + access.hits, misses + access.misses
        counters = cache.stats()
        cache.close()
    for name in ("requests", "hits", "admitted", "prefetched", "evicted", "dirty_evicted", "bypassed"):
        show(f"{name:18} {counters[name]}")
    show(f"{'hit ratio':18} {hits / max(1, hits + misses):.4f}")


def _place(model: Any, arguments: argparse.Namespace) -> None:  # noqa: ANN401 - Model or NumpyModel
    """Print how many writes and bytes of a trace go to each stream; a write to several counts in each run of one."""
    if arguments.capacity is not None:
        raise RuntimeFault(f"{arguments.bundle}: kind streams runs no cache; leave --capacity out")
    writes: dict[int, list[int]] = {}
    reads = 0
    for request in _rows(arguments.trace):
        if request["op"] == "write":
            before = -1
            for stream, size in _parts(model, request):
                own = writes.setdefault(stream, [0, 0])
                own[0] += stream != before
                own[1] += size
                before = stream
        else:
            reads += 1
    show(f"{'reads':14} {reads}")
    show(f"{'stream':14} {'writes':>14} {'bytes':>14}")
    for stream, (count, size) in sorted(writes.items()):
        show(f"{stream:<14} {count:>14} {size:>14}")


def _parts(model: Any, request: dict[str, Any]) -> Any:  # noqa: ANN401 - a generator of (stream, bytes)
    """The flash pages of a write: the stream of each, and how many bytes of it are written."""
    at, end = request["offset"], request["offset"] + request["size"]
    for stream in model.place_pages(request["time_us"], at, request["size"]):
        low, at = at, min(end, (at // FLASH_PAGE + 1) * FLASH_PAGE)
        yield stream, at - low


def _rows(path: str) -> Any:  # noqa: ANN401 - a generator of keyword arguments
    with Path(path).open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file, strict=True)
        missing = {*NUMBERS, "op"} - set(reader.fieldnames or ())
        if missing:
            message = f"{path}: has no column {sorted(missing)[0]}; convert it by `cachezoo trace convert` to csv"
            raise RuntimeFault(message)
        for row in reader:
            try:
                numbers = {name: _digits(row[name] or "") for name in NUMBERS}
                op = OPS[(row["op"] or "").lower()]
            except (KeyError, ValueError) as error:
                what = f"op is {error}, none of R, W, read and write" if isinstance(error, KeyError) else error
                raise RuntimeFault(f"{path}: line {reader.line_num}: {what}") from error
            texts = {name: row[name] for name in TEXTS if row.get(name)}
            yield {**numbers, "op": op, **texts}


def _digits(text: str) -> int:
    """Raises ValueError: the text is anything but ASCII digits."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{text[:40]!r} is no whole number")
    return int(text)


class Parser(argparse.ArgumentParser):
    """Says what is wrong in the words as they were given without what a terminal obeys."""

    def error(self, message: str) -> NoReturn:
        """Say it and exit with 2."""
        super().error(plain(message))


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = Parser(prog="cachezoo-bundle", description="Verify, inspect, compare and run bundles.")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    texts = {verify: ["bundle"], inspect: ["bundle"], diff: ["old", "new"], run: ["bundle", "trace"]}
    for action, places in texts.items():
        words = (action.__doc__ or "").strip().splitlines()[0]
        command = commands.add_parser(action.__name__, help=words, description=words)
        command.set_defaults(action=action)
        for place in places:
            what = "a trace as CSV" if place == "trace" else "a bundle's folder or .zip"
            command.add_argument(place, help=what)
        command.add_argument("--key", metavar="FILE", help="public key (PEM) of the signed release that it must be in")
        if action in (verify, run):
            command.add_argument("--precision", choices=abi.PRECISIONS, default="fp32", help="of an LSTM")
    commands.choices["inspect"].add_argument("--json", action="store_true", help="as JSON")
    commands.choices["diff"].add_argument("--all", action="store_true", help="every difference")
    commands.choices["run"].add_argument("--capacity", type=int, help="pages or segments of the cache")
    return top


def main(words: list[str] | None = None) -> int:
    """Run a command; errors are one line on stderr and exit 2."""
    arguments = parser().parse_args(words)
    try:
        status = int(arguments.action(arguments) or 0)
        sys.stdout.flush()  # while what it says can still be an error
        return status
    except (RuntimeFault, OSError, csv.Error, UnicodeDecodeError) as error:
        show(f"cachezoo-bundle: {error}", sys.stderr)
        try:
            sys.stdout.flush()
        except OSError:  # closed, so that nothing is left to write as the interpreter ends
            with contextlib.suppress(OSError):
                sys.stdout.close()
        return 2


if __name__ == "__main__":
    sys.exit(main())
