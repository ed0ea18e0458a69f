"""Plays a schedule: each segment's load begins at its second, jobs at theirs."""

import json
import threading
from dataclasses import asdict
from typing import Any

from cachezoo.capture.live import Clock
from cachezoo.console import Advance
from cachezoo.traces.events import JoinedRequests
from tools.capture.programs.base import Paced, Player
from tools.capture.recipe import Recipe, given
from tools.capture.schedule import Job, Segment, build_schedule

SETTLE_S = 1.0


class Jobs:
    """Jobs in threads of their own; the first failure is kept for the main thread."""

    def __init__(self, program: Paced[Any]) -> None:
        self._program = program
        self._threads: list[threading.Thread] = []
        self._failure: BaseException | None = None

    def start(self, job: Job) -> None:
        """Begin a job."""
        thread = threading.Thread(target=self._run, args=(job,), name=f"capture-{job.kind}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _run(self, job: Job) -> None:
        try:
            self._program.job(job)
        except Exception as error:  # noqa: BLE001 - handed to the main thread by `check`
            self._failure = self._failure or error

    def check(self) -> None:
        """Raise the first failure."""
        if self._failure is not None:
            raise self._failure

    def join(self, timeout_s: float) -> None:
        """Wait for each, so long at most."""
        for thread in self._threads:
            thread.join(timeout_s)


class Schedule:
    """A recipe's schedule as what drives its program.

    Attributes:
        length: for the progress, in seconds.
    """

    def __init__(self, recipe: Recipe) -> None:
        """Write the schedule out.

        Raises:
            ConfigError: it is unusable.
        """
        self._recipe = recipe
        self._plan = given(recipe.schedule)
        self._schedule = build_schedule(self._plan, recipe.seed)
        self.length = self._schedule.seconds

    def warm_up(self, program: Paced[Any]) -> None:
        """Load at the mean rate."""
        seconds = self._recipe.warmup_s
        if seconds:
            segment = Segment(-1, 0, seconds, self._plan.rate, 0.0, self._schedule.segments[0].seed ^ 1)
            program.check_segment(segment, program.segment(segment))

    def play(self, program: Paced[Any], advance: Advance, clock: Clock) -> None:
        """Play it to its end."""
        jobs, waiting = Jobs(program), list(self._schedule.jobs)
        running: list[tuple[Segment, Player]] = []
        start = clock.now()
        for segment in self._schedule.segments:
            while waiting and waiting[0].start_s < segment.start_s:
                job = waiting.pop(0)
                clock.sleep_until(start + job.start_s)
                jobs.start(job)
            clock.sleep_until(start + segment.start_s)
            jobs.check()
            running.append((segment, program.segment(segment)))
            while len(running) > 2:
                program.check_segment(*running.pop(0))
            advance(segment.start_s, f"{segment.rate:.0f}/s")
        for job in waiting:
            clock.sleep_until(start + job.start_s)
            jobs.start(job)
        for entry in running:
            program.check_segment(*entry)
        clock.sleep_until(start + self.length)
        program.box.closing.set()
        jobs.check()
        advance(self.length)
        jobs.join(SETTLE_S)
        clock.sleep(SETTLE_S)

    def cut(self, requests: JoinedRequests) -> JoinedRequests:
        """All of the requests."""
        return requests

    def facts(self, _requests: JoinedRequests) -> dict[str, str]:
        """What the trace's metadata hold of the schedule."""
        scale = f"{self._schedule.time_scale:.6g}"
        facts = {
            "days": self._plan.days,
            "day_s": self._plan.day_s,
            "peak_to_mean": round(self._schedule.peak_to_mean, 3),
            "jobs": [asdict(job) for job in self._schedule.jobs],
            "time_scale": scale,
        }
        return {"schedule": json.dumps(facts, sort_keys=True), "time_scale": scale}
