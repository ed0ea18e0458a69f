"""The options of `serve`, on the command line and in a file, and the values that they stand for."""

from __future__ import annotations

import configparser
import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cachezoo.serve import words
from cachezoo.serve.words import ServeError

MODES = ("around", "through", "back")
SECTION = "serve"
LOOPBACK = "127.0.0.1"
ATTACH = ("auto", "no")
PATHS = {"ssd", "metrics_file", "label", "filter"}


def _mode(text: str, option: str) -> str:
    if text not in MODES:
        raise ServeError(f"{option} {text[:40]!r}: there are {', '.join(MODES)}")
    return text


def _attach(text: str, option: str) -> str:
    if text not in ATTACH and not text.startswith("/dev/"):
        raise ServeError(f"{option} {text[:40]!r}: write auto, no, or a device as /dev/nbd0")
    return text


def _listen(text: str, option: str) -> tuple[str, int]:
    """Host and port of ``9469``, ``:9469``, ``0.0.0.0:9469`` or ``[::1]:9469``; without a host this machine alone."""
    host, _, port = text.rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536) or (host and any(c in host for c in " /[]")):
        raise ServeError(f"{option} {text[:60]!r}: write [HOST:]PORT, as 9469 or 0.0.0.0:9469")
    return host or LOOPBACK, int(port)


def _text(text: str, option: str) -> str:
    if not text.strip() or any(c in text for c in "\0\n\r"):
        raise ServeError(f"{option}: it is empty, or not one line")
    return text.strip()


@dataclass(frozen=True)
class Option:
    """An option that takes a value.

    Attributes:
        metavar: what help shows in place of the value.
        help: what it does, a sentence.
        read: the value of a text, with the option's name for errors.
    """

    metavar: str
    help: str
    read: Callable[[str, str], Any] = _text


OPTIONS: dict[str, Option] = {
    "ssd": Option("DEV", "Block device or file for this disk's cache alone."),
    "size": Option("SIZE", "Cached data: 64G, 64GiB or 64GB.", words.n_bytes),
    "policy": Option("POLICY", "s3fifo, rejectx(x=1)+lirs, or a bundle (id, folder or .zip) [lru]."),
    "mode": Option("MODE", "Writes go around, through or back (to the disk later) [around].", _mode),
    "write-rate": Option("RATE", "SSD write limit: 20MB/s or 1.5TB/day.", words.rate),
    "promise": Option("SHARE", "Predicted hits to compare with, as 50%.", words.share),
    "metrics": Option("[HOST:]PORT", "Serve metrics by HTTP; without HOST only locally.", _listen),
    "metrics-file": Option("FILE", "Metrics file (.prom) for node_exporter."),
    "name": Option("NAME", "Name for other commands [the disk's].", words.name),
    "label": Option("FILE", "Small file of this disk alone, not on the SSD: the cache survives crashes."),
    "format": Option("NAME", "Overwrite the SSD's content; the refusal says NAME."),
    "attach": Option("HOW", "auto, no, or a block device such as /dev/nbd0 [auto].", _attach),
    "filter": Option("FILE", "Path of nbdkit-cachezoo-filter.so [found]."),
}  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """What is served, and how; names as in `OPTIONS`.

    Attributes:
        disk: file or block device behind the cache.
        size: bytes of cached data.
        write_rate: bytes a second; None: no limit.
        promise: a share of 1; None: nothing was promised.
        more: options of the filter that have no name here, by their names.
        config: the file that they come from; None: the command line alone.
    """

    disk: str
    ssd: str
    size: int
    name: str
    policy: str = "lru"
    mode: str = "around"
    write_rate: float | None = None
    promise: float | None = None
    metrics: tuple[str, int] | None = None
    metrics_file: str | None = None
    label: str | None = None
    format: str | None = None
    attach: str = "auto"
    filter: str | None = None
    more: Mapping[str, str] = dataclasses.field(default_factory=dict)
    config: str | None = None


def read_file(path: str) -> dict[str, str]:
    """The texts of a file: a section ``[serve]`` with the options' names, ``disk``, and any ``cz-…`` of the filter.

    Raises:
        ServeError: it cannot be read, is no such file, or has a name that is no option.
    """
    parser = configparser.ConfigParser(interpolation=None, default_section="\0", delimiters=("=",))
    try:
        with open(path, encoding="utf-8") as file:
            parser.read_file(file, path)
    except OSError as error:
        raise ServeError(f"{path}: {error.strerror}") from error
    except (configparser.Error, UnicodeDecodeError) as error:
        first = str(error).splitlines()[0]
        raise ServeError(f"{path}: no lines NAME = VALUE below [{SECTION}]: {first}") from error
    if parser.sections() != [SECTION]:
        raise ServeError(f"{path}: it must have one section, [{SECTION}]")
    found = dict(parser[SECTION])
    for key in found:
        if key != "disk" and key not in OPTIONS and not key.startswith("cz-"):
            raise ServeError(
                f"{path}: {key}: no such option; there are disk, {', '.join(OPTIONS)}, and the filter's cz-…"
            )
    return found


def settings(disk: str | None, given: Mapping[str, str | None], more: list[str], config: str | None) -> Settings:
    """The values of the command line, and of a file where the command line has none.

    Args:
        disk: of the command line.
        given: texts by names of `OPTIONS`; None where an option was not given.
        more: ``cz-KEY=VALUE``, each.
        config: the file.

    Raises:
        ServeError: one cannot be used, or one that is needed is missing.
    """
    texts = read_file(config) if config else {}
    own = {key: value for key, value in texts.items() if key.startswith("cz-")}
    for text in more:
        key, sign, value = text.partition("=")
        if not sign or not key.startswith("cz-") or not value:
            raise ServeError(f"--option {text[:40]!r}: write cz-KEY=VALUE, an option of the filter")
        own[key] = value
    texts = {key: value for key, value in texts.items() if not key.startswith("cz-")}
    where = {key: f"{config}: {key}" for key in texts}
    line = {key: value for key, value in given.items() if value is not None}
    texts.update(line)
    where.update({key: f"--{key}" for key in line})
    disk = disk or texts.get("disk")
    if not disk or not texts.get("ssd") or not texts.get("size"):
        missing = "DISK" if not disk else "--size" if texts.get("ssd") else "--ssd"
        raise ServeError(f"{missing} is missing: cachezoo serve DISK --ssd DEV --size SIZE, or --config FILE")
    for key in sorted(own):
        if key in TAKEN:
            raise ServeError(f"{key}: serve sets it itself{TAKEN[key]}")
    values: dict[str, Any] = {}
    for key, option in OPTIONS.items():
        if key in texts:
            values[key.replace("-", "_")] = option.read(texts[key], where[key])
    for key in PATHS & values.keys():
        values[key] = _absolute(values[key])
    values.setdefault("name", named(disk))
    values.update(disk=_absolute(_text(disk, "DISK")), more=own, config=_absolute(config) if config else None)
    return Settings(**values)


# Options of the filter that serve gives, with what sets them here.
TAKEN = {
    "cz-ssd": ": use ssd", "cz-size": ": use size", "cz-policy": ": use policy", "cz-bundle": ": use policy",
    "cz-mode": ": use policy", "cz-writes": ": use mode", "cz-control": "", "cz-label": ": use label",
    "cz-format": ": use format", "cz-write-rate": ": use write-rate", "cz-volume": ": use name",
}  # fmt: skip


def _absolute(path: str) -> str:
    # Not resolved: /dev/disk/by-id/… is a link that has to stay the name.
    return str(Path.cwd() / path)


def named(disk: str) -> str:
    """A name for a disk: the last part of its own."""
    text = "".join(c if words.NAME.fullmatch(f"a{c}") else "_" for c in Path(disk).name)[:64]
    return text if words.NAME.fullmatch(text) else f"d{text}"[:64]
