"""Which source files a stage runs: its pipeline file and everything of the project that this one imports."""

import ast
from collections.abc import Iterator
from pathlib import Path

from cachezoo.errors import CachezooError
from cachezoo.io import atomic_dir, sha256_file, write_json


def module_file(root: Path, name: str) -> Path | None:
    """The project's file of a dotted module name, or None for a library's."""
    path = root / "src" / Path(*name.split("."))
    return next((file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()), None)


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those under `if TYPE_CHECKING:`, which never run."""
    yield node
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return
    for child in ast.iter_child_nodes(node):
        yield from _walk(child)


def imported(root: Path, file: Path) -> set[Path]:
    """Project files that a file imports, imports inside functions included, type-checking ones left out.

    Raises:
        CachezooError: the file is not Python.
    """
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, SyntaxError) as error:
        message = f"{file}: not readable as Python ({error}); mend it, stages run it"
        raise CachezooError(message) from error
    names: set[str] = set()
    for node in _walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    packages = {".".join(name.split(".")[:n]) for name in names for n in range(1, name.count(".") + 2)}
    own = (module_file(root, name) for name in packages if name.split(".")[0] == "cachezoo")
    return {found for found in own if found is not None}


def closure(root: Path, script: Path, known: dict[Path, set[Path]] | None = None) -> list[str]:
    """Sorted paths, relative to the root, of a stage's own file and everything of the project it imports.

    Args:
        root: the project's folder.
        script: the stage's file.
        known: what files import, filled as they are read; give the same one to spare reading them again.
    """
    known = {} if known is None else known
    todo, seen = [script], set()
    while todo:
        file = todo.pop()
        if file not in seen:
            seen.add(file)
            if file not in known:
                known[file] = imported(root, file)
            todo += known[file]
    return sorted(str(file.relative_to(root)) for file in seen)


def write_sources(root: Path, folder: Path) -> None:
    """Write `<stage>.json`, the sha256 of each file that the stage runs, for every file of pipelines/.

    A stage of dvc.yaml depends on its own list instead of on the files: DVC writes its lock anew, with every dependency
    of every stage, after each stage, which took longer than most stages when they named some forty files each.
    """
    known: dict[Path, set[Path]] = {}
    with atomic_dir(folder) as temporary:
        for script in sorted((root / "pipelines").glob("*.py")):
            hashes = {path: sha256_file(root / path) for path in closure(root, script, known)}
            write_json(temporary / f"{script.stem}.json", hashes)
