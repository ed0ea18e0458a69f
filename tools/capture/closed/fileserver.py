"""File servers and developers' machines in a closed loop: dbench, git, rsync with tar, and builds of C projects."""

import os
import random
import shlex
import signal
from pathlib import Path
from typing import Any, ClassVar

from cachezoo.errors import CaptureError
from cachezoo.seeds import derive_seed
from tools.capture.closed.base import STOPPED_S, ClosedWorkload, Player
from tools.capture.closed.clients import build, git
from tools.capture.closed.loads import BuildLoad, DbenchLoad, GitLoad, RsyncLoad, TreeLoad
from tools.capture.closed.recipe import ClosedRecipe, Phase
from tools.capture.closed.trees import backup_command
from tools.capture.loads import FileserverLoad
from tools.capture.programs import program, version_line
from tools.capture.sandbox import Sandbox
from tools.capture.workloads.fileserver import PLAY, TROUBLE
from tools.capture.workloads.office import ACTIONS, Office, lognormal_sizes

KIB = 1024
VISITS = 30_000
ENDLESS_S = 3600
FILES_PER_FOLDER = 40
OFFICE_FIELDS = ("clients", "files", "shared", "shared_visits", "median_kib", "sigma", "max_kib", "user_sigma")
# What a paced recipe says of visits and jobs; a closed-loop one says it of each phase.
PACED = {"theta": 0, "drift_files": 0, **dict.fromkeys(ACTIONS, 1), "project_files": 1}
PACED |= {"backup_mib_s": 1, "backup_share": 1, "scan_mib_s": 1, "scan_share": 1}


class DbenchWorkload(ClosedWorkload):
    """Dbench as the users of an office, a dbench each."""

    program = "dbench"
    title = "dbench: office users on home and shared folders"
    packages: ClassVar[dict[str, str]] = {"dbench": "dbench", "unshare": "util-linux", "tar": "tar"}
    operations = ACTIONS
    jobs = ("backup",)

    def __init__(self, recipe: ClosedRecipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        assert isinstance(recipe.load, DbenchLoad)
        self.load = recipe.load
        self.share = box.mount / "share"
        values = {name: getattr(self.load, name) for name in OFFICE_FIELDS}
        self.office = Office(FileserverLoad.model_validate({**PACED, **values}), recipe.seed)

    def prepare(self) -> None:
        """Write the documents."""
        block = os.urandom(self.load.max_kib * KIB)
        for folder in self.office.folders():
            (self.share / folder[1:]).mkdir(parents=True)
        for document in range(self.office.documents):
            path = self.share / self.office.path(document)[1:]
            path.write_bytes(block[: int(self.office.sizes[document])])

    def play(self, phase: Phase, number: int) -> list[Player]:
        """Write the users' load files and start a dbench for each, and a backup where the phase has one."""
        texts = self.office.closed(self.seed(number), phase.mix, phase.theta, phase.move, VISITS)
        loads = [self.box.work / f"load-{number}-{user}.txt" for user in range(self.load.clients)]
        for path, text in zip(loads, texts, strict=True):
            path.write_text(text)
        values = {"DBENCH": program("dbench"), "SHARE": self.share, "SECONDS_": ENDLESS_S}
        variables = [f"{name}={value}" for name, value in values.items()]
        command = [program("unshare"), "--ipc", "env", *variables, "/bin/sh", "-c", PLAY, "sh", *map(str, loads)]
        players = [self.player(f"dbench-{number}", command)]
        if "backup" in phase.beside:
            names = [name[1:] for name in self.office.folders()]
            chosen = names[: max(1, round(len(names) * self.load.backup_share))]
            players.append(self.player(f"tar-{number}", backup_command(self.share, chosen)))
        return players

    def check(self, player: Player) -> None:
        """See that no user's dbench stopped at an error."""
        if not player.name.startswith("dbench"):
            super().check(player)
            return
        accepted = (0, -signal.SIGTERM, -signal.SIGKILL)
        self.box.finish(player.process, player.name, player.log, STOPPED_S, accepted)
        for log in sorted(self.box.work.glob(f"load-{player.name.removeprefix('dbench-')}-*.txt.log")):
            trouble = TROUBLE.search(log.read_text(errors="replace"))
            if trouble:
                message = f"dbench: {trouble.string[trouble.start() :].splitlines()[0].strip()}"
                raise CaptureError(message)

    @staticmethod
    def versions() -> dict[str, str]:
        """Dbench."""
        return {"dbench": version_line("dbench", "--version")}


class TreeWorkload(ClosedWorkload):
    """What programs share that work on trees of files.

    Attributes:
        module: their client, of `tools.capture.closed.clients`.
    """

    module: ClassVar[str]
    load: TreeLoad

    def __init__(self, recipe: ClosedRecipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        assert isinstance(recipe.load, TreeLoad)
        self.load = recipe.load
        self.root = box.mount / "trees"

    def tree(self, number: int) -> Path:
        """The folder of a tree."""
        return self.root / f"t{number:03d}"

    def sizes(self, tree: int) -> list[int]:
        """Bytes of a tree's files."""
        load, seed = self.load, derive_seed(self.recipe.seed, "capture_sizes", tree)
        return lognormal_sizes(load.median_kib, load.sigma, load.max_kib, load.files // load.trees, seed).tolist()

    def values(self) -> dict[str, Any]:
        """What the clients' plans hold."""
        load = self.load
        return {
            "root": str(self.root),
            "scratch": str(self.box.mount / "scratch"),
            "locks": str(self.box.work),
            "trees": load.trees,
            "files": load.files // load.trees,
            "kib": load.median_kib,
            "sigma": load.sigma,
            "max_kib": load.max_kib,
            "batch": load.batch,
        }

    def play(self, phase: Phase, number: int) -> list[Player]:
        """Start the clients."""
        return self.clients(self.module, phase, number, self.values())


class GitWorkload(TreeWorkload):
    """Repositories under git."""

    program = "git"
    title = "git: commits, checkouts, logs, searches, clones and repacking of repositories"
    packages: ClassVar[dict[str, str]] = {"git": "git"}
    operations = ("commits", "checkouts", "logs", "blames", "greps", "clones", "repacks")
    module = "git"

    def prepare(self) -> None:
        """Make the repositories with their histories, packed."""
        assert isinstance(self.load, GitLoad)
        for tree in range(self.load.trees):
            draw = random.Random(derive_seed(self.recipe.seed, "capture_tree", tree))
            git.make(self.tree(tree), draw, self.sizes(tree), self.load.commits, self.load.batch)
        (self.box.mount / "scratch").mkdir()

    def values(self) -> dict[str, Any]:
        """With how many commits each repository has at least."""
        assert isinstance(self.load, GitLoad)
        return {**super().values(), "commits": self.load.commits}

    @staticmethod
    def versions() -> dict[str, str]:
        """Git."""
        return {"git": version_line("git", "--version")}


class RsyncWorkload(TreeWorkload):
    """Snapshots and archives of trees that change."""

    program = "rsync"
    title = "rsync and tar: snapshots, archives, restores and comparisons of trees that change"
    packages: ClassVar[dict[str, str]] = {"rsync": "rsync", "tar": "tar"}
    operations = ("changes", "reads", "snapshots", "archives", "restores", "compares")
    module = "backups"

    def prepare(self) -> None:
        """Write the trees."""
        block = os.urandom(self.load.max_kib * KIB)
        for tree in range(self.load.trees):
            for number, size in enumerate(self.sizes(tree)):
                path = self.tree(tree) / f"d{number // FILES_PER_FOLDER:03d}" / f"f{number:05d}"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(block[:size])
        (self.box.mount / "scratch").mkdir()

    def values(self) -> dict[str, Any]:
        """With how many copies are kept, and where the programs are."""
        assert isinstance(self.load, RsyncLoad)
        return {**super().values(), "keep": self.load.keep, "per_folder": FILES_PER_FOLDER}

    @staticmethod
    def versions() -> dict[str, str]:
        """Rsync and tar."""
        return {"rsync": version_line("rsync", "--version"), "tar": version_line("tar", "--version")}


class BuildWorkload(TreeWorkload):
    """C projects that are edited and built."""

    program = "build"
    title = "make, gcc, ar and ld: edits and builds of C projects with embedded resources"
    packages: ClassVar[dict[str, str]] = {"make": "make", "gcc": "gcc", "ar": "gcc", "ld": "gcc"}
    operations = ("edits", "rebuilds", "searches", "installs")
    module = "build"

    def prepare(self) -> None:
        """Write the projects and build them once."""
        assert isinstance(self.load, BuildLoad)
        for tree in range(self.load.trees):
            draw = random.Random(derive_seed(self.recipe.seed, "capture_tree", tree))
            build.make(self.tree(tree), draw, self.sizes(tree))
        (self.box.mount / "scratch").mkdir()
        folders = " ".join(shlex.quote(str(self.tree(tree))) for tree in range(self.load.trees))
        script = f'for folder in {folders}; do "$0" -s -j 2 -C "$folder" || exit 1; done'
        self.box.run(["/bin/sh", "-c", script, program("make")], self.log("make"), limited=False)

    @staticmethod
    def versions() -> dict[str, str]:
        """Make, gcc and binutils."""
        return {name: version_line(name, "--version") for name in ("make", "gcc", "ar")}
