"""A client whose operations are scripts of a recipe; clients of programs that need more are made from it."""

import subprocess
from pathlib import Path
from typing import Any

from tools.capture.clients.common import Client, main

OF_A_PHASE, OF_A_CLIENT = 10**9, 10**6


class Commands(Client):
    """Does an operation by its script, or by the method of its name where it has none.

    Attributes:
        root: the folder on the traced filesystem.
        port: of the recipe's server.
        values: the recipe's own.
    """

    def __init__(self, plan: dict[str, Any]) -> None:
        super().__init__(plan)
        self.root = Path(plan["environment"]["root"])
        self.port = int(plan["environment"]["port"])
        self.values: dict[str, Any] = plan["values"]
        self._done = 0

    def set(self) -> list[int]:
        """Items of one operation, by their popularity."""
        return [self.item(self.plan["items"]) for _ in range(self.plan["batch"])]

    @property
    def number(self) -> int:
        """Which no other operation of the recipe has."""
        before: int = (self.plan["phase"] + 1) * OF_A_PHASE + self.plan["client"] * OF_A_CLIENT
        return before + self._done

    def do(self, name: str) -> None:
        """Do an operation.

        Raises:
            CalledProcessError: its script fails.
        """
        self._done += 1
        script = self.plan["operations"][name]
        if script is None:
            super().do(name)
            return
        drawn = {
            "item": self.item(self.plan["items"]),
            "set": " ".join(map(str, self.set())),
            "draw": self.random.randrange(2**31),
            "number": self.number,
            "client": self.plan["client"],
        }
        environment = {**self.plan["environment"], **{key: str(value) for key, value in drawn.items()}}
        command = ["/bin/sh", "-euc", script]
        subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    main(Commands)
