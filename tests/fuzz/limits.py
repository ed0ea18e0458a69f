"""Bounds on what one input may cost."""

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

SECONDS = 10.0
WAITED = 6  # times so many seconds of wall time, for what waits and does not compute
MORE_BYTES = 1 << 30


class Hang(BaseException):
    """An input took longer than it may; no `except Exception` of a reader can hide it."""


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


@contextmanager
def limited(seconds: float = SECONDS, more_bytes: int = MORE_BYTES) -> Iterator[None]:
    """Bound the time and the memory that a block takes.

    Args:
        seconds: of processor time, as other work beside it makes no reader hang; beyond them `Hang` is raised, as soon
            as Python runs: native code is not interrupted.
        more_bytes: by which the process's address space may grow; beyond it allocations fail.

    Raises:
        Hang: the block took longer.
    """
    timers = ((signal.SIGPROF, signal.ITIMER_PROF, seconds), (signal.SIGALRM, signal.ITIMER_REAL, WAITED * seconds))

    def disarm() -> None:
        for _, timer, _ in timers:
            signal.setitimer(timer, 0)

    def expired(number: int, frame: FrameType | None) -> None:
        disarm()
        message = f"took longer than {seconds:g} s"
        raise Hang(message)

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = [signal.signal(number, expired) for number, _, _ in timers]
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + more_bytes, hard))
    for _, timer, most in timers:
        signal.setitimer(timer, most)
    try:
        yield
    finally:
        disarm()
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        for (number, _, _), handler in zip(timers, before, strict=True):
            signal.signal(number, handler)
