"""What can change a stage's bytes: the sources that it runs, and the versions of the libraries that they import.

A source counts by its syntax tree: comments, docstrings, layout and the meanings of fields and columns
(`cachezoo.meanings`) do not count. Left out are

- the settings, whose values are in params.yaml and are `params:` of the stages;
- errors and progress, which end a run or are seen by people, what counts as a number there, and by which syntax
  compiled kernels are found;
- the registry of systems, so that a new system concerns no stage of another;
- how numbers and pages look.

A stage whose own file imports one of these does depend on it. Never on a list is what carries results and computes
none: files and tables as they are read and written, the stages' entry and their jobs. Else a statement in `io.py` would
run the whole pipeline again, to the same bytes. Where a change of what carries does change bytes, raise `EDITION`, and
everything runs again; a test compares the bytes of a small pipeline with stored ones, so that such a change is seen.

A stage's own file is its entry of the table in pipelines/stages.py, which has a path of its own: that of the file, and
below it the stage's name. A script is a stage's own file too.
"""

import ast
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cachezoo.errors import CachezooError
from cachezoo.io import atomic_dir, write_json
from cachezoo.meanings import Column, Each, Means, Table
from cachezoo.syntax import digest, entries, entry, imported

PACKAGE = "cachezoo"
LOCK = "requirements.lock"
PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;]+)", re.MULTILINE)
# Distributions whose modules have another name.
DISTRIBUTIONS = {"sklearn": "scikit-learn", "yaml": "pyyaml", "hydra": "hydra-core", "markdown_it": "markdown-it-py"}
STAGES, TABLE = Path("pipelines/stages.py"), "STAGES"
PINNED = Path("src/cachezoo/pinned.py")
EDITION = 1
LEFT_OUT = tuple(
    re.compile(f"src/{PACKAGE}/{pattern}")
    for pattern in (
        r"((config|settings)/.*|zoo/\w+/settings\.py|yaml_file\.py)",
        r"(errors|console|meanings|numerals|private|syntax)\.py",
        r"show/(__init__|formats|section|style|table)\.py",
        r"zoo/registry\.py",
    )
)
CARRIES = re.compile(
    rf"src/{PACKAGE}/((io|documents|stage|kept|to_go|jobs|cluster|remote|params|paths)|traces/(table|store))\.py"
)
SOURCES = Table(
    Each(
        "one stage of pipelines/stages.py",
        "script",
        text="what a stage depends on in place of its sources and libraries",
    ),
    {
        "edition": Column("integer", Means("of what carries results and is on no list")),
        "files.<file>": Column("text", Means("sha256 of what a source says, or of another file's bytes")),
        "libraries.<distribution>": Column(
            "text", Means("locked version of a library that the sources import"), "sometimes"
        ),
    },
)
NO_SOURCE = {".py", ".pyc", ".pyi", ".typed"}


@dataclass
class Imports:
    """What a file imports."""

    own: set[Path] = field(default_factory=set)  # files of the project
    libraries: set[str] = field(default_factory=set)  # names of top-level modules of others


@dataclass
class Project:
    """The sources below a root, each read once."""

    root: Path  # the project's folder
    # those whose sources count, by the folder that each is in
    packages: Mapping[str, str] = field(default_factory=lambda: {PACKAGE: "src"})
    imports: dict[Path, Imports] = field(default_factory=dict)  # of each file that was read
    hashes: dict[Path, str] = field(default_factory=dict)  # of each file that was read

    def module_file(self, name: str) -> Path | None:
        """The project's file of a dotted module name, or None for a library's."""
        package, *_ = names = name.split(".")
        if package not in self.packages:
            return None
        path = self.root / self.packages[package] / Path(*names)
        return next((file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()), None)

    def read(self, file: Path) -> Imports:
        """What a file imports, imports inside functions included, type-checking ones left out.

        Raises:
            CachezooError: the file is not Python.
        """
        if file not in self.imports:
            is_entry = file.parent.suffix == ".py"
            tree = self._parsed(file.parent if is_entry else file)
            if is_entry:
                tree = entry(tree, TABLE, file.name, PACKAGE)
            self.imports[file] = self._imports(tree)
            self.hashes[file] = digest(tree)
        return self.imports[file]

    def _parsed(self, file: Path) -> ast.Module:
        try:
            return ast.parse(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, SyntaxError) as error:
            raise CachezooError(f"{file}: not readable as Python ({error}); fix it, stages run it") from error

    def stages(self) -> list[Path]:
        """The stages of the pipeline, each a path below the file of their table.

        Raises:
            CachezooError: the file is not Python.
        """
        file = self.root / STAGES
        return [file / name for name in entries(self._parsed(file), TABLE)]

    def _imports(self, tree: ast.Module) -> Imports:
        names = imported(tree)
        own = {self.module_file(name) for name in names}
        libraries = {name.split(".")[0] for name in names} - set(self.packages)
        return Imports({found for found in own if found is not None}, libraries)

    def hash_of(self, file: Path) -> str:
        """sha256 of what a source says, or of the bytes of a file that is no Python."""
        if file not in self.hashes:
            self.hashes[file] = hashlib.sha256(file.read_bytes()).hexdigest()
        return self.hashes[file]


def _left_out(project: Project, script: Path) -> list[re.Pattern[str]]:
    """Which of `LEFT_OUT` hold for a stage: those that its own file imports nothing of."""
    direct = [file.relative_to(project.root).as_posix() for file in project.read(script).own]
    return [pattern for pattern in LEFT_OUT if not any(pattern.fullmatch(file) for file in direct)]


def _reached(project: Project, script: Path) -> set[Path]:
    """A stage's own file and the sources that it runs, what carries results among them: that imports what computes."""
    left_out = _left_out(project, script)

    def counts(file: Path) -> bool:
        name = file.relative_to(project.root).as_posix()
        return not any(pattern.fullmatch(name) for pattern in left_out)

    environment = project.root / PINNED  # in which every stage's interpreter starts
    todo, seen = [script, *([environment] if environment.exists() else [])], set()
    while todo:
        file = todo.pop()
        if file not in seen:
            seen.add(file)
            todo += filter(counts, project.read(file).own)
    return seen


def closure(project: Project, script: Path) -> list[Path]:
    """A stage's own file and everything of the project that it runs and that its bytes can depend on, sorted.

    Files that are no Python (a C source, a template) count with any module of their folder.
    """
    reached = _reached(project, script)
    seen = {file for file in reached if not CARRIES.fullmatch(file.relative_to(project.root).as_posix())}
    folders = {file.parent for file in seen if file != script}
    beside = {file for folder in folders for file in folder.iterdir() if file.is_file()}
    return sorted(seen | {file for file in beside if file.suffix not in NO_SOURCE})


def versions(project: Project, files: list[Path]) -> dict[str, str]:
    """Locked versions of the libraries that some files import, by distribution.

    Raises:
        CachezooError: the lock is missing or no text, or pins nothing.
    """
    lock = project.root / LOCK
    try:
        pins = {name.lower(): version for name, version in PIN.findall(lock.read_text(encoding="utf-8"))}
    except (OSError, UnicodeDecodeError) as error:
        raise CachezooError(
            f"{lock}: cannot be read ({getattr(error, 'strerror', None) or 'it is no text'}); get it from Git"
        ) from error
    if not pins:
        raise CachezooError(f"{lock}: pins no name==version; get it from Git")
    imported = {name for file in files if file in project.imports for name in project.read(file).libraries}
    names = {DISTRIBUTIONS.get(name, name).lower() for name in imported}
    return {name: pins[name] for name in sorted(names & set(pins))}


def sources_of(project: Project, script: Path) -> dict[str, Any]:
    """What a stage's list has: `edition`, `files` by path with their hash, `libraries` with their version."""
    files = closure(project, script)
    hashes = {file.relative_to(project.root).as_posix(): project.hash_of(file) for file in files}
    return {"edition": EDITION, "files": hashes, "libraries": versions(project, sorted(_reached(project, script)))}


def write_sources(root: Path, folder: Path) -> None:
    """Write `<stage>.json`, the `sources_of` each stage of pipelines/stages.py.

    A stage depends on its own list instead of on the files: DVC writes its lock anew, with every dependency
    of every stage, after each stage, which took longer than most stages when they named some forty files each.

    Raises:
        CachezooError: a source is not Python, or the lock cannot be used.
    """
    project = Project(root)
    with atomic_dir(folder) as temporary:
        for stage in project.stages():
            write_json(temporary / f"{stage.name}.json", sources_of(project, stage))
