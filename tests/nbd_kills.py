"""Kills nbdkit with the filter `cachezoo` under load, again and again, and checks every byte after each restart.

`PYTHONPATH=src python -m tests.nbd_kills --kills 200` prints the counts. Two clients write sectors with sequence
numbers, each in a half of the disk of its own, and read them back; two more read everywhere, so that what they read is
cached while it is written. The disk takes its time on both sides of each read and write. After a kill and a restart
every sector must hold what was acknowledged last, or what was under way, and the same through the cache as on the disk
behind it.
"""

import argparse
import json
import random
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from cachezoo.devices.nbd.client import Client
from cachezoo.seeds import derive_seed
from tests.nbd_filter import Server, build_filter, build_plugin, serve

SECTOR = 512
HALF = 2048  # sectors
AT_ONCE = 64
HOT = 200  # sectors: most requests begin below here
REQUESTS = (5, 400)  # before a kill


def stamp(sector: int, sequence: int) -> bytes:
    """What a sector holds after a write; zeros after none."""
    return struct.pack("<QQ", sector, sequence) * (SECTOR // 16) if sequence else bytes(SECTOR)


@dataclass
class Half:
    """The sectors that one client writes, and what they may hold.

    Attributes:
        first: the first of its sectors.
        known: the sequence number last acknowledged of each.
        underway: first sector, sectors, sequence number of the write that has not been acknowledged.
        requests: done so far.
        checks: whether what is read is checked.
        history: first of its own sectors, sectors, sequence number of every write, as it is sent.
        flushed: called after each flush with how many of these were acknowledged before it.
    """

    first: int
    known: list[int] = field(default_factory=lambda: [0] * HALF)
    underway: tuple[int, int, int] | None = None
    requests: int = 0
    checks: bool = True
    history: list[tuple[int, int, int]] = field(default_factory=list)
    flushed: Callable[[int], None] | None = None

    def load(self, server: Server, rng: random.Random) -> None:
        """Write, and read what was written, until the server dies."""
        with suppress(OSError), server.disk() as disk:
            while True:
                self._step(disk, rng)
                self.requests += 1

    def _step(self, disk: Client, rng: random.Random) -> None:
        n, draw = rng.randint(1, 33), rng.random()
        low = min(int(rng.expovariate(1 / HOT)), HALF - n)
        first = self.first + low
        if draw < 0.6:
            data = disk.read(first * SECTOR, n * SECTOR)[0]
            if self.checks:
                self.check(first, data)
        elif draw < 0.63:
            before = len(self.history)
            disk.flush()
            if self.flushed:
                self.flushed(before)
        else:
            sequence = 0 if draw < 0.66 else rng.getrandbits(48) | 1
            self.underway = (first, n, sequence)
            self.history.append((low, n, sequence))
            if sequence:
                disk.write(first * SECTOR, b"".join(stamp(s, sequence) for s in range(first, first + n)))
            else:
                (disk.zero if draw < 0.645 else disk.trim)(first * SECTOR, n * SECTOR)
            self.known[low : low + n] = [sequence] * n
            self.underway = None

    def _allowed(self, sector: int) -> set[int]:
        values = {self.known[sector - self.first]}
        if self.underway and 0 <= sector - self.underway[0] < self.underway[1]:
            values.add(self.underway[2])
        return values

    def check(self, first: int, data: bytes) -> None:
        """Every sector holds what it may."""
        for k in range(len(data) // SECTOR):
            found, sector = data[k * SECTOR : (k + 1) * SECTOR], first + k
            if not any(found == stamp(sector, value) for value in self._allowed(sector)):
                message = f"sector {sector} holds {found[:16].hex()}, and may hold {self._allowed(sector)}"
                raise LookupError(message)

    def verify(self, disk: Client) -> list[bytes]:
        """Read all through the cache, twice: it is what may be there."""
        turns = []
        for _ in range(2):
            parts = range(self.first, self.first + HALF, AT_ONCE)
            turns.append(b"".join(disk.read(first * SECTOR, AT_ONCE * SECTOR)[0] for first in parts))
            self.check(self.first, turns[-1])
        return turns

    def settle(self, behind: bytes) -> None:
        """What the disk holds is what is known from here on."""
        at = range(self.first * SECTOR + 8, (self.first + HALF) * SECTOR, SECTOR)
        self.known = [struct.unpack_from("<Q", behind, place)[0] for place in at]
        self.underway = None


def read_everywhere(server: Server, rng: random.Random) -> None:
    """Read what others are writing, until the server dies."""
    with suppress(OSError), server.disk() as disk:
        while True:
            n = rng.randint(1, 33)
            first = rng.choice((0, HALF)) + min(int(rng.expovariate(1 / HOT)), HALF - n)
            disk.read(first * SECTOR, n * SECTOR)


@dataclass(frozen=True)
class Setup:
    """What is killed: the filter, the plugin behind it, their folder, and the filter's options."""

    filter_file: Path
    plugin: Path
    folder: Path
    options: list[str]

    def serve(self, slow_us: int) -> AbstractContextManager[Server]:
        """Behind the cache, a disk whose requests take up to so long, twice."""
        plugin = [str(self.plugin), f"file={self.folder / 'disk'}", f"slow-us={slow_us}"]
        return serve(self.filter_file, self.folder, self.options, plugin)


def wait_for_requests(halves: list[Half], count: int, work: list[Future]) -> None:
    """Until the clients have done so many more, however long that takes on a busy machine, or one of them has ended."""
    enough = sum(half.requests for half in halves) + count
    while sum(half.requests for half in halves) < enough and not any(one.done() for one in work):
        time.sleep(0.001)


def one_kill(setup: Setup, halves: list[Half], rng: random.Random) -> None:
    """Load, a kill, a restart, and every byte checked."""
    with setup.serve(rng.choice((0, 300, 2000))) as server, ThreadPoolExecutor(2 * len(halves)) as pool:
        seeds = [random.Random(rng.getrandbits(64)) for _ in range(2 * len(halves))]
        work = [pool.submit(half.load, server, seeds.pop()) for half in halves]
        work += [pool.submit(read_everywhere, server, seeds.pop()) for _ in halves]
        wait_for_requests(halves, rng.randint(*REQUESTS), work)
        server.kill()
        for done in work:
            done.result()
    with setup.serve(0) as server:
        with server.disk() as disk:
            turns = [half.verify(disk) for half in halves]
        server.stop()
    behind = (setup.folder / "disk").read_bytes()  # after a clean end it holds everything, whatever the mode
    for half, read in zip(halves, turns, strict=True):
        if any(turn != behind[half.first * SECTOR :][: len(turn)] for turn in read):
            message = f"sectors from {half.first} on: the cache and the disk behind it differ"
            raise LookupError(message)
        half.settle(behind)


def run(filter_file: Path, plugin: Path, folder: Path, kills: int, more: list[str], seed: int = 0) -> dict[str, int]:
    """Kill as often as that.

    Args:
        filter_file: the filter.
        plugin: `slow_plugin.c`, compiled.
        folder: for the disk, its cache and the socket.
        kills: SIGKILLs.
        more: options of the filter beside its tier.
        seed: of the requests, and of how many come before each kill.

    Returns:
        Counts: requests under load, units recovered after kills, hits while checking, corrupt units found by their CRC.

    Raises:
        LookupError: a sector holds what it must not.
    """
    rng = random.Random(derive_seed(seed, "kills of the filter"))
    (folder / "disk").write_bytes(bytes(2 * HALF * SECTOR))
    stats = folder / "stats.json"
    options = [f"cz-ssd={folder / 'ssd'}", "cz-size=512K", f"cz-stats={stats}", *more]
    setup = Setup(filter_file, plugin, folder, options)
    halves = [Half(0), Half(HALF)]
    counts = {"kills": 0, "requests": 0, "resident_at_start": 0, "read_hits": 0, "ssd_corrupt": 0, "ssd_errors": 0}
    for _ in range(kills):
        one_kill(setup, halves, rng)
        found = json.loads(stats.read_text())
        counts["kills"] += 1
        for name in ("resident_at_start", "read_hits", "ssd_corrupt", "ssd_errors"):
            counts[name] += found[name]
    counts["requests"] = sum(half.requests for half in halves)
    return counts


def main() -> None:
    """Kill, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("options", nargs="*", help="of the filter, such as cz-label=FILE")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        filter_file, plugin = build_filter(folder / "build"), build_plugin(folder / "slow.so")
        counts = run(filter_file, plugin, folder, given.kills, given.options, given.seed)
        sys.stdout.write(json.dumps(counts) + "\n")


if __name__ == "__main__":
    main()
