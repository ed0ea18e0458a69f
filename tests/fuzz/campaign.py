"""A campaign: all targets share the time; at the end a table, and an exit status of 1 where something was found.

    make fuzz MINUTES=60 [TARGET=msr] [JOBS=2]

Findings and corpora are kept in `.tmp/fuzz/<target>/`; the next campaign goes on from the corpora.
"""

import argparse
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.table import Table

from cachezoo.console import Advance, err, out, progress
from tests.fuzz.limits import SECONDS, WAITED
from tests.fuzz.target import Finding
from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / ".tmp" / "fuzz"
SILENT_S = 2 * WAITED * SECONDS  # native code that Python cannot interrupt
POLL_S = 0.5
LEAST_S = 3.0
COVERAGE = re.compile(rb"^#\d+\s+(\w+)\s.*?cov: (\d+)", re.MULTILINE)
START_S = 300.0  # in which a process on a busy machine has imported and instrumented what it tries


@dataclass
class Run:
    """What became of a target.

    Attributes:
        target: its id.
        folder: where its findings and corpus are.
        seconds: time that it has left.
        executions, spent: inputs tried, and the seconds that took, processes before the present one.
        covered: the edges that the valid inputs reached, and those reached at the end; None where nothing guided it.
        process: the present process, if any.
    """

    target: str
    folder: Path
    seconds: float
    executions: int = 0
    spent: float = 0.0
    covered: tuple[int, int] | None = None
    process: subprocess.Popen[bytes] | None = None
    begun: float = 0.0
    restarts: int = 0
    ended: list[str] = field(default_factory=list)

    @property
    def log(self) -> Path:
        """The output of its processes."""
        return self.folder / "log"

    def start(self) -> None:
        """Begin a process with the time that is left."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in ("status.json", "current"):
            (self.folder / name).unlink(missing_ok=True)
        command = [sys.executable, "-m", "tests.fuzz.worker", self.target, "--folder", str(self.folder)]
        command += ["--until", str(time.monotonic() + self.seconds), "--seed", str(self.restarts)]
        with self.log.open("wb") as log:
            # Ctrl-C is this process's to answer.
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True)
        self.begun = time.monotonic()

    def status(self) -> dict[str, float]:
        """How far the present process has come."""
        try:
            found: dict[str, float] = json.loads((self.folder / "status.json").read_text())
        except (FileNotFoundError, ValueError):  # not there yet, or just being written
            found = {"executions": 0, "seconds": 0.0}
        return found

    def silent(self) -> float:
        """Seconds since the present process took its last input."""
        current = self.folder / "current"
        if not current.exists():
            return max(0.0, time.monotonic() - self.begun - START_S)
        return time.time() - current.stat().st_mtime

    def died(self, how: str) -> None:
        """Keep the input that a process did not survive."""
        current = self.folder / "current"
        data = current.read_bytes() if current.exists() else b""
        finding = Finding(self.target, data, how, self.log.read_text("utf-8", "replace")[-4000:])
        place = self.folder / "findings" / finding.name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        place.with_suffix(".json").write_text(json.dumps({"key": finding.key, "said": finding.said}))

    def close(self) -> None:
        """Add up what the process that ended has done."""
        status = self.status()
        self.executions += int(status["executions"])
        self.spent += status["seconds"]
        self.seconds -= time.monotonic() - self.begun
        self.restarts += 1
        self.process = None
        found = COVERAGE.findall(self.log.read_bytes())
        if found:
            first = next((int(edges) for word, edges in found if word == b"INITED"), int(found[0][1]))
            self.covered = (self.covered[0] if self.covered else first, int(found[-1][1]))

    def poll(self) -> bool:
        """Look after the present process; returns whether the target has had its time."""
        if self.process is None:
            self.start()
            return False
        code = self.process.poll()
        if code is None and self.silent() > SILENT_S:
            self.stop()
            self.died(f"no answer for {SILENT_S:g} s in native code")
            self.close()
        elif code is None:
            return False
        else:
            if code:
                self.died(f"the process ended with {code}")
            self.close()
        return self.seconds < LEAST_S or self.restarts > 20

    def stop(self) -> None:
        """End the present process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def findings(self) -> list[tuple[Path, str]]:
        """Inputs and what they are."""
        paths = sorted((self.folder / "findings").glob("*.json"))
        return [(path.with_suffix(""), json.loads(path.read_text())["key"]) for path in paths]


def campaign(runs: Sequence[Run], jobs: int, advance: Advance) -> None:
    """Run the targets, so many at once; Ctrl-C ends it early, with what there is by then."""
    waiting, active = list(runs), list[Run]()
    begun = time.monotonic()
    try:
        while waiting or active:
            while waiting and len(active) < jobs:
                active.append(waiting.pop(0))
            active = [run for run in active if not run.poll()]
            found = sum(len(run.findings()) for run in runs)
            note = ", ".join(run.target for run in active)
            advance(time.monotonic() - begun, f"{note}; {found} findings")
            time.sleep(POLL_S)
    except KeyboardInterrupt:
        err().print("interrupted")
    finally:
        for run in active:
            if run.process is not None:
                run.stop()
                run.close()


def table(runs: Sequence[Run]) -> Table:
    """What became of each target."""
    shown = Table("target", title="fuzzing", title_justify="left")
    for name in ("executions", "executions/s", "new coverage", "findings"):
        shown.add_column(name, justify="right")
    for run in runs:
        speed = f"{run.executions / run.spent:,.0f}" if run.spent else "-"
        covered = f"{run.covered[1]:,} (+{run.covered[1] - run.covered[0]:,})" if run.covered else "-"
        shown.add_row(run.target, f"{run.executions:,}", speed, covered, str(len(run.findings())))
    total = sum(run.executions for run in runs)
    shown.add_section()
    shown.add_row("all", f"{total:,}", "", "", str(sum(len(run.findings()) for run in runs)))
    return shown


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="make fuzz")
    parser.add_argument("--minutes", type=float, default=60.0, help="of wall time, in total")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    parser.add_argument("--target", action="append", choices=TARGETS, help="one target; may be repeated")
    parser.add_argument("--folder", type=Path, default=KEPT, help="of corpora and findings")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Run a campaign; 1 where something was found."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the shell started this with Ctrl-C ignored
    asked = arguments(given)
    names = asked.target or list(TARGETS)
    share = 60 * asked.minutes * min(asked.jobs, len(names)) / len(names)
    runs = [Run(name, asked.folder / name, share) for name in names]
    for run in runs:
        shutil.rmtree(run.folder / "findings", ignore_errors=True)
    with progress("fuzz", 60 * asked.minutes) as advance:
        campaign(runs, asked.jobs, advance)
    out().print(table(runs))
    found = [(run.target, path, key) for run in runs for path, key in run.findings()]
    for target, path, key in found:
        out().print(f"{target}: {key}\n    .venv/bin/python -m tests.fuzz.replay {target} {path}", soft_wrap=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
