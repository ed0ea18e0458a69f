"""Dbench as a file server's users: an office whose documents age, with a backup, a scan and builds of a project."""

import os
import re
import subprocess
from pathlib import Path
from typing import ClassVar

import numpy as np

from cachezoo.errors import CaptureError
from cachezoo.seeds import derive_seed
from tools.capture.loads import FileserverLoad
from tools.capture.programs import program, version_line
from tools.capture.recipe import Recipe
from tools.capture.sandbox import Sandbox
from tools.capture.schedule import Job, Segment
from tools.capture.workloads.base import Workload
from tools.capture.workloads.office import NOTHING, Office, lognormal_sizes
from tools.capture.workloads.scans import back_up, search

KIB = 1024
END_S = 30.0
MIN_DONE_SHARE = 0.5
MAX_FAILED_SHARE = 0.02
# A dbench for each load file: one process of dbench plays one load file only. Dbench that is killed while it starts
# leaves a semaphore; in a name space of their own those go with the last process.
PLAY = """trap 'kill -KILL 0' TERM
for load; do
  setpriv --pdeathsig KILL -- "$DBENCH" -c "$load" -D "$SHARE" -t "$SECONDS_" --skip-cleanup 1 >"$load.log" 2>&1 &
done
wait"""
TROUBLE = re.compile(r"ERROR|Unknown operation|Badly formed|Child failed|was not found|file table full")
FAILED = re.compile(r"^\[\d+\] .* failed", re.MULTILINE)
PROGRESS = re.compile(r"^ *\d+ +(\d+) .*execute", re.MULTILINE)


class FileserverWorkload(Workload):
    """The file server."""

    id = "fileserver"
    title = "dbench: office users on home and shared folders whose documents age, with builds, a scan, a backup"
    packages: ClassVar[dict[str, str]] = {
        "dbench": "dbench",
        "unshare": "util-linux",
        "tar": "tar",
        "grep": "grep",
        "cp": "coreutils",
    }
    jobs: ClassVar[tuple[str, ...]] = ("backup", "scan", "build")

    def __init__(self, recipe: Recipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        if recipe.fileserver is None:
            message = "the recipe lacks its section fileserver"
            raise CaptureError(message)
        self.load: FileserverLoad = recipe.fileserver
        self.share = box.mount / "share"
        self.office = Office(self.load, recipe.seed)

    def _log(self, name: str) -> Path:
        return self.box.work / f"{name}.log"

    def prepare(self) -> None:
        """Write the documents and the project's sources."""
        block = os.urandom(max(self.load.max_kib * KIB, 64 * KIB))
        for folder in self.office.folders():
            (self.share / folder[1:]).mkdir(parents=True)
        for document in range(self.office.documents):
            path = self.share / self.office.path(document)[1:]
            path.write_bytes(block[: int(self.office.sizes[document])])
        seed = derive_seed(self.recipe.seed, "capture_project")
        for number, size in enumerate(lognormal_sizes(6.0, 1.0, 64, self.load.project_files, seed).tolist()):
            path = self.share / f"project/sources/m{number // 32:03d}/s{number:05d}.c"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(block[:size])

    def start(self) -> None:
        """Nothing: dbench is the server and its clients."""

    def segment(self, segment: Segment) -> "subprocess.Popen[bytes]":
        """Write the users' load files and start a dbench for each."""
        loads = self._loads(segment)
        for path, text in zip(loads, self.office.segment(segment), strict=True):
            path.write_text(text)
        values = {"DBENCH": program("dbench"), "SHARE": self.share, "SECONDS_": segment.seconds + 1}
        variables = [f"{name}={value}" for name, value in values.items()]
        command = [program("unshare"), "--ipc", "env", *variables, "/bin/sh", "-c", PLAY, "sh", *map(str, loads)]
        return self.box.spawn(command, self._log(f"segment-{segment.index}"))

    def _loads(self, segment: Segment) -> list[Path]:
        return [self.box.work / f"load-{segment.index}-{user}.txt" for user in range(self.load.clients)]

    def check(self, segment: Segment, process: "subprocess.Popen[bytes]") -> None:
        """See that the users did most of what they were to do; a document in writing may read short, few may."""
        self.box.finish(process, "dbench", self._log(f"segment-{segment.index}"), END_S)
        due = done = failed = 0
        for load in self._loads(segment):
            said = load.with_name(f"{load.name}.log").read_text(errors="replace")
            trouble = TROUBLE.search(said)
            if trouble and not self.box.closing.is_set():
                line = said[said.rfind("\n", 0, trouble.start()) + 1 :].splitlines()[0]
                message = f"dbench: {line.strip()}"
                raise CaptureError(message)
            lines = sum(NOTHING not in line for line in load.read_text().splitlines())
            due += lines
            done += min(lines, max(map(int, PROGRESS.findall(said)), default=0))
            failed += len(FAILED.findall(said))
        if not self.box.closing.is_set() and (done < MIN_DONE_SHARE * due or failed > MAX_FAILED_SHARE * max(due, 500)):
            message = f"dbench: {done} of {due} operations done, {failed} failed; the disk does not keep up"
            raise CaptureError(message)

    def job(self, job: Job) -> None:
        """Back up the first folders, the same each day; scan some, others each time; build the project."""
        log = self._log(f"{job.kind}-{job.start_s:.0f}")
        folders = self.office.folders()
        names = list(folders)
        if job.kind == "backup":
            chosen = [name[1:] for name in names[: _part(names, self.load.backup_share)]]
            back_up(self.box, self.share, chosen, self.load.backup_mib_s, log)
        elif job.kind == "scan":
            rng = np.random.default_rng(derive_seed(self.recipe.seed, "capture_scan", int(job.start_s * 1000)))
            count = _part(names, self.load.scan_share)
            first = int(rng.integers(0, len(names) - count + 1))
            rows = [(self.share / name[1:], float(folders[name])) for name in names[first : first + count]]
            search(self.box, rows, self.load.scan_mib_s, log)
        else:
            built = self.share / "project/built"
            self.box.run([program("rm"), "-rf", str(built)], log, timeout_s=END_S)
            self.box.run([program("cp"), "-r", str(self.share / "project/sources"), str(built)], log, timeout_s=END_S)

    def stop(self) -> None:
        """Nothing is left running."""

    @staticmethod
    def versions() -> dict[str, str]:
        """Dbench and tar."""
        return {
            "dbench": version_line("dbench", "--help-not-known").split(" - ")[0],
            "tar": version_line("tar", "--version"),
        }


def _part(names: list[str], share: float) -> int:
    return max(1, round(share * len(names)))
