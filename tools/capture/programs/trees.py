"""Developers' machines and backups in a closed loop: git, rsync with tar, and builds of C projects."""

import os
import random
import shlex
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from cachezoo.seeds import derive_seed
from tools.capture.clients import build, git
from tools.capture.installed import program
from tools.capture.loads import BuildLoad, GitLoad, RsyncLoad, TreeLoad
from tools.capture.programs.base import Closed, Player
from tools.capture.programs.draws import lognormal_sizes, sizes_plan
from tools.capture.recipe import Phase, Recipe
from tools.capture.sandbox import Sandbox

FILES_PER_FOLDER = 40
T = TypeVar("T", bound=TreeLoad)


class Trees(Closed[T]):
    """What programs share that work on trees of files.

    Attributes:
        module: their client, of `tools.capture.clients`.
    """

    module: ClassVar[str]

    def __init__(self, recipe: Recipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        self.root = box.mount / "trees"

    def tree(self, number: int) -> Path:
        """The folder of a tree."""
        return self.root / f"t{number:03d}"

    def sizes(self, tree: int) -> list[int]:
        """Bytes of a tree's files."""
        load, seed = self.load, derive_seed(self.recipe.seed, "capture_sizes", tree)
        return [int(size) for size in lognormal_sizes(load, load.files // load.trees, seed)]

    def values(self) -> dict[str, Any]:
        """What the clients' plans hold."""
        load = self.load
        return {
            "root": str(self.root),
            "scratch": str(self.box.mount / "scratch"),
            "locks": str(self.box.work),
            "trees": load.trees,
            "files": load.files // load.trees,
            **sizes_plan(load),
            "batch": load.batch,
        }

    def play(self, phase: Phase, number: int) -> list[Player]:
        """Start the clients."""
        return self.clients(self.module, phase, number, self.values())


class Git(Trees[GitLoad]):
    """Repositories under git."""

    program = "git"
    packages: ClassVar[dict[str, str]] = {"git": "git"}
    asks: ClassVar[dict[str, tuple[str, ...]]] = {"git": ("--version",)}
    operations = ("commits", "checkouts", "logs", "blames", "greps", "clones", "repacks")
    module = "git"

    def prepare(self) -> None:
        """Make the repositories with their histories, packed."""
        for tree in range(self.load.trees):
            draw = random.Random(derive_seed(self.recipe.seed, "capture_tree", tree))
            git.make(self.tree(tree), draw, self.sizes(tree), self.load.commits, self.load.batch)
        (self.box.mount / "scratch").mkdir()

    def values(self) -> dict[str, Any]:
        """With how many commits each repository has at least."""
        return {**super().values(), "commits": self.load.commits}


class Rsync(Trees[RsyncLoad]):
    """Snapshots and archives of trees that change."""

    program = "rsync"
    packages: ClassVar[dict[str, str]] = {"rsync": "rsync", "tar": "tar"}
    asks: ClassVar[dict[str, tuple[str, ...]]] = {"rsync": ("--version",), "tar": ("--version",)}
    operations = ("changes", "reads", "snapshots", "archives", "restores", "compares")
    module = "backups"

    def prepare(self) -> None:
        """Write the trees."""
        block = os.urandom(self.load.max_kib * 1024)
        for tree in range(self.load.trees):
            for number, size in enumerate(self.sizes(tree)):
                path = self.tree(tree) / f"d{number // FILES_PER_FOLDER:03d}" / f"f{number:05d}"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(block[:size])
        (self.box.mount / "scratch").mkdir()

    def values(self) -> dict[str, Any]:
        """With how many copies are kept, and where the programs are."""
        return {**super().values(), "keep": self.load.keep, "per_folder": FILES_PER_FOLDER}


class Build(Trees[BuildLoad]):
    """C projects that are edited and built."""

    program = "build"
    packages: ClassVar[dict[str, str]] = {"make": "make", "gcc": "gcc", "ar": "gcc", "ld": "gcc"}
    asks: ClassVar[dict[str, tuple[str, ...]]] = dict.fromkeys(("make", "gcc", "ar"), ("--version",))
    operations = ("edits", "rebuilds", "searches", "installs")
    module = "build"

    def prepare(self) -> None:
        """Write the projects and build them once."""
        for tree in range(self.load.trees):
            draw = random.Random(derive_seed(self.recipe.seed, "capture_tree", tree))
            build.make(self.tree(tree), draw, self.sizes(tree))
        (self.box.mount / "scratch").mkdir()
        folders = " ".join(shlex.quote(str(self.tree(tree))) for tree in range(self.load.trees))
        script = f'for folder in {folders}; do "$0" -s -j 2 -C "$folder" || exit 1; done'
        self.box.run(["/bin/sh", "-c", script, program("make")], self.log("make"), limited=False)
