"""Plays phases in a closed loop: each lasts until the device has had so many requests or pages."""

import json
import time
from typing import Any

import numpy as np

from cachezoo.capture.live import Clock
from cachezoo.console import Advance
from cachezoo.errors import CaptureError
from cachezoo.traces.events import JoinedRequests
from tools.capture.programs.base import Closed, Player
from tools.capture.recipe import Phase, Recipe, given
from tools.capture.sandbox import Sandbox

POLL_S = 0.02
SECTORS_OF_A_PAGE = 8
QUIET_POLLS = 25
QUIET_S = 60.0


class Phases:
    """A recipe's phases as what drives its program.

    Attributes:
        length: for the progress, in phases.
    """

    def __init__(self, recipe: Recipe) -> None:
        """Take the phases."""
        self._warmup_pages = given(recipe.warmup_pages)
        self._phases = recipe.played
        self._marks: list[tuple[float, float]] = []
        self.length = len(self._phases)

    def warm_up(self, program: Closed[Any]) -> None:
        """Play the first phase's mix."""
        if self._warmup_pages:
            limits = {"pages": self._warmup_pages, "requests": self._warmup_pages}
            _play(program, self._phases[0].model_copy(update=limits), -1)

    def play(self, program: Closed[Any], advance: Advance, _clock: Clock) -> None:
        """Play them to their end."""
        for number, phase in enumerate(self._phases):
            advance(number, f"phase {number + 1} of {self.length}")
            self._marks.append(_play(program, phase, number))
        _await_quiet(program.box)
        advance(self.length)

    def cut(self, requests: JoinedRequests) -> JoinedRequests:
        """The requests up to the end of the last phase, and not more than the recipe wants."""
        ended = int(np.searchsorted(requests.time_us, self._marks[-1][1] * 1e6, side="right"))
        kept = np.arange(min(sum(phase.requests for phase in self._phases), ended))
        return JoinedRequests(
            time_us=requests.time_us[kept],
            op=requests.op[kept],
            offset=requests.offset[kept],
            size=requests.size[kept],
            latency_us=requests.latency_us[kept],
            device=requests.device[kept],
            flags=requests.flags.take(kept),
            comm=requests.comm.take(kept),
            discards=requests.discards,
            counts=requests.counts | {"after_the_last_phase": len(requests) - len(kept)},
        )

    def facts(self, requests: JoinedRequests) -> dict[str, str]:
        """What the trace's metadata hold of the phases: where each begins, and how long it took."""
        firsts = np.searchsorted(requests.time_us, [began * 1e6 for began, _ in self._marks])
        rows = [
            {"first_request": int(first), "seconds": round(reached - began, 1)}
            for first, (began, reached) in zip(firsts.tolist(), self._marks, strict=True)
        ]
        return {"phases": json.dumps(rows, sort_keys=True)}


def _play(program: Closed[Any], phase: Phase, number: int) -> tuple[float, float]:
    """Play a phase to its end; when it began and when it had reached its limit, by the monotonic clock."""
    began = time.monotonic()
    players = program.play(phase, number)
    _await_limits(program.box, players, phase)
    reached = time.monotonic()
    program.end(players)
    return began, reached


def _served(box: Sandbox) -> tuple[int, int]:
    """Requests and pages that the sandbox's disks have read and written since they were made."""
    requests = pages = 0
    for disk in box.disks.values():
        fields = [int(word) for word in (disk.sysfs / "stat").read_text().split()]
        requests += fields[0] + fields[4]
        pages += (fields[2] + fields[6]) // SECTORS_OF_A_PAGE
    return requests, pages


def _await_limits(box: Sandbox, players: list[Player], phase: Phase) -> None:
    first = _served(box)
    deadline = time.monotonic() + phase.seconds
    while time.monotonic() < deadline:
        requests, pages = (now - then for now, then in zip(_served(box), first, strict=True))
        if requests >= phase.requests or pages >= phase.pages:
            return
        for player in players:
            if player.process.poll() is not None:
                box.finish(player.process, player.name, player.log, 1)
                raise CaptureError(f"{player.name} ended before its phase did; see the recipe's limits")
        time.sleep(POLL_S)


def _await_quiet(box: Sandbox) -> None:
    """Wait until the disks have had nothing under way for a while.

    Raises:
        CaptureError: they always have.
    """
    quiet, deadline = 0, time.monotonic() + QUIET_S
    while quiet < QUIET_POLLS:
        if time.monotonic() > deadline:
            message = f"the disk was still busy {QUIET_S:.0f} s after the last phase; lower the recipe's memory_mib"
            raise CaptureError(message)
        time.sleep(POLL_S)
        flying = sum(int(word) for disk in box.disks.values() for word in (disk.sysfs / "inflight").read_text().split())
        quiet = 0 if flying else quiet + 1
