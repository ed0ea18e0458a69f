"""Paces programs that have no rate of their own: lets each run while it may still read and write, stops it then.

Run as a program, `pacer.py PLAN`, by the workload that started the programs; it needs the standard library only. The
plan is a JSON object: `state`, a file with the calls that each program may have made since its start, which passes
from one pacer to the next and which only one holds at a time; `pids`; `seconds`; and `visits`, rows of when in
seconds, which program, and how many more calls it may make.
"""

import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

POLL_S = 0.0003
IDLE_S = 0.005


def calls_made(pid: int) -> int:
    """Read and write calls of a program since it started.

    Raises:
        OSError: it has ended.
    """
    fields = dict(line.split(": ") for line in Path("/proc", str(pid), "io").read_text().splitlines())
    return int(fields["syscr"]) + int(fields["syscw"])


class Pacer:
    """Programs, how many calls each has made and may have made, and which of them run.

    A program may make some calls more than it was allowed before it is seen to; they count against its next visit.
    """

    def __init__(self, pids: list[int], allowed: list[int]) -> None:
        """Take over stopped programs.

        Args:
            pids: the programs.
            allowed: calls that each may have made since its start; none given, what it has made.
        """
        self._pids = pids
        self.made = [calls_made(pid) for pid in pids]
        self.allowed = allowed or list(self.made)
        self._running: set[int] = set()

    def visit(self, program: int, calls: int) -> None:
        """Allow a program more calls."""
        self.allowed[program] += calls

    def poll(self) -> bool:
        """Stop the programs that have made their calls and continue those that may make more; does one run?"""
        for program in tuple(self._running):
            self.made[program] = calls_made(self._pids[program])
            if self.made[program] >= self.allowed[program]:
                os.kill(self._pids[program], signal.SIGSTOP)
                self._running.discard(program)
        for program, made in enumerate(self.made):
            if made < self.allowed[program] and program not in self._running:
                os.kill(self._pids[program], signal.SIGCONT)
                self._running.add(program)
        return bool(self._running)

    def stop(self) -> None:
        """Stop every program and look a last time at what it has made."""
        for program in self._running:
            os.kill(self._pids[program], signal.SIGSTOP)
        self.made = [calls_made(pid) for pid in self._pids]
        self._running.clear()


def pace(
    plan: dict[str, Any],
    allowed: list[int],
    end: float,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[Pacer, dict[str, int]]:
    """Play a plan's visits until a clock says `end`; the pacer, and calls due, made and owed.

    Args:
        plan: as above.
        allowed: calls that each program may have made since its start.
        end: of the clock.
        now: the clock.
        sleep: what lets so many of its seconds pass.
    """
    pacer = Pacer(plan["pids"], allowed)
    before, due = sum(pacer.made), 0
    visits, start = plan["visits"][::-1], end - plan["seconds"]
    try:
        while (moment := now()) < end:
            while visits and visits[-1][0] <= moment - start:
                _, program, calls = visits.pop()
                pacer.visit(program, calls)
                due += calls
            sleep(POLL_S if pacer.poll() else IDLE_S)
    finally:
        pacer.stop()
    owed = sum(max(0, may - made) for may, made in zip(pacer.allowed, pacer.made, strict=True))
    return pacer, {"due": due, "made": sum(pacer.made) - before, "owed": owed}


def main(path: Path) -> None:
    """Play a plan from now, as soon as the pacer before it is done, and write what came of it."""
    plan = json.loads(path.read_text())
    end = time.monotonic() + plan["seconds"]
    with Path(plan["state"]).open("r+") as state:
        fcntl.flock(state, fcntl.LOCK_EX)
        pacer, report = pace(plan, json.load(state), end)
        state.seek(0)
        state.truncate()
        json.dump(pacer.allowed, state)
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
