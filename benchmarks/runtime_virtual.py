"""libcachezoo's virtual I/O caches on whole captured traces, beside the Python kernels.

agreement   every page access of every captured trace through a queue of all its pages and a cache of a tenth of
            them, of each order and with and without cost; and shares of the categories' test traces, in lockstep:
            references whose position, hit or moved pages differ, and pages of the last split that do
decisions   nanoseconds of a reference on each category's test trace (n = 262,144, a cache of a tenth of the trace's
            pages, 256 positions to a fragment where that many fit), and on drawn streams by bench_share
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from rich.table import Table

from cachezoo.arrays import I32
from cachezoo.console import out
from cachezoo.kernels.virtual.gvpa import share
from cachezoo.kernels.virtual.queues import QUEUES, Moves, moves
from cachezoo.kernels.virtual.vrm import Settings, simulate
from cachezoo.questions.share.mix import Application, Mix, mix_pages
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import read_trace

LIBRARY = Path(__file__).parents[1] / "runtimes/c"
PART, LARGE, SMALL, LONG, GOAL_NS = 0.1, 256, 16, 262_144, 200
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # keys all over 64 bits


@dataclass(frozen=True)
class Driven:
    """What the C program did.

    Attributes:
        places: int32[m, 3], position, hit and moved of each reference.
        split: int64[applications] pages at last, none of a cache alone.
        ns: nanoseconds of the processor a reference.
    """

    places: I32
    split: npt.NDArray[np.int64]
    ns: float


def built(folder: Path, target: str) -> Path:
    """Build a target of libcachezoo's Makefile in a folder."""
    subprocess.run(["make", "-s", "-C", str(LIBRARY), f"BUILD={folder}", f"{folder}/{target}"], check=True)
    return folder / target


def traces(named: str = "*") -> Iterator[tuple[str, Application]]:
    """Captured traces with their pages, by rising name; `named` is a pattern."""
    for path in sorted(Path("data/requests").glob(f"*/{named}.parquet")):
        pages = expand_pages(read_trace(path))
        yield path.stem, Application(path.stem, pages.page_ids, pages.n_pages)


def drive(folder: Path, mix: Mix, queue: str, n: int, settings: Settings, pages: int) -> Driven:
    """The same by the C program; a mix of one application is a cache alone."""
    keys = (mix.page_ids.astype(np.uint64) * SPREAD).astype(np.int64)
    np.stack([mix.app.astype(np.int64), keys], axis=1).tofile(folder / "references")
    own = (
        queue,
        n,
        settings.fragment,
        settings.f,
        settings.q,
        settings.alpha,
        settings.cost,
        pages,
        mix.count,
        1,
        1,
        0,
    )
    command = [built(folder, "tests/virtual_run"), folder / "references", folder / "places", *own]
    done = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)
    told = np.fromfile(folder / "places", np.int32)
    places, split = told[: 3 * len(mix)].reshape(-1, 3), told[3 * len(mix) :].view(np.int64)
    return Driven(places, split, float(done.stdout))


def settings_for(pages: int, cost: float = 0.0) -> Settings:
    """The paper's, with smaller fragments where few large ones fit."""
    return Settings(fragment=LARGE if pages >= 4 * LARGE else SMALL, cost=cost)


def different(told: Driven, position: I32, hit: npt.NDArray[np.bool_], moved: I32) -> list[str]:
    """Rows of a table: how many references differ in each."""
    wanted = np.stack([position, hit.astype(np.int32), moved], axis=1)
    return [str(int(count)) for count in (told.places != wanted).sum(axis=0)]


def alone(folder: Path, own: Application, queue: str, cost: float) -> list[str]:
    """References that differ in a cache alone."""
    pages = max(2 * SMALL, int(PART * own.n_pages))
    n, settings = max(own.n_pages, pages), settings_for(pages, cost)
    moved = moves(queue, own.page_ids, own.n_pages, n)
    served = simulate(moved, pages, n, settings)
    mix = Mix((own,), np.zeros(len(own), np.int32), "lockstep")
    return different(drive(folder, mix, queue, n, settings, pages), moved.position, served.hit, served.moved)


def shared(folder: Path, mix: Mix, queue: str, cost: float) -> list[str]:
    """References that differ in a cache that all share, and pages of the last split."""
    pages = int(PART * mix.n_pages)
    n, settings = max(LONG, pages), settings_for(pages // mix.count, cost)
    found = [moves(queue, one.page_ids, one.n_pages, n) for one in mix.applications]
    moved = Moves(*(mix.spread(parts) for parts in zip(*found, strict=True)))
    served = share(mix.app, moved, mix.count, pages // settings.fragment, n, settings)
    told = drive(folder, mix, queue, n, settings, pages)
    off = int(np.abs(told.split - served.splits[-1] * settings.fragment).sum())
    return [*different(told, moved.position, served.hit, served.moved), str(off)]


def agreement(folder: Path, named: str) -> int:
    """Print the table; how many numbers differ."""
    table = Table("trace", "queue", "cost", "references", "position", "hit", "moved", "split", title="that differ")
    sum_of = 0
    tests = []
    for name, own in traces(named):
        tests += [own] if name.endswith("_test") else []
        print(name, f"{len(own):,} references", file=sys.stderr)
        for queue in QUEUES:
            for cost in (0.0, 1.0):
                row = alone(folder, own, queue, cost)
                sum_of += sum(map(int, row))
                table.add_row(name, queue, f"{cost:g}", f"{len(own):,}", *row, "")
    for queue in QUEUES if len(tests) > 1 else ():
        mix = mix_pages(tests)
        for cost in (0.0, 1.0):
            row = shared(folder, mix, queue, cost)
            sum_of += sum(map(int, row))
            table.add_row("all test traces", queue, f"{cost:g}", f"{len(mix):,}", *row)
    out().print(table)
    return sum_of


def decisions(folder: Path, named: str) -> int:
    """Print the tables."""
    table = Table("trace", "references", *QUEUES, title=f"ns a reference, n = {LONG:,}; goal {GOAL_NS}")
    own = list(traces(named))
    for name, one in own:
        pages = max(2 * SMALL, int(PART * one.n_pages))
        mix = Mix((one,), np.zeros(len(one), np.int32), "lockstep")
        ns = [drive(folder, mix, queue, LONG, settings_for(pages), pages).ns for queue in QUEUES]
        table.add_row(name, f"{len(one):,}", *(f"{value:.0f}" for value in ns))
    mix = mix_pages([one for _, one in own])
    pages = int(PART * mix.n_pages)
    ns = [drive(folder, mix, queue, LONG, settings_for(pages // mix.count), pages).ns for queue in QUEUES]
    table.add_row("all, shared", f"{len(mix):,}", *(f"{value:.0f}" for value in ns))
    out().print(table)
    subprocess.run([str(built(folder, "bench/bench_share"))], check=True)
    return 0


def main() -> int:
    """Print the table that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("agreement", "decisions"))
    parser.add_argument("--traces", metavar="PATTERN", help="names of captured traces; decisions: *_test")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if asked.what == "agreement":
            return int(agreement(Path(folder), asked.traces or "*") > 0)
        return decisions(Path(folder), asked.traces or "*_test")


if __name__ == "__main__":
    sys.exit(main())
