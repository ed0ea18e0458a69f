"""Dbench as a file server's users: an office whose documents age, with a backup, a scan and builds of a project."""

import os
import re
import signal
from pathlib import Path
from typing import ClassVar

import numpy as np

from cachezoo.errors import CaptureError
from cachezoo.seeds import derive_seed
from tools.capture.installed import program, version_line
from tools.capture.loads import DbenchLoad, Sizes
from tools.capture.programs.base import STOPPED_S, Closed, Paced, Player
from tools.capture.programs.draws import KIB, lognormal_sizes
from tools.capture.programs.jobs import back_up, endless_backup, search
from tools.capture.programs.office import ACTIONS, NOTHING, Office
from tools.capture.recipe import Phase, Recipe, given
from tools.capture.sandbox import Sandbox
from tools.capture.schedule import Job, Segment

END_S = 30.0
VISITS = 30_000
ENDLESS_S = 3600
MIN_DONE_SHARE = 0.5
MAX_FAILED_SHARE = 0.02
PROJECT = Sizes(median_kib=6.0, sigma=1.0, max_kib=64)
# A dbench for each load file: one process of dbench plays one load file only. Dbench that is killed while it starts
# leaves a semaphore; in a name space of their own those go with the last process.
PLAY = """trap 'kill -KILL 0' TERM
for load; do
  setpriv --pdeathsig KILL -- "$DBENCH" -c "$load" -D "$SHARE" -t "$SECONDS_" --skip-cleanup 1 >"$load.log" 2>&1 &
done
wait"""
TROUBLE = re.compile(r"^.*(ERROR|Unknown operation|Badly formed|Child failed|was not found|file table full).*$", re.M)
FAILED = re.compile(r"^\[\d+\] .* failed", re.MULTILINE)
PROGRESS = re.compile(r"^ *\d+ +(\d+) .*execute", re.MULTILINE)


class Dbench(Closed[DbenchLoad], Paced[DbenchLoad]):
    """Dbench as the users of an office, a dbench each."""

    program = "dbench"
    packages: ClassVar[dict[str, str]] = {
        "dbench": "dbench",
        "unshare": "util-linux",
        "tar": "tar",
        "grep": "grep",
        "cp": "coreutils",
    }
    transactions = operations = ACTIONS
    jobs = ("backup", "scan", "build")
    beside = ("backup",)

    def __init__(self, recipe: Recipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        self.share = box.mount / "share"
        self.office = Office(self.load, recipe.seed)

    def prepare(self) -> None:
        """Write the documents and the sources of a project, where it is built."""
        block = os.urandom(max(self.load.max_kib, PROJECT.max_kib) * KIB)
        for folder in self.office.folders():
            (self.share / folder[1:]).mkdir(parents=True)
        for document in range(self.office.documents):
            path = self.share / self.office.path(document)[1:]
            path.write_bytes(block[: int(self.office.sizes[document])])
        files = self.load.paced.project_files if self.load.paced else 0
        sizes = lognormal_sizes(PROJECT, files, derive_seed(self.recipe.seed, "capture_project"))
        for number, size in enumerate(sizes.tolist()):
            path = self.share / f"project/sources/m{number // 32:03d}/s{number:05d}.c"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(block[:size])

    def _users(self, number: int, texts: list[str], seconds: int) -> Player:
        """Write the users' load files and start a dbench for each."""
        loads = [self.box.work / f"load-{number}-{user}.txt" for user in range(self.load.clients)]
        for path, text in zip(loads, texts, strict=True):
            path.write_text(text)
            self._log_of(path).touch()  # a user may be stopped before its dbench has begun
        values = {"DBENCH": program("dbench"), "SHARE": self.share, "SECONDS_": seconds}
        variables = [f"{name}={value}" for name, value in values.items()]
        command = [program("unshare"), "--ipc", "env", *variables, "/bin/sh", "-c", PLAY, "sh", *map(str, loads)]
        return self.player(f"dbench-{number}", command)

    @staticmethod
    def _log_of(load: Path) -> Path:
        """What the dbench of a load file writes."""
        return load.with_name(f"{load.name}.log")

    def _logs(self, player: Player) -> dict[Path, str]:
        """What the users' dbenches wrote, by load file.

        Raises:
            CaptureError: one stopped at an error.
        """
        number = player.name.removeprefix("dbench-")
        loads = [self.box.work / f"load-{number}-{user}.txt" for user in range(self.load.clients)]
        texts = {load: self._log_of(load).read_text(errors="replace") for load in loads}
        for text in texts.values():
            trouble = TROUBLE.search(text)
            if trouble and not self.box.closing.is_set():
                raise CaptureError(f"dbench: {trouble[0].strip()}")
        return texts

    def segment(self, segment: Segment) -> Player:
        """Start the users with what they do in the segment."""
        return self._users(segment.index, self.office.segment(segment), segment.seconds + 1)

    def check_segment(self, segment: Segment, player: Player) -> None:
        """See that the users did most of what they were to do; a document in writing may read short, few may."""
        self.finish(player, END_S)
        due = done = failed = 0
        for load, text in self._logs(player).items():
            lines = sum(NOTHING not in line for line in load.read_text().splitlines())
            due += lines
            done += min(lines, max(map(int, PROGRESS.findall(text)), default=0))
            failed += len(FAILED.findall(text))
        if not self.box.closing.is_set() and (done < MIN_DONE_SHARE * due or failed > MAX_FAILED_SHARE * max(due, 500)):
            raise CaptureError(f"dbench: {done} of {due} operations done, {failed} failed; the disk does not keep up")

    def job(self, job: Job) -> None:
        """Back up the first folders, the same each day; scan some, others each time; build the project."""
        log, pace = self.log(f"{job.kind}-{job.start_s:.0f}"), given(self.load.paced)
        folders = self.office.folders()
        names = list(folders)
        if job.kind == "backup":
            back_up(self.box, self.share, self._saved(), pace.backup_mib_s, log)
        elif job.kind == "scan":
            rng = np.random.default_rng(derive_seed(self.recipe.seed, "capture_scan", int(job.start_s * 1000)))
            count = max(1, round(pace.scan_share * len(names)))
            first = int(rng.integers(0, len(names) - count + 1))
            rows = [(self.share / name[1:], float(folders[name])) for name in names[first : first + count]]
            search(self.box, rows, pace.scan_mib_s, log)
        else:
            built = self.share / "project/built"
            self.box.run([program("rm"), "-rf", str(built)], log, timeout_s=END_S)
            self.box.run([program("cp"), "-r", str(self.share / "project/sources"), str(built)], log, timeout_s=END_S)

    def _saved(self) -> list[str]:
        """The folders that a backup reads, the same each time."""
        names = [name[1:] for name in self.office.folders()]
        return names[: max(1, round(self.load.backup_share * len(names)))]

    def play(self, phase: Phase, number: int) -> list[Player]:
        """Start the users, whose visits follow each other, and a backup where the phase has one."""
        texts = self.office.closed(self.seed(number), phase.mix, phase.theta, phase.move, VISITS)
        players = [self._users(number, texts, ENDLESS_S)]
        if "backup" in phase.beside:
            players.append(self.player(f"tar-{number}", endless_backup(self.share, self._saved())))
        return players

    def check(self, player: Player) -> None:
        """See that no user's dbench stopped at an error."""
        if not player.name.startswith("dbench"):
            super().check(player)
            return
        accepted = (0, -signal.SIGTERM, -signal.SIGKILL)
        self.box.finish(player.process, player.name, player.log, STOPPED_S, accepted)
        self._logs(player)

    @classmethod
    def versions(cls) -> dict[str, str]:
        """Dbench and tar."""
        return {
            "dbench": version_line("dbench", "--help-not-known").split(" - ")[0],
            "tar": version_line("tar", "--version"),
        }
