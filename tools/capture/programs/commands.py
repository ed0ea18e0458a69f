"""Any program of Debian's in a closed loop, driven by a recipe's scripts and, where those would not do, a client."""

import signal
import subprocess
from pathlib import Path
from typing import ClassVar

from tools.capture.installed import package_version
from tools.capture.loads import CommandServer, CommandsLoad
from tools.capture.programs.base import ROOT, Closed, Player
from tools.capture.programs.servers import Server, connects, free_port
from tools.capture.recipe import Phase, Recipe
from tools.capture.sandbox import Sandbox

FOLDERS = "/usr/sbin:/usr/bin:/sbin:/bin"
SHELL = ("/bin/sh", "-euc")
# Runs a script over and over until SIGTERM, which ends what the script is at; a script that fails ends it.
ENDLESS = """trap 'trap - TERM; kill 0' TERM
while :; do /bin/sh -euc "$0" & wait $!; done"""


class ScriptServer(Server):
    """The server of a recipe's scripts."""

    def __init__(self, box: Sandbox, plan: CommandServer, environment: dict[str, str]) -> None:
        """Keep the plan and the scripts' variables; nothing happens yet."""
        super().__init__(box, "server", signal.Signals[f"SIG{plan.stop}"])
        self._plan = plan
        self._environment = environment

    def _answers(self) -> bool:
        if self._plan.ready is None:
            return connects(int(self._environment["port"]))
        done = subprocess.run(
            [*SHELL, self._plan.ready], env=self._environment, cwd=self.box.work, capture_output=True, check=False
        )
        return done.returncode == 0

    def start(self, limited: bool) -> None:
        """Start it and wait until it answers.

        Raises:
            CaptureError: it ends or does not answer.
        """
        self.serve([*with_variables(self._environment), *SHELL, self._plan.command], self._answers, limited)


def with_variables(environment: dict[str, str]) -> list[str]:
    """The beginning of a command line that has these variables and no others."""
    return ["env", "-i", *(f"{name}={value}" for name, value in environment.items())]


class Commands(Closed[CommandsLoad]):
    """A program that scripts drive.

    Attributes:
        required: Debian packages.
    """

    program = "commands"
    operations = ()
    required: ClassVar[tuple[str, ...]] = ()
    server: ScriptServer | None

    def __init__(self, recipe: Recipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        load = self.load
        self.root = box.mount / load.name
        own = {"seed": recipe.seed, "items": load.items, "batch": load.batch}
        places = {"root": self.root, "work": box.work, "port": free_port(), "other": free_port()}
        system = {"PATH": FOLDERS, "HOME": box.work, "LC_ALL": "C.UTF-8", "PYTHONPATH": ROOT}
        self.environment = {name: str(value) for name, value in {**system, **places, **own, **load.values}.items()}
        self.server = ScriptServer(box, load.server, self.environment) if load.server is not None else None

    @classmethod
    def of(cls, recipe: Recipe) -> "type[Commands]":
        """The class with what the recipe has."""
        load = recipe.load
        assert isinstance(load, CommandsLoad)

        own = {"program": load.name, "operations": tuple(load.operations), "beside": tuple(load.jobs)}
        return type(load.name, (cls,), {**own, "required": load.packages})

    @classmethod
    def missing(cls) -> set[str]:
        """By Debian's own list."""
        return {package for package in cls.required if package_version(package) is None}

    @classmethod
    def versions(cls) -> dict[str, str]:
        """Those of the packages."""
        return {package: package_version(package) or "none" for package in cls.required}

    def _script(self, name: str, script: str) -> None:
        self.box.run([*with_variables(self.environment), *SHELL, script], self.log(name), limited=False)

    def prepare(self) -> None:
        """Run the recipe's script, then fill the server."""
        # A server may give up root's rights and still has to reach its data.
        self.box.work.chmod(0o755)
        self.root.mkdir()
        self._script("prepare", self.load.prepare)
        plan = self.load.server
        if self.server is not None and plan is not None and plan.fill is not None:
            self.server.start(limited=False)
            self._script("fill", plan.fill)
            self.server.stop()

    def start(self) -> None:
        """Start the server in the memory group."""
        if self.server is not None:
            self.server.start(limited=True)

    def play(self, phase: Phase, number: int) -> list[Player]:
        """Start the clients, and what runs beside them."""
        values = {
            "environment": self.environment,
            "items": self.load.items,
            "batch": self.load.batch,
            "operations": self.load.operations,
            "values": self.load.values,
        }
        jobs = [
            self.player(
                f"{job}-{number}", [*with_variables(self.environment), "/bin/sh", "-ec", ENDLESS, self.load.jobs[job]]
            )
            for job in phase.beside
        ]
        return jobs + self.clients(self.load.client, phase, number, values)

    @staticmethod
    def client(module: str, *plans: Path) -> list[str]:
        """By Debian's Python, which has the modules of Debian's packages."""
        own = [f"PATH={FOLDERS}", f"PYTHONPATH={ROOT}"]
        return ["env", *own, "python3", "-m", f"tools.capture.clients.{module}", *map(str, plans)]
