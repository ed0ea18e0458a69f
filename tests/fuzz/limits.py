"""Bounds on what one input may cost."""

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

SECONDS = 10.0
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
        seconds: after which `Hang` is raised, as soon as Python runs; native code is not interrupted.
        more_bytes: by which the process's address space may grow; beyond it allocations fail.

    Raises:
        Hang: the block took longer.
    """

    def expired(number: int, frame: FrameType | None) -> None:
        message = f"took longer than {seconds:g} s"
        raise Hang(message)

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGALRM, expired)
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + more_bytes, hard))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGALRM, before)
