"""All that may happen to a cache, its disk, its SSD and its label, in any order, with every byte that is read checked.

`PYTHONPATH=src python -m tests.nbd_campaign --requests 1000000` (as root) prints the counts. A round is: something
happens to the devices while nothing runs; the cache starts, and one client after the other reads, writes, zeroes, trims
and flushes while any call to SSD, label or disk may fail for a while, and the disk may change while nobody is
connected; the end is clean, a kill, or a loss of power that undoes any sectors that no sync covers. What a client
reads is what was written last; what the next start reads is what the disk holds. What the
operator of a labelled tier promises in docs/mounted.md's crash model is kept: the disk is not written to around the
cache where that does not end cleanly.
"""

import argparse
import json
import random
import shutil
import sys
import tempfile
import uuid
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from cachezoo.devices.nbd.client import Client
from cachezoo.errors import DeviceError
from cachezoo.seeds import derive_seed
from tests.nbd_crashes import after_a_crash, records
from tests.nbd_filter import Server, build_filter, build_plugin, build_preload, serve

UNIT = 4096
UNITS = 128
FILES = ("ssd", "disk", "label")
AROUND = (*["nothing"] * 8, "written", "other disk", "older ssd", "older label", "no ssd", "no label", "resized")
WITHIN = ("nothing", "nothing", "nothing", "written", "shrunk and grown", "shrunk for a client")
ENDS = ("stop", "kill", "power")
NEVER = 1 << 40


@dataclass
class Campaign:
    """A cache that is tried.

    Attributes:
        folder: of disk, SSD, label, and copies of them.
        filter_file: the filter.
        plugin: `slow_plugin.c`, compiled.
        preloads: the recorder, and what lets calls fail.
        rng: what chooses.
        labelled: whether the tier has a label.
        counts: what happened, by name.
    """

    folder: Path
    filter_file: Path
    plugin: Path
    preloads: tuple[Path, Path]
    rng: random.Random
    labelled: bool = True
    ended: str = "stop"
    size: int = UNITS * UNIT
    story: list = field(default_factory=list)
    counts: Counter = field(default_factory=Counter)

    def path(self, name: str) -> Path:
        """Of a file of the folder."""
        return self.folder / name

    @property
    def options(self) -> list[str]:
        """The filter's."""
        given = [f"cz-ssd={self.path('ssd')}", f"cz-size={self.size}", f"cz-stats={self.path('stats.json')}"]
        return [*given, f"cz-label={self.path('label')}"] if self.labelled else given

    def begin(self) -> None:
        """A new disk without a tier."""
        for name in (*FILES, "old ssd", "old label", "aside"):
            self.path(name).unlink(missing_ok=True)
        self.path("disk").write_bytes(self.rng.randbytes(UNITS * UNIT))
        self.labelled = self.rng.random() < 0.7
        self.ended = "stop"
        self.size = self.rng.choice((UNITS, UNITS // 4)) * UNIT
        self.boot()

    def boot(self) -> None:
        """The machine starts."""
        self.path("boot").write_text(f"{uuid.UUID(int=self.rng.getrandbits(128))}\n")

    def change(self) -> None:
        """Some bytes of the disk, around the cache."""
        with self.path("disk").open("r+b") as file:
            for _ in range(self.rng.randint(1, 8)):
                file.seek(self.rng.randrange(UNITS) * UNIT)
                file.write(self.rng.randbytes(self.rng.choice((1, 512, UNIT))))

    def resize(self, units: int) -> None:
        """The disk ends elsewhere."""
        with self.path("disk").open("r+b") as file:
            file.truncate(units * UNIT)

    def around(self) -> str:
        """Something happens while nothing runs."""
        what = self.rng.choice(AROUND)
        if what in ("written", "resized") and self.labelled and self.ended != "stop":
            what = "other disk"
        disk, aside = self.path("disk"), self.path("aside")
        if what == "written":
            self.change()
        elif what == "resized":
            self.resize(UNITS // 2)
            self.resize(UNITS)
        elif what == "other disk":
            if not aside.exists():
                aside.write_bytes(self.rng.randbytes(UNITS * UNIT))
            for source, target in ((disk, "spare"), (aside, "disk"), (self.path("spare"), "aside")):
                source.rename(self.path(target))
            self.ended = "kill"
        elif what.startswith(("older", "no")) and what != "nothing":
            name = what.split()[1]
            self.path(name).unlink(missing_ok=True)
            if what.startswith("older") and self.path(f"old {name}").exists():
                shutil.copy(self.path(f"old {name}"), self.path(name))
        return what

    def keep(self) -> None:
        """Copies that may come back; both at once would be a state that was."""
        for name in ("ssd", "label"):
            if self.rng.random() < 0.3 and self.path(name).exists():
                shutil.copy(self.path(name), self.path(f"old {name}"))

    def serve(self, variables: dict[str, str]):
        """nbdkit in a boot of its own."""
        plugin = [str(self.plugin), f"file={self.path('disk')}", "slow-us=0"]
        wrapper = self.path("bin")
        if not wrapper.exists():
            wrapper.mkdir()
            mount = f'mount --bind "{self.path("boot")}" /proc/sys/kernel/random/boot_id'
            inner = f'{mount} && exec env ${{PRELOADED:+LD_PRELOAD=$PRELOADED}} {shutil.which("nbdkit")} "$@"'
            (wrapper / "nbdkit").write_text(f"#!/bin/sh\nexec unshare --mount sh -c '{inner}' nbdkit \"$@\"\n")
            (wrapper / "nbdkit").chmod(0o755)
        path = {"PATH": f"{wrapper}:/usr/sbin:/usr/bin:/sbin:/bin"}
        return serve(self.filter_file, self.folder, self.options, plugin, path | variables)

    def round(self) -> None:
        """Once all of it."""
        what = self.around()
        self.counts[f"before: {what}"] += 1
        for name in FILES if self.labelled else FILES[:2]:
            if not self.path(name).exists():  # the recorder knows files by what they are as it begins
                self.path(name).touch()
        before = [self.path(name).read_bytes() if self.path(name).exists() else b"" for name in FILES]
        journal = self.path("journal")
        journal.unlink(missing_ok=True)
        end = self.rng.choice(ENDS)
        variables = self.variables(journal)
        fails = int(variables["FAIL_FROM"]) < NEVER
        self.story.append((what, end, self.labelled, {k: v for k, v in variables.items() if k.startswith("FAIL")}))
        with self.serve(variables) as server:
            self.client(server)
            for _ in range(self.rng.randint(0, 3)):
                server.wait_until_alone()
                self.within(server, end == "power" or (self.labelled and fails))
                self.client(server)
            server.stop() if end == "stop" else server.kill()
            self.story.append(server.said.read_text())
        self.ended = end
        self.counts[f"end: {end}"] += 1
        if end == "power":
            self.boot()
            done = records(journal) if journal.exists() else []
            done = done[: self.rng.randint(len(done) // 2, len(done))]
            for file, name in enumerate(FILES):
                if self.path(name).exists():
                    self.path(name).write_bytes(after_a_crash(before[file], done, file, self.rng))
        self.check()
        self.keep()

    def variables(self, journal: Path) -> dict[str, str]:
        """What is recorded, and what fails from when on, if anything."""
        failing = self.rng.sample(FILES, self.rng.randint(1, 3))
        first = self.rng.randrange(400) if self.rng.random() < 0.3 else NEVER
        return {
            "PRELOADED": ":".join(str(path) for path in self.preloads),
            "CRASH_JOURNAL": str(journal),
            "CRASH_FILES": ":".join(str(self.path(name)) for name in FILES if self.path(name).exists()),
            "FAIL_FILES": ":".join(str(self.path(name)) for name in failing),
            "FAIL_FROM": str(first),
            "FAIL_COUNT": str(self.rng.choice((1, 2, 5, 1 << 30))),
            "FAIL_SAID": str(self.path("failed")),
        }

    def within(self, server: Server, quiet: bool) -> None:
        """The disk changes while nobody is connected; the cache must see it by itself.

        The recorder does not, so a loss of power would undo it although it was synced.
        """
        what = "nothing" if quiet else self.rng.choice(WITHIN)
        if what == "written":
            self.change()
        elif what != "nothing":
            self.resize(UNITS // 4)
            if what == "shrunk for a client":
                with suppress(OSError), server.disk() as disk, suppress(DeviceError):
                    disk.read(0, UNIT)
                server.wait_until_alone()
            self.resize(UNITS)
        self.counts[f"within: {what}"] += 1
        self.story.append(what)

    def client(self, server: Server) -> None:
        """What it reads is what it wrote last, or what the disk held before."""
        known = bytearray(self.path("disk").read_bytes())
        unsure: set[int] = set()  # units of failed writes
        with suppress(OSError), server.disk() as disk:
            for _ in range(self.rng.randint(20, 600)):
                self.counts["requests"] += 1
                with suppress(DeviceError):
                    self.step(disk, known, unsure)

    def step(self, disk: Client, known: bytearray, unsure: set[int]) -> None:
        """One request."""
        n = self.rng.choice((1, 1, 2, 8))
        unit = min(int(self.rng.expovariate(1 / 30)), UNITS - n)
        draw, place = self.rng.random(), slice(unit * UNIT, (unit + n) * UNIT)
        if draw < 0.7:
            data = disk.read(unit * UNIT, n * UNIT)[0]
            self.counts["checked"] += 1
            if not unsure & set(range(unit, unit + n)) and data != known[place]:
                message = f"units {unit} to {unit + n} are stale"
                raise LookupError(message)
        elif draw < 0.95:
            unsure.update(range(unit, unit + n))
            data = self.rng.randbytes(n * UNIT) if draw < 0.9 else bytes(n * UNIT)
            if draw < 0.9:
                disk.write(unit * UNIT, data)
            else:
                (disk.zero if draw < 0.925 else disk.trim)(unit * UNIT, n * UNIT)
            known[place] = data
            unsure.difference_update(range(unit, unit + n))
        else:
            disk.flush()

    def check(self) -> None:
        """Whatever happened: the cache gives what the disk holds."""
        with self.serve({}) as server:
            behind = self.path("disk").read_bytes()
            with server.disk() as disk:
                for turn in range(2):
                    for unit in range(UNITS):
                        self.counts["requests"] += 1
                        self.counts["checked"] += 1
                        if disk.read(unit * UNIT, UNIT)[0] != behind[unit * UNIT : (unit + 1) * UNIT]:
                            message = f"unit {unit} is stale after the restart, in turn {turn}: {self.counts}"
                            raise LookupError(message)
            self.ended = self.rng.choice(("stop", "kill"))
            server.stop() if self.ended == "stop" else server.kill()
            said = server.said.read_text()
        self.counts["rounds"] += 1
        if self.ended == "stop":
            self.counts["taken up"] += json.loads(self.path("stats.json").read_text())["resident_at_start"]
        why = said.partition("begins empty: ")[2].partition("\n")[0]
        self.counts[f"after: {why or 'taken up'}"] += 1
        if "the disk holds something else" in why:  # a stale block, though a comparison found it
            raise LookupError(said, self.story[-6:])


def run(campaign: Campaign, requests: int) -> dict[str, int]:
    """Until so many requests were checked."""
    while campaign.counts["checked"] < requests:
        campaign.begin()
        for _ in range(12):
            campaign.round()
    return dict(campaign.counts)


def set_up(folder: Path, filter_file: Path, plugin: Path, seed: int = 0) -> Campaign:
    """In a folder of its own."""
    preloads = build_preload("crash", folder / "recorder.so"), build_preload("failing", folder / "failing.so")
    rng = random.Random(derive_seed(seed, "campaign"))
    return Campaign(folder, filter_file, plugin, preloads, rng)


def main() -> None:
    """Try, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        campaign = set_up(folder, build_filter(folder / "build"), build_plugin(folder / "slow.so"), given.seed)
        sys.stdout.write(json.dumps(run(campaign, given.requests), indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
