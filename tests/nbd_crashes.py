"""What a crash of the machine may leave of a cache and its disk: many such states, each started and read.

`PYTHONPATH=src python -m tests.nbd_crashes --crashes 500` prints the counts. Two clients write, zero, trim and flush as
in `tests.nbd_kills`, while a preloaded library records the writes and syncs of SSD, disk and label. A crash at any
moment keeps what a sync has covered, and of each later write any sectors. Whatever it keeps, the cache must give what
the disk holds.
"""

import argparse
import json
import random
import struct
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from cachezoo.seeds import derive_seed
from tests.nbd_filter import build_filter, build_plugin, build_preload, serve
from tests.nbd_kills import HALF, SECTOR, Half, read_everywhere, wait_for_requests

HEAD = struct.Struct("<qqqq")
WRITTEN, SYNC_BEGINS, SYNC_ENDED = range(3)
STATES_OF_A_RUN = 20
REQUESTS = (100, 300)  # of a run
SSD, DISK, LABEL = range(3)


@dataclass(frozen=True)
class Record:
    """What the library recorded: see crash_preload.c."""

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


def record_a_run(setup: Setup, rng: random.Random) -> list[Record]:
    """Clients work until the server is killed."""
    journal = setup.folder / "journal"
    journal.unlink(missing_ok=True)
    halves = [Half(0, checks=False), Half(HALF, checks=False)]
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
    return records(journal)


def check_state(setup: Setup, state: list[bytes]) -> dict[str, int]:
    """Start on what a crash left; the cache gives what the disk holds, and what was filled meanwhile does too."""
    for path, content in zip(setup.files, state, strict=True):
        path.write_bytes(content)
    with setup.serve(0) as server:
        with server.disk() as disk:
            for low in (*range(0, disk.size, 1 << 16), *range(0, 1 << 16, SECTOR * 8)):
                size = SECTOR * 8 if low % (1 << 16) else 1 << 16
                if disk.read(low, size)[0] != state[DISK][low : low + size]:
                    message = f"bytes {low} to {low + size}: the cache and the disk behind it differ"
                    raise LookupError(message)
        server.stop()
        said = server.said.read_text()
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
        found = record_a_run(setup, rng)
        counts["records"] += len(found)
        for _ in range(min(STATES_OF_A_RUN, crashes - counts["crashes"])):
            done = found[: rng.randint(1, len(found))]
            state = [after_a_crash(before[file], done, file, rng) for file in (SSD, DISK, LABEL)]
            stats = check_state(setup, state)
            counts["crashes"] += 1
            counts["resident_at_start"] += stats["resident_at_start"]
            counts["ssd_corrupt"] += stats["ssd_corrupt"]
    return counts


def set_up(folder: Path, filter_file: Path, plugin: Path) -> Setup:
    """In a folder of its own."""
    options = [f"cz-ssd={folder / 'ssd'}", "cz-size=512K", f"cz-stats={folder / 'stats.json'}"]
    options += [f"cz-label={folder / 'label'}"]
    return Setup(filter_file, plugin, build_preload("crash", folder / "recorder.so"), folder, options)


def main() -> None:
    """Look at crashes, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crashes", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        setup = set_up(folder, build_filter(folder / "build"), build_plugin(folder / "slow.so"))
        sys.stdout.write(json.dumps(run(setup, given.crashes, given.seed)) + "\n")


if __name__ == "__main__":
    main()
