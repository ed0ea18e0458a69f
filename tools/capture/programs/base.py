"""What a program of a capture has to be able to do, paced by a schedule or in a closed loop."""

import json
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

from cachezoo.seeds import derive_seed
from tools.capture.installed import missing_packages, version_line
from tools.capture.loads import Clients, Strict
from tools.capture.programs.servers import Server
from tools.capture.recipe import Phase, Recipe, SchedulePlan, given
from tools.capture.sandbox import ONE_DISK, Sandbox
from tools.capture.schedule import Job, Segment

ROOT = Path(__file__).parents[3]
END_S = 60.0
# An operation that is under way is done first; one of a mail index may take a while in little memory.
STOPPED_S = 90.0
L = TypeVar("L", bound=Strict)


@dataclass(frozen=True)
class Player:
    """A process that plays a segment or a phase.

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


class Program(ABC, Generic[L]):
    """A real program on a sandbox's filesystem.

    Attributes:
        program: its id, as recipes name it.
        packages: program to the Debian package that has it.
        asks: program to the words that make it state its version.
        server: where the program has one.
    """

    program: ClassVar[str]
    packages: ClassVar[dict[str, str]] = {}
    asks: ClassVar[dict[str, tuple[str, ...]]] = {}
    server: Server | None = None

    def __init__(self, recipe: Recipe, box: Sandbox) -> None:
        """Keep the recipe and the sandbox."""
        self.recipe = recipe
        self.box = box
        self.load = cast("L", recipe.load)

    @classmethod
    def of(cls, recipe: Recipe) -> "type[Self]":
        """The class for a recipe."""
        return cls

    @classmethod
    def missing(cls) -> set[str]:
        """Debian packages that it needs and that are not installed."""
        return missing_packages(cls.packages)

    @classmethod
    def volumes(cls, recipe: Recipe) -> tuple[str, ...]:
        """Names of the disks that the program needs."""
        return ONE_DISK

    @abstractmethod
    def prepare(self) -> None:
        """Fill the filesystem; neither limited nor traced."""

    def start(self) -> None:
        """Start the server, in the memory group."""

    def stop(self) -> None:
        """Stop the server in order, with what it still writes; harmless when it does not run."""
        if self.server is not None:
            self.server.stop()

    @classmethod
    def versions(cls) -> dict[str, str]:
        """Program to the version it states."""
        return {name: version_line(name, *words) for name, words in cls.asks.items()}

    def log(self, name: str) -> Path:
        """The file for a process's output."""
        return self.box.work / f"{name}.log"

    def player(self, name: str, command: list[str], limited: bool = True, stop_signal: int = signal.SIGTERM) -> Player:
        """Start a process; its log is called as it."""
        return Player(name, self.box.spawn(command, self.log(name), limited), self.log(name), stop_signal)

    def finish(self, player: Player, timeout_s: float = END_S) -> None:
        """Wait for a process that ends by itself.

        Raises:
            CaptureError: it fails, or does not end.
        """
        self.box.finish(player.process, player.name, player.log, timeout_s)

    @staticmethod
    def client(module: str, *plans: Path) -> list[str]:
        """The command line of a client of ours, a module of `tools.capture.clients`."""
        return ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", f"tools.capture.clients.{module}", *map(str, plans)]

    def plan(self, name: str, values: dict[str, Any]) -> Path:
        """Write what a client reads."""
        path = self.box.work / f"{name}.json"
        path.write_text(json.dumps(values))
        return path


class Paced(Program[L]):
    """A program that a schedule drives, segment by segment.

    Attributes:
        transactions: what the recipe's mix may name, where it has one.
        jobs: the kinds of jobs that a schedule may name.
    """

    transactions: ClassVar[tuple[str, ...]] = ()
    jobs: ClassVar[tuple[str, ...]]

    @property
    def schedule(self) -> SchedulePlan:
        """The recipe's."""
        return given(self.recipe.schedule)

    @abstractmethod
    def segment(self, segment: Segment) -> Player:
        """Start a segment's load, which ends by itself after `segment.seconds`."""

    def check_segment(self, segment: Segment, player: Player) -> None:
        """Wait for a segment's process and look at what it left.

        Raises:
            CaptureError: it did not do its work.
        """
        self.finish(player)

    @abstractmethod
    def job(self, job: Job) -> None:
        """Do a job to its end, at its own pace."""


class Closed(Program[L]):
    """A program that is driven phase by phase, as fast as it goes.

    Attributes:
        operations: what a phase's mix may name.
        beside: what a phase's `beside` may name.
    """

    operations: ClassVar[tuple[str, ...]]
    beside: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def play(self, phase: Phase, number: int) -> list[Player]:
        """Start what plays a phase without end.

        Args:
            phase: its mix.
            number: its place; -1 is the warm-up.
        """

    def check(self, player: Player) -> None:
        """Wait for a process that was sent its signal, and look at what it left.

        Raises:
            CaptureError: it did not do its work.
        """
        self.box.finish(player.process, player.name, player.log, STOPPED_S, accepted=(0, -player.stop_signal))

    def end(self, players: list[Player]) -> None:
        """Let the processes of a phase end, and look at each.

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

    def drawn(self, phase: Phase) -> dict[str, Any]:
        """What a client's draws from a phase's mix go by."""
        return {"mix": phase.mix, "theta": phase.theta, "move": phase.move, "layout": self.recipe.seed}

    def clients(self, module: str, phase: Phase, number: int, values: dict[str, Any]) -> list[Player]:
        """Start the recipe's clients of ours with a phase's mix.

        Args:
            module: of `tools.capture.clients`.
            phase: its mix.
            number: its place.
            values: what else the plan holds.
        """
        players = []
        for client in range(cast("Clients", self.load).clients):
            own = {"seed": self.seed(number, client), "client": client, "phase": number}
            name = f"{module}-{number}-{client}"
            plan = self.plan(name, {**values, **self.drawn(phase), **own})
            players.append(self.player(name, self.client(module, plan)))
        return players
