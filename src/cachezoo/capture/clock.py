"""The clock that a capture goes by."""

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Clock:
    """The machine's own clock; or another, so that what is to come in an hour need not be waited for.

    Attributes:
        now: seconds, which only ever rise.
        sleep: lets so many of them pass.
    """

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def sleep_until(self, moment: float) -> None:
        """Wait for a moment; not at all where it has passed."""
        self.sleep(max(0.0, moment - self.now()))


MACHINE = Clock()
