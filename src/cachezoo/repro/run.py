"""Bring the pipeline up to date, some stages at a time; what `make repro` runs."""

import argparse
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path

from dvc.cli import main as dvc
from dvc.exceptions import DvcException

from cachezoo.errors import CachezooError, ConfigError, interrupts_as_such
from cachezoo.private import closed_folder
from cachezoo.repro.lockfile import LockWriter, drop_params, recover
from cachezoo.repro.plan import Plan, make_plan
from cachezoo.repro.progress import Seconds, remaining, spoken
from cachezoo.repro.worker import FAILED, INTERRUPTED, Worker

CACHE = Path(".cache")
JOBS = 2
SAID = "repro: interrupted; run the same again to go on\n"


@dataclass
class Run:
    """One run through a plan.

    Attributes:
        plan: what there is to do.
        lock: dvc.lock, which gets an entry when a stage has ended.
        jobs: how many stages run at once.
        force: run stages that are up to date too.
        times: a file that gets a line of JSON for each stage that has ended, see `_record`.
        verbose: say of each stage too that it begins, with which command, or that it was up to date.
    """

    plan: Plan
    lock: LockWriter
    jobs: int
    force: bool
    times: Path | None
    verbose: bool = False
    seconds: Seconds = field(default_factory=Seconds)
    left: dict[str, frozenset[str]] = field(default_factory=dict)
    ran: set[str] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)
    running: dict[str, Worker] = field(default_factory=dict)
    status: int = 0
    interrupts: int = 0

    def go(self) -> int:
        """Run every stage; after a failure or Ctrl-C none is begun, and those that run come to their end.

        Returns:
            0, or the status of the first stage that failed.
        """
        self.left = left = dict(self.plan.waits)
        self._progress()
        before = signal.signal(signal.SIGINT, self._interrupt)
        try:
            while self.running or (left and not self.status):
                ready = [name for name, waits in left.items() if waits <= self.ended]
                for name in ready[: self.jobs - len(self.running)] if not self.status else ():
                    del left[name]
                    stage = self.plan.stages[name]
                    self.running[name] = Worker(stage, self.force, sys.stdout.buffer, sys.stderr.buffer, self.verbose)
                wait([source for worker in self.running.values() for source in worker.sources])
                self._look()
        finally:
            signal.signal(signal.SIGINT, before)
            for worker in self.running.values():
                worker.kill()
        return self.status

    def _look(self) -> None:
        for name, worker in list(self.running.items()):
            status = worker.look()
            if status is None:
                continue
            del self.running[name]
            self._record(worker, status)
            if status == 0:
                self.ended.add(name)
                if worker.entry is not None:
                    self.lock.add(name, worker.entry)
                if worker.ran:
                    self.ran.add(name)
                    self.seconds.add(name, time.time() - worker.start)
                    self.seconds.save()
                    self._progress(name)
            elif not self.status:
                self.status = status
                self._say(f"{name} failed (status {status})")

    def _progress(self, ended: str = "") -> None:
        """One line: how many stages are up to date, and about how long those take that have to run."""
        done = self.plan.wanted - len(self.plan.stages) + len(self.ended)
        if self.status or done == self.plan.wanted:
            return
        begun = {name for name, worker in self.running.items() if worker.ran}
        # A stage that has a process but no command yet may turn out to be up to date.
        looked_at = {name: self.plan.waits[name] for name in self.running if name not in begun}
        waits = self.plan.to_run({**looked_at, **self.left}, self.ran | begun)
        now = time.time()
        spent = {name: now - self.running[name].start for name in self.running if name in begun | waits.keys()}
        waits = {name: before for name, before in waits.items() if name not in spent}
        to_go = spoken(remaining(waits, spent, self.seconds, self.jobs))
        if ended:
            said = f"{ended} ended; {done} of {self.plan.wanted} stages are up to date, {to_go} to go"
        else:  # what depends on a change may turn out to be up to date after all, and the rest to have to run
            said = (
                f"checking {len(self.plan.stages)} of {self.plan.wanted} stages; as far as is known yet, {to_go} to go"
            )
        sys.stdout.write(f"repro: {said}\n")
        sys.stdout.flush()

    def _interrupt(self, *_: object) -> None:
        """Ctrl-C reaches the stages too and ends them; a second one ends what does not heed the first."""
        if not self.interrupts:
            os.write(sys.stderr.fileno(), SAID.encode())
        self.interrupts += 1
        self.status = INTERRUPTED
        for worker in self.running.values():
            if self.interrupts > 1:
                worker.kill()
            else:
                worker.hush()

    def _say(self, what: str) -> None:
        others = f"; waiting for {', '.join(self.running)} to end" if self.running else ""
        sys.stderr.write(f"repro: {what}{others}\n")
        sys.stderr.flush()

    def _record(self, worker: Worker, status: int) -> None:
        if self.times is not None:
            times = {"start": worker.start, "end": time.time()}
            with self.times.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"stage": worker.name, "ran": worker.ran, "status": status, **times}) + "\n")


def _jobs(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        message = f"{text}: is no number of stages; give 1 or more"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def _options(arguments: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        prog="scripts/repro.py",
        description=__doc__,
        epilog="Stages may be named as targets. Every other option is that of `dvc repro`, one stage at a time.",
        allow_abbrev=False,
    )
    parser.add_argument("--jobs", type=_jobs, default=JOBS, metavar="N", help="stages at a time (default %(default)s)")
    parser.add_argument("--times", type=Path, metavar="FILE", help="append a line of JSON when a stage has ended")
    parser.add_argument("-v", "--verbose", action="store_true", help="a line for each stage, those up to date too")
    parser.add_argument("-f", "--force", action="store_true", help="run stages that are up to date too")
    return parser.parse_known_args(arguments)


def _plan(targets: Sequence[str], force: bool) -> Plan:
    """The plan; where DVC cannot read its files, a second try after those that are damaged are put aside."""
    try:
        return make_plan(targets, force)
    except DvcException:
        if not _put_aside():
            raise
        return make_plan(targets, force)


def _put_aside() -> bool:
    """Put aside what is damaged and can be made again; whether there was something."""
    return any([recover(), drop_params()])


def main(arguments: Sequence[str]) -> int:
    """Do what `dvc repro` does with these arguments, some stages at a time; exit status.

    Options that this does not know go to `dvc repro` itself, one stage after the other.
    """
    options, targets = _options(arguments)
    try:
        closed_folder(CACHE)
    except CachezooError as error:
        sys.stderr.write(f"repro: {error}\n")
        return 1
    plain = ["repro", *(["--force"] if options.force else []), *targets]
    if any(target.startswith("-") for target in targets):
        _put_aside()
        return int(dvc(plain))
    try:
        with interrupts_as_such():
            plan = _plan(targets, options.force)
            run = Run(plan, LockWriter(plan.order), options.jobs, options.force, options.times, options.verbose)
            status = run.go()
        if status == 0:
            run.lock.finish()
            how = f"; {len(run.ran)} of them ran" if run.ran else ""
            sys.stdout.write(f"{plan.wanted} of {plan.wanted} stages are up to date{how}\n")
        return status
    except ConfigError:
        return int(dvc(plain))
    except DvcException:
        logging.getLogger("dvc").exception("")  # in one line, as DVC says it
        return FAILED
    except CachezooError as error:
        sys.stderr.write(f"repro: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write(SAID)
        return INTERRUPTED
