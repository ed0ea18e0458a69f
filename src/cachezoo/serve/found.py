"""Where things are: nbdkit, the filter, a bundle; and the line that starts nbdkit."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
from pathlib import Path
from typing import NamedTuple

from cachezoo.serve import words
from cachezoo.serve.options import Settings
from cachezoo.serve.words import ServeError

FILTER = "nbdkit-cachezoo-filter.so"
HERE = Path(__file__).resolve()
# Where servers keep programs that a user's PATH may lack.
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
CLONE = HERE.parents[3] / "models/bundles"
BUNDLES = ("/etc/cachezoo/bundles", "/var/lib/cachezoo/bundles", "/usr/share/cachezoo/bundles")
BACK = "back"
PAGE_BYTES = 4096
# What lies on the SSD, as runtimes/c/nbdkit/tier.c and back.c have it.
EDGE_BYTES, TABLE_AT, ENTRY_BYTES = 1 << 20, 2 * 4096, 32
SPARE_OF, SPARE_UNITS = 32, 64  # in mode back: one more slot for so many, and so many more
FOLDERS = "CACHEZOO_BUNDLES"  # the variable that names further folders of bundles


def program(name: str) -> str | None:
    """A program's path, through PATH and where servers have programs."""
    return shutil.which(name) or shutil.which(name, path=SYSTEM_PATH)


def nbdkit() -> str:
    """Nbdkit's path."""
    found = program("nbdkit")
    if found is None:
        raise ServeError("nbdkit is not installed: apt install nbdkit, or dnf install nbdkit")
    return found


def filter_file(given: str | None) -> str:
    """The filter: as given, else of this package (wheel, package for servers, clone), else the system's.

    Never of the working folder: nbdkit runs it, mostly as root.
    """
    places = [
        HERE.parent / FILTER,
        HERE.parents[1] / "runtime" / FILTER,
        HERE.parents[3] / FILTER,  # PREFIX/lib/cachezoo, of PREFIX/lib/cachezoo/python/cachezoo/serve
        HERE.parents[3] / "runtimes/c/build" / FILTER,
        Path("/usr/lib/cachezoo", FILTER),
    ]
    if given is not None:
        places = [Path(given)]
    for place in places:
        if place.is_file():
            return str(place)
    if given is not None:
        raise ServeError(f"{given}: there is no filter; `make runtime` builds {FILTER}")
    raise ServeError(f"{FILTER} was not found: install cachezoo-serve, run `make runtime`, or name it by --filter")


def policy(text: str) -> tuple[str, str]:
    """The filter's option for a policy, and its value: ``cz-bundle`` with a path, or ``cz-policy`` with the text.

    Raises:
        ServeError: the text names a bundle that is nowhere.
    """
    path = Path(text)
    if "/" in text or text.endswith(".zip") or (path.is_dir() and (path / "manifest.json").is_file()):
        if not path.exists():
            raise ServeError(f"--policy {text[:120]}: there is no such bundle")
        return "cz-bundle", str(Path.cwd() / path)
    if "." not in re.sub(r"\([^)]*\)", "", text):  # ids of bundles have dots, policies have them in their values alone
        return "cz-policy", text
    known = folders()
    for folder in known:
        own = bundle_in(Path.cwd() / folder, text)
        if own is not None:
            return "cz-bundle", str(own)
    raise ServeError(f"--policy {text[:120]}: no bundle of this id in {', '.join(known)}; give its folder or .zip")


def folders() -> list[str]:
    """Folders in which bundles are looked for by their ids, in this order."""
    found = [folder for folder in os.environ.get(FOLDERS, "").split(":") if folder]
    if os.geteuid() != 0:  # root's working folder may be another user's
        found.append("models/bundles")
    return [*found, *([str(CLONE)] if CLONE.is_dir() else []), *BUNDLES]


def bundle_in(folder: Path, name: str) -> Path | None:
    """The bundle of an id: its folder, or its archive of the highest version; None where there is none."""
    if (folder / name / "manifest.json").is_file():
        return folder / name
    archives = sorted(folder.glob(f"{name}-*.zip"), key=_version) if folder.is_dir() else []
    return archives[-1] if archives else None


def _version(path: Path) -> list[tuple[int, str]]:
    return [(int(part) if part.isdigit() else -1, part) for part in re.split(r"[.-]", path.stem)]


class Store(NamedTuple):
    """A disk or SSD as it was found.

    Attributes:
        block: whether it is a block device; else a file.
        size: bytes; None of a file that is not there yet.
    """

    block: bool
    size: int | None


def store(path: str, option: str, absent_is_fine: bool = False) -> Store:
    """What lies at a path.

    Raises:
        ServeError: nothing, something else than a block device or a file, or it may not be read and written.
    """
    try:
        mode = os.stat(path).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISBLK(mode)):
            raise ServeError(f"{option} {path}: it is neither a block device nor a file")
        if not os.access(path, os.R_OK | os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        # To be read alone: udev looks anew at a device that was open for writing.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return Store(stat.S_ISBLK(mode), os.lseek(handle, 0, os.SEEK_END))
        finally:
            os.close(handle)
    except FileNotFoundError as error:
        if absent_is_fine and Path(path).parent.is_dir():
            return Store(False, None)
        raise ServeError(f"{option} {path}: there is no such file or device") from error
    except OSError as error:
        fix = "; run it as root, or as who owns it" if isinstance(error, PermissionError) else ""
        raise ServeError(f"{option} {path}: {error.strerror}{fix}") from error


def check(wanted: Settings) -> None:
    """Refuse what cannot be served, before anything is written. The filter looks closer, and refuses on its own.

    Raises:
        ServeError: a line that says what is wrong.
    """
    if wanted.size < PAGE_BYTES:
        raise ServeError(f"--size: {wanted.size:,} bytes are less than a page; the least is 4K")
    disk, ssd = store(wanted.disk, "DISK"), store(wanted.ssd, "--ssd", absent_is_fine=True)
    if disk.size == 0:
        raise ServeError(f"DISK {wanted.disk}: it is empty")
    if os.path.exists(wanted.ssd) and os.path.samefile(wanted.disk, wanted.ssd):
        raise ServeError(f"--ssd {wanted.ssd}: it is the disk itself")
    taken = on_ssd(wanted.size, _unit(wanted), wanted.mode)
    must_fit(wanted.size, taken, wanted.ssd, ssd)
    if not ssd.block:
        room = shutil.disk_usage(Path(wanted.ssd).parent).free
        has = os.stat(wanted.ssd).st_blocks * 512 if ssd.size is not None else 0  # without its holes
        if room + has < taken:
            raise ServeError(
                f"--size: {wanted.size:,} bytes do not fit in the folder of {wanted.ssd}, where {room:,} are free"
            )
    own = label(wanted)
    for path, option in ((own, "--label"), (wanted.metrics_file, "--metrics-file")):
        folder = Path(path).parent if path else None
        while folder and path != wanted.label and path == own and not folder.exists():
            folder = folder.parent  # of a label in its own place: made as it starts
        if folder and not (folder.is_dir() and os.access(folder, os.W_OK)):
            raise ServeError(f"{option} {path}: {folder} is no folder that can be written to")


def on_ssd(size: int, unit: int | None, mode: str) -> int:
    """Bytes that a cache takes on its SSD, as the filter counts them.

    Args:
        size: bytes of cached data.
        unit: bytes of a unit, a row of the table each; None where only the filter knows: then without a table.
        mode: of writes; mode back has spare slots.
    """
    if unit is None:
        return 2 * EDGE_BYTES + size
    slots = size // unit
    if mode == BACK:
        slots += slots // SPARE_OF + SPARE_UNITS
    table = -(-slots * ENTRY_BYTES // PAGE_BYTES) * PAGE_BYTES
    return max(EDGE_BYTES, TABLE_AT + table) + slots * unit + EDGE_BYTES


def must_fit(size: int, taken: int, path: str, ssd: Store) -> None:
    """Refuse a cache that a block device cannot hold; a file grows.

    Args:
        size: bytes of cached data.
        taken: what that takes on the SSD, of `on_ssd`.
        path: of the SSD.
        ssd: what lies there.

    Raises:
        ServeError: it does not fit.
    """
    if ssd.block and ssd.size is not None and taken > ssd.size:
        raise ServeError(
            f"--size: {size:,} bytes do not fit on {path}, which has {ssd.size:,}: with its table the cache takes "
            f"{taken:,}"
        )


def _unit(wanted: Settings) -> int | None:
    """Bytes of a unit; None of a bundle, which has its own, and of a text that is left to the filter."""
    if policy(wanted.policy)[0] == "cz-bundle":
        return None
    text = wanted.more.get("cz-unit", str(PAGE_BYTES))
    try:
        unit = int(text) if text.isascii() and text.isdigit() else words.n_bytes(text, "cz-unit")
    except ServeError:
        return None
    return unit or None


def label(wanted: Settings) -> str | None:
    """The label's file: in mode back there has to be one, and it has a place of its own; else the one given."""
    if wanted.label is not None or wanted.mode != BACK:
        return wanted.label
    folder = os.environ.get("STATE_DIRECTORY", "").split(":")[0]  # systemd's
    if not folder and os.geteuid() == 0:
        folder = "/var/lib/cachezoo"
    place = Path(folder or os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state")
    if not folder:
        place /= "cachezoo"
    return str(place / f"{wanted.name}.label")


def command(wanted: Settings, socket: str, control: str, ready: str) -> list[str]:
    """What starts nbdkit, which ends with the process that started it.

    Args:
        wanted: what to serve.
        socket: of the disk.
        control: socket of the filter's control.
        ready: file that nbdkit writes its process id to once clients can connect.
    """
    key, value = policy(wanted.policy)
    options = {
        "cz-ssd": wanted.ssd, "cz-size": str(wanted.size), key: value, "cz-writes": wanted.mode,
        "cz-volume": wanted.name, "cz-control": control, "cz-label": label(wanted), "cz-format": wanted.format,
        "cz-write-rate": None if wanted.write_rate is None else str(int(wanted.write_rate)), **wanted.more,
    }  # fmt: skip
    return [
        nbdkit(), "-f", "--exit-with-parent", "-U", socket, "-P", ready, f"--filter={filter_file(wanted.filter)}",
        "file", f"file={wanted.disk}", *(f"{name}={text}" for name, text in options.items() if text is not None),
    ]  # fmt: skip
