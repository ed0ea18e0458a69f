"""What a program of a closed-loop capture has to be able to do."""

import json
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import cachezoo
from cachezoo.seeds import derive_seed
from tools.capture.closed.recipe import ClosedRecipe, Phase
from tools.capture.sandbox import Sandbox

SOURCES = f"{Path(__file__).parents[3]}:{Path(cachezoo.__file__).parents[1]}"
# An operation that is under way is done first; one of a mail index may take a while in little memory.
STOPPED_S = 90.0


@dataclass(frozen=True)
class Player:
    """A program that plays a phase without end; that it ends before it is stopped is an error.

    Attributes:
        name: to call it in an error.
        process: it.
        log: where its output goes.
        stop_signal: what it ends at in order.
    """

    name: str
    process: "subprocess.Popen[bytes]"
    log: Path
    stop_signal: int = signal.SIGTERM


class ClosedWorkload(ABC):
    """Real programs on a sandbox's filesystem, driven phase by phase as fast as they go.

    Attributes:
        program: its id, as recipes name it.
        title: one line for people.
        packages: program to the Debian package that has it.
        operations: what a phase's mix may name.
        jobs: what a phase's `beside` may name.
    """

    program: ClassVar[str]
    title: ClassVar[str]
    packages: ClassVar[dict[str, str]]
    operations: ClassVar[tuple[str, ...]]
    jobs: ClassVar[tuple[str, ...]] = ()

    def __init__(self, recipe: ClosedRecipe, box: Sandbox) -> None:
        """Keep the recipe and the sandbox."""
        self.recipe = recipe
        self.box = box

    @abstractmethod
    def prepare(self) -> None:
        """Fill the filesystem; neither limited nor traced."""

    def start(self) -> None:  # noqa: B027 - many programs have no server
        """Start the servers, in the memory group; nothing where there are none."""

    @abstractmethod
    def play(self, phase: Phase, number: int) -> list[Player]:
        """Start what plays a phase.

        Args:
            phase: its mix.
            number: its place; -1 is the warm-up.
        """

    def stop(self) -> None:  # noqa: B027 - many programs have no server
        """Stop the servers in order; nothing where there are none."""

    @staticmethod
    @abstractmethod
    def versions() -> dict[str, str]:
        """Program to the version it states."""

    def check(self, player: Player) -> None:
        """Wait for a program that was told to end, and look at what it left.

        Raises:
            CaptureError: it did not do its work.
        """
        self.box.finish(player.process, player.name, player.log, STOPPED_S, accepted=(0, -player.stop_signal))

    def end(self, players: list[Player]) -> None:
        """Let the programs of a phase end, and look at each.

        Raises:
            CaptureError: as `check` says.
        """
        for player in players:
            if player.process.poll() is None:
                player.process.send_signal(player.stop_signal)
        for player in players:
            self.check(player)

    def seed(self, number: int, client: int = 0) -> int:
        """The seed of a phase's draws, of one client."""
        return derive_seed(self.recipe.seed, "capture_phase", number + 1, client) % (2**31 - 2)

    def log(self, name: str) -> Path:
        """The file for a program's output."""
        return self.box.work / f"{name}.log"

    def player(self, name: str, command: list[str], limited: bool = True, stop_signal: int = signal.SIGTERM) -> Player:
        """Start a program that plays a phase; its log is called as it."""
        return Player(name, self.box.spawn(command, self.log(name), limited), self.log(name), stop_signal)

    def client(self, module: str, name: str, plan: dict[str, Any]) -> list[str]:
        """The command line of a client of ours.

        Args:
            module: of `tools.capture.closed.clients`.
            name: of the plan's file.
            plan: what the client reads.
        """
        path = self.box.work / f"{name}.json"
        path.write_text(json.dumps(plan))
        command = ["env", f"PYTHONPATH={SOURCES}", sys.executable, "-m", f"tools.capture.closed.clients.{module}"]
        return [*command, str(path)]

    def clients(self, module: str, phase: Phase, number: int, values: dict[str, Any]) -> list[Player]:
        """Start the recipe's clients of ours with a phase's mix.

        Args:
            module: of `tools.capture.closed.clients`.
            phase: its mix.
            number: its place.
            values: what else the plan holds.
        """
        players = []
        for client in range(self.recipe.load.clients):
            drawn = {"mix": phase.mix, "theta": phase.theta, "move": phase.move, "layout": self.recipe.seed}
            plan = {**values, **drawn, "seed": self.seed(number, client), "client": client, "phase": number}
            name = f"{module}-{number}-{client}"
            players.append(self.player(name, self.client(module, name, plan)))
        return players
