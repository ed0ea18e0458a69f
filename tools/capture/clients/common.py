"""What all clients share: a plan, draws from a Zipf distribution whose hot set moves, and a loop until SIGTERM.

Clients run in the memory group, so they need the standard library only.
"""

import json
import math
import random
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

LEAST_FROM_ONE = 1e-6


def zipf_rank(uniform: float, count: int, theta: float) -> int:
    """A rank from 0, by the continuous inverse of a Zipf distribution.

    Args:
        uniform: a draw from 0 to 1.
        count: ranks.
        theta: exponent; 0 is uniform.
    """
    if abs(theta - 1) < LEAST_FROM_ONE:
        value = math.exp(uniform * math.log(count + 1))
    else:
        value = (1 + ((count + 1) ** (1 - theta) - 1) * uniform) ** (1 / (1 - theta))
    return min(count - 1, max(0, int(value) - 1))


def stride(count: int, layout: int) -> int:
    """A factor that makes a permutation of `count` items, so that ranks lie all over them."""
    factor = max(1, int(count * 0.618) + layout % 1000)
    while math.gcd(factor, count) > 1:
        factor += 1
    return factor


class Client:
    """Does operations of a mix until it is told to end; an operation under way is done first.

    Attributes:
        plan: what the workload wrote: `mix`, `theta`, `move`, `layout`, `seed`, `client`, and the program's own values.
        random: the client's draws.
    """

    def __init__(self, plan: dict[str, Any]) -> None:
        """Take the plan over."""
        self.plan = plan
        self.random = random.Random(plan["seed"])
        self.ended = False

    def end(self, _number: int = 0, _frame: FrameType | None = None) -> None:
        """Let the operation under way be the last."""
        self.ended = True

    def item(self, count: int) -> int:
        """One of `count` items, by its popularity in this phase."""
        rank = zipf_rank(self.random.random(), count, self.plan["theta"])
        place = (rank + int(self.plan["move"] * count)) % count
        return place * stride(count, self.plan["layout"]) % count

    def open(self) -> None:
        """Before the first operation."""

    def close(self) -> None:
        """After the last operation."""

    def do(self, name: str) -> None:
        """Do an operation, by the method of its name."""
        getattr(self, name)()

    def run(self) -> None:
        """Do operations, each by its weight."""
        names, weights = list(self.plan["mix"]), list(self.plan["mix"].values())
        self.open()
        try:
            while not self.ended:
                self.do(self.random.choices(names, weights)[0])
        finally:
            self.close()


def main(kind: type[Client]) -> None:
    """Run a client as a program: its one argument is the plan's file."""
    client = kind(json.loads(Path(sys.argv[1]).read_text()))
    signal.signal(signal.SIGTERM, client.end)
    client.run()
