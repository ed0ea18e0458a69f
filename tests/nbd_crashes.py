"""What a crash of the machine may leave of a cache and its disk: many such states, each started and read.

`PYTHONPATH=src python -m tests.nbd_crashes --crashes 500` prints the counts. Two clients write, zero, trim and flush as
in `tests.nbd_kills`, while a preloaded library records the writes and syncs of SSD, disk and label. A crash at any
moment keeps what a sync has covered, and of each later write any sectors. Whatever it keeps, the cache must give what
was written before the last flush that a client saw end, or something that was written later; and what it gives is what
the disk holds after a clean end.
"""

import argparse
import json
import random
import struct
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from cachezoo.seeds import derive_seed
from tests.nbd_filter import build_filter, build_plugin, build_preload, serve
from tests.nbd_kills import HALF, SECTOR, Half, read_everywhere, stamp, wait_for_requests

HEAD = struct.Struct("<qqqq")
WRITTEN, SYNC_BEGINS, SYNC_ENDED, FLUSHED = range(4)
STATES_OF_A_RUN = 20
REQUESTS = (100, 300)  # of a run
SSD, DISK, LABEL = range(3)


@dataclass(frozen=True)
class Record:
    """What the library recorded: see crash_preload.c.

    A client adds the flushes that it saw end: kind FLUSHED, the file is -1 less its number, the offset how many of its
    writes had ended before.
    """

    file: int
    kind: int
    offset: int
    data: bytes


def records(path: Path) -> list[Record]:
    """The journal's; the process may have died within the last."""
    data, found, at = path.read_bytes(), [], 0
    while at + HEAD.size <= len(data):
        file, kind, offset, size = HEAD.unpack_from(data, at)
        at += HEAD.size
        if at + size > len(data):
            break
        found.append(Record(file, kind, offset, data[at : at + size]))
        at += size
    return found


def fates(mine: list[Record]) -> tuple[int, set[int]]:
    """How many of a file's first records a whole sync covers, and those of them that a failed sync may have lost.

    Linux reports a failed writeback once and takes the pages for clean: no later sync covers them.
    """
    covered, begun, lost = 0, {}, set()
    for place, record in enumerate(mine):
        if record.kind == SYNC_BEGINS:
            if record.offset in begun:
                lost.update(range(covered, begun[record.offset]))
            begun[record.offset] = place
        elif record.kind == SYNC_ENDED:
            covered = max(covered, begun.pop(record.offset))
    for place in begun.values():
        lost.update(range(covered, place))
    return covered, lost


def after_a_crash(before: bytes, done: list[Record], file: int, rng: random.Random) -> bytes:
    """A file as a crash may leave it: what the last whole sync covers, and any sectors of what came later."""
    mine = [record for record in done if record.file == file]
    covered, lost = fates(mine)
    kept = rng.choice((0.0, 0.1, 0.5, 0.9, 1.0))
    state = bytearray(before)
    for place, record in enumerate(mine):
        for low in range(0, len(record.data), SECTOR):
            if (place < covered and place not in lost) or rng.random() < kept:
                at, part = record.offset + low, record.data[low : low + SECTOR]
                state[at : at + len(part)] = part
    return bytes(state)


@dataclass(frozen=True)
class Setup:
    """The filter, the plugin, the recorder, their folder, and the filter's options."""

    filter_file: Path
    plugin: Path
    recorder: Path
    folder: Path
    options: list[str]

    @property
    def files(self) -> list[Path]:
        """SSD, disk and label."""
        return [self.folder / "ssd", self.folder / "disk", self.folder / "label"]

    def serve(self, slow_us: int, **variables: str):
        """nbdkit over the three files."""
        plugin = [str(self.plugin), f"file={self.folder / 'disk'}", f"slow-us={slow_us}"]
        return serve(self.filter_file, self.folder, self.options, plugin, variables)


def note_flush(journal: Path, client: int) -> Callable[[int], None]:
    """What a client calls after a flush: a record that is there before any later one."""

    def note(before: int) -> None:
        with journal.open("ab", buffering=0) as file:
            file.write(HEAD.pack(-1 - client, FLUSHED, before, 0))

    return note


def record_a_run(setup: Setup, rng: random.Random) -> tuple[list[Record], list[Half]]:
    """Clients work until the server is killed."""
    journal = setup.folder / "journal"
    journal.unlink(missing_ok=True)
    halves = [Half(k * HALF, checks=False, flushed=note_flush(journal, k)) for k in range(2)]
    variables = {"LD_PRELOAD": str(setup.recorder), "CRASH_JOURNAL": str(journal)}
    variables["CRASH_FILES"] = ":".join(str(path) for path in setup.files)
    with setup.serve(rng.choice((0, 300)), **variables) as server, ThreadPoolExecutor(4) as pool:
        seeds = [random.Random(rng.getrandbits(64)) for _ in range(4)]
        work = [pool.submit(half.load, server, seeds.pop()) for half in halves]
        work += [pool.submit(read_everywhere, server, seeds.pop()) for _ in halves]
        wait_for_requests(halves, rng.randint(*REQUESTS), work)
        server.kill()
        for done in work:
            done.result()
    return records(journal), halves


def allowed(half: Half, done: list[Record], client: int, before: bytes) -> list[set[bytes]]:
    """What each sector of a client may hold after a crash, as the beginning of the sector."""
    flushes = [record.offset for record in done if record.kind == FLUSHED and record.file == -1 - client]
    durable = flushes[-1] if flushes else 0
    may = [{before[at : at + 16]} for at in range(half.first * SECTOR, (half.first + HALF) * SECTOR, SECTOR)]
    for place, (low, n, sequence) in enumerate(half.history):
        for sector in range(low, low + n):
            if place < durable:
                may[sector].clear()
            may[sector].add(stamp(half.first + sector, sequence)[:16])
    return may


def check_state(setup: Setup, state: list[bytes], may: list[set[bytes]]) -> dict[str, int]:
    """Start on what a crash left and read all of it, some of it again; then the disk holds what was read."""
    for path, content in zip(setup.files, state, strict=True):
        path.write_bytes(content)
    with setup.serve(0) as server:
        with server.disk() as disk:
            parts = (*range(0, disk.size, 1 << 16), *range(0, 1 << 16, SECTOR * 8))
            sizes = [SECTOR * 8 if low % (1 << 16) else 1 << 16 for low in parts]
            read = [(low, disk.read(low, size)[0]) for low, size in zip(parts, sizes, strict=True)]
        server.stop()
        said = server.said.read_text()
    behind = setup.files[DISK].read_bytes()
    for low, data in read:
        if data != behind[low : low + len(data)]:
            message = f"bytes {low} to {low + len(data)}: the cache and the disk behind it differ"
            raise LookupError(message)
    for sector, values in enumerate(may):
        if behind[sector * SECTOR :][:16] not in values:
            message = f"sector {sector} is older than what was flushed"
            raise LookupError(message)
    if "the disk holds something else" in said:  # a stale block, though a comparison found it
        raise LookupError(said)
    return dict(json.loads((setup.folder / "stats.json").read_text()))


def run(setup: Setup, crashes: int, seed: int = 0) -> dict[str, int]:
    """Look at so many states after crashes.

    Returns:
        Counts: states, records, units taken up, and units whose CRC was wrong.

    Raises:
        LookupError: a state in which the cache gives what the disk does not hold.
    """
    rng = random.Random(derive_seed(seed, "crashes of the machine"))
    setup.files[DISK].write_bytes(bytes(2 * HALF * SECTOR))
    with setup.serve(0) as server:
        server.stop()
    counts = {"crashes": 0, "records": 0, "resident_at_start": 0, "ssd_corrupt": 0}
    while counts["crashes"] < crashes:
        before = [path.read_bytes() for path in setup.files]
        found, halves = record_a_run(setup, rng)
        counts["records"] += len(found)
        for _ in range(min(STATES_OF_A_RUN, crashes - counts["crashes"])):
            done = found[: rng.randint(1, len(found))]
            state = [after_a_crash(before[file], done, file, rng) for file in (SSD, DISK, LABEL)]
            may = [values for k in range(2) for values in allowed(halves[k], done, k, before[DISK])]
            stats = check_state(setup, state, may)
            counts["crashes"] += 1
            counts["resident_at_start"] += stats["resident_at_start"]
            counts["ssd_corrupt"] += stats["ssd_corrupt"]
    return counts


def set_up(folder: Path, filter_file: Path, plugin: Path, *more: str) -> Setup:
    """In a folder of its own; `more` are options of the filter."""
    options = [f"cz-ssd={folder / 'ssd'}", "cz-size=512K", f"cz-stats={folder / 'stats.json'}"]
    options += [f"cz-label={folder / 'label'}", *more]
    return Setup(filter_file, plugin, build_preload("crash", folder / "recorder.so"), folder, options)


def main() -> None:
    """Look at crashes, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crashes", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("options", nargs="*", help="of the filter, such as cz-writes=back")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        built = build_filter(folder / "build")
        setup = set_up(folder, built, build_plugin(folder / "slow.so"), *given.options)
        sys.stdout.write(json.dumps(run(setup, given.crashes, given.seed)) + "\n")


if __name__ == "__main__":
    main()
