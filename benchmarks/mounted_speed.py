"""What the nbdkit filter costs: its reads against nbdkit's bare file plug-in and nbdkit's own `cache` filter.

`python benchmarks/mounted_speed.py` builds the filter and prints one table. Each row is one server:

- `disk`, `ssd`: nbdkit's file plug-in alone on the disk, and on the SSD;
- `cache miss`, `cache hit`: nbdkit's filter `cache` (with cache-on-read) before the disk, its file on the SSD;
- `ours, none in`: this filter before the disk, where the policy admits nothing (RejectX, a window of 0);
- `ours, all in`: LRU: every read misses, is written to the SSD, and evicts;
- `ours, hit`: LRU with all that is read on the SSD.

fio reads through its nbd engine, at random, 4 KiB and 128 KiB, 1 and 32 in flight. The rows take turns, `--repeats`
times; each figure is the median, with the least and the greatest in brackets. A ratio is of two figures of one turn:
misses against `disk`, hits against `ssd`. CPU is what nbdkit used in all of its threads, for each read; other load
of the machine changes it least. Disk and SSD are files on `--folder` (a tmpfs shows what the filter costs, as no device
hides it), or with `--loop` loop devices over such files.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
MIB = 1 << 20
READY_S = 30
SHAPES = [(4096, 1), (4096, 32), (131072, 1), (131072, 32)]


@dataclass(frozen=True)
class Row:
    """A server, and what is read from it.

    Attributes:
        name: in the table.
        words: nbdkit's, after the socket; {disk}, {ssd}, {filter} are put in.
        of: the row that its ratio is of; itself where it has none.
        mib: of the disk are read: all of it, or what fits the cache.
        warm: whether that is read once before.
    """

    name: str
    words: str
    of: str
    mib: int
    warm: bool


@dataclass(frozen=True)
class Measured:
    """IOPS, response times, and time of nbdkit's CPU for a read, in µs."""

    iops: float
    p50_us: float
    p99_us: float
    cpu_us: float


def rows(disk_mib: int, hot_mib: int) -> list[Row]:
    """Every server. The cache holds an eighth more than what is read to hit; misses find 1 unit in about 200."""
    size = hot_mib * 9 // 8
    small = disk_mib // 16
    ours = "--filter={filter} file {disk} cz-ssd={tier}"
    theirs = "--filter=cache file {disk} cache=writethrough cache-on-read=true"
    return [
        Row("disk", "file {disk}", "disk", disk_mib, False),
        Row("ssd", "file {ssd}", "ssd", hot_mib, True),
        Row("cache miss", f"{theirs} cache-max-size={small}M", "disk", disk_mib, False),
        Row("ours, none in", f"{ours} cz-size={small}M cz-mode=rejectx cz-window=0", "disk", disk_mib, False),
        Row("ours, all in", f"{ours} cz-size={small}M", "disk", disk_mib, False),
        Row("cache hit", theirs, "ssd", hot_mib, True),
        Row("ours, hit", f"{ours} cz-size={size}M", "ssd", hot_mib, True),
    ]


def used_s(pid: int) -> float:
    """The time on a CPU that a process has had."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def loops(paths: list[Path]) -> Iterator[list[str]]:
    """A loop device over each file, gone afterwards."""
    made: list[str] = []
    try:
        for path in paths:
            found = subprocess.run(["losetup", "-f", "--show", path], check=True, capture_output=True, text=True)
            made.append(found.stdout.strip())
        yield made
    finally:
        for device in made:
            subprocess.run(["losetup", "-d", device], check=False)


@contextmanager
def served(words: list[str], folder: Path) -> Iterator[tuple[Path, int]]:
    """The socket of nbdkit, and its process id; what it says is shown where it does not start."""
    path, ready = folder / "nbd.sock", folder / "nbd.pid"
    for old in (path, ready):
        old.unlink(missing_ok=True)
    command = ["nbdkit", "-f", "-U", str(path), "-P", str(ready), *words]
    said = (folder / "said.txt").open("w")
    process = subprocess.Popen(command, env=os.environ | {"TMPDIR": str(folder)}, stderr=said)
    try:
        end = time.monotonic() + READY_S
        while not (ready.exists() and ready.read_text()):
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"nbdkit did not start: {Path(said.name).read_text()}")
            time.sleep(0.01)
        yield path, process.pid
    finally:
        process.terminate()
        process.wait(READY_S)
        said.close()


def read(served_at: tuple[Path, int], row: Row, size: int, depth: int, *more: str) -> Measured:
    """What fio measures."""
    socket, pid = served_at
    options = {
        "name": "read",
        "ioengine": "nbd",
        "uri": f"nbd+unix:///?socket={socket}",
        "size": f"{row.mib}M",
        "bs": size,
        "iodepth": depth,
        "rw": "randread",
        "thread": 1,
        "output-format": "json",
    }
    words = [f"--{name}={value}" for name, value in options.items()]
    before = used_s(pid)
    done = subprocess.run(["fio", *words, *more], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"fio: {done.stderr or done.stdout}")
    found: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]["read"]
    quantiles = found["clat_ns"]["percentile"]
    cpu_us = (used_s(pid) - before) / found["total_ios"] * 1e6
    return Measured(found["iops"], quantiles["50.000000"] / 1e3, quantiles["99.000000"] / 1e3, cpu_us)


def measure(row: Row, size: int, depth: int, places: dict[str, str], folder: Path, seconds: int) -> Measured:
    """One server, warmed where the row says so, then read for some seconds."""
    words = [word.format(**places) for word in row.words.split()]
    with served(words, folder) as server:
        if row.warm:
            read(server, row, 131072, 1)
        return read(server, row, size, depth, f"--runtime={seconds}", "--time_based")


def show(values: list[float], form: str) -> str:
    """The median, with the least and the greatest."""
    low, middle, high = (format(float(value), form) for value in np.quantile(values, [0, 0.5, 1]))
    return f"{middle} ({low} {high})"


def print_table(size: int, depth: int, table: list[Row], turns: list[dict[str, Measured]]) -> None:
    """One line a server."""
    print(f"\n{size // 1024} KiB, {depth} in flight")
    print(f"{'':<15}{'IOPS':>24}{'p50 µs':>20}{'p99 µs':>24}{'IOPS, % of':>20}{'p99, µs more':>22}{'CPU µs':>18}")
    for row in table:
        mine, base = [turn[row.name] for turn in turns], [turn[row.of] for turn in turns]
        cells = [
            show([one.iops for one in mine], ".0f").rjust(24),
            show([one.p50_us for one in mine], ".0f").rjust(20),
            show([one.p99_us for one in mine], ".0f").rjust(24),
            " " * 42,
            show([one.cpu_us for one in mine], ".1f").rjust(18),
        ]
        if row.of != row.name:
            ratios = [100 * one.iops / other.iops for one, other in zip(mine, base, strict=True)]
            more = [one.p99_us - other.p99_us for one, other in zip(mine, base, strict=True)]
            cells[3] = f"{row.of} {show(ratios, '.0f')}".rjust(20) + show(more, "+.0f").rjust(22)
        print(f"{row.name:<15}" + "".join(cells))


def make_files(folder: Path, disk_mib: int, hot_mib: int) -> dict[str, Path]:
    """Disk and SSD, of random bytes, and the tier's place on another such SSD, of zeros; all of them written."""
    files = {name: folder / name for name in ("disk", "ssd", "tier")}
    sizes = {"disk": disk_mib, "ssd": hot_mib, "tier": max(hot_mib * 9 // 8, disk_mib // 16) + 16}
    for name, path in files.items():
        with path.open("wb") as file:
            for _ in range(sizes[name]):
                file.write(bytes(MIB) if name == "tier" else os.urandom(MIB))
    return files


def main() -> None:
    """Build, measure in turns, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("/dev/shm"), help="where disk and SSD lie")
    parser.add_argument("--loop", action="store_true", help="loop devices over the files (as root)")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2, help="of each measurement, whole")
    parser.add_argument("--disk-mib", type=int, default=1024)
    parser.add_argument("--hot-mib", type=int, default=128, help="read by those that hit")
    parser.add_argument("--filter", type=Path, help="a filter that is built already")
    parser.add_argument("--only", default="", help="rows whose name begins so; and those that they are compared with")
    given = parser.parse_args()
    table = rows(given.disk_mib, given.hot_mib)
    wanted = {name for row in table if row.name.startswith(given.only) for name in (row.name, row.of)}
    table = [row for row in table if row.name in wanted]
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        if not given.filter:
            words = ["make", "-s", "-C", str(ROOT / "runtimes/c"), "filter", f"BUILD={folder / 'build'}"]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        library = given.filter or folder / "build/nbdkit-cachezoo-filter.so"
        files = make_files(folder, given.disk_mib, given.hot_mib)
        with loops(list(files.values())) if given.loop else nullcontext(list(map(str, files.values()))) as paths:
            places = dict(zip(files, paths, strict=True)) | {"filter": str(library)}
            for size, depth in SHAPES:
                turns = [
                    {row.name: measure(row, size, depth, places, folder, given.seconds) for row in table}
                    for _ in range(given.repeats)
                ]
                print_table(size, depth, table, turns)


if __name__ == "__main__":
    main()
