"""Lets a few stopped programs run at once, each for a visit of so many read and write calls, then others."""

import os
import signal
import time
from typing import Any

from tools.capture.clients.common import Client, main
from tools.capture.clients.pacer import calls_made

POLL_S = 0.0005
TRIES = 20


class Visits(Client):
    """The visits; programs are drawn by their popularity."""

    def __init__(self, plan: dict[str, Any]) -> None:
        super().__init__(plan)
        self._pids: list[int] = plan["pids"]
        self._until: dict[int, int] = {}

    def visits(self) -> None:
        """Stop the programs whose visits are over and let others begin theirs."""
        for pid in tuple(self._until):
            if calls_made(pid) >= self._until[pid]:
                os.kill(pid, signal.SIGSTOP)
                del self._until[pid]
        for _ in range(TRIES):
            if len(self._until) >= self.plan["at_once"]:
                break
            pid = self._pids[self.item(len(self._pids))]
            if pid not in self._until:
                self._until[pid] = calls_made(pid) + 1 + int(self.random.expovariate(1 / self.plan["calls"]))
                os.kill(pid, signal.SIGCONT)
        time.sleep(POLL_S)

    def close(self) -> None:
        """Stop every program."""
        for pid in self._until:
            os.kill(pid, signal.SIGSTOP)


if __name__ == "__main__":
    main(Visits)
