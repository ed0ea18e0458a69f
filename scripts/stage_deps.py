"""Print or write the source files that each stage of dvc.yaml depends on: the import closure of its pipeline file."""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMAND = re.compile(r"pipelines/(\w+)\.py")


def module_file(name: str) -> Path | None:
    """The project's file of a dotted module name, or None for a library's."""
    path = ROOT / "src" / Path(*name.split("."))
    return next((file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()), None)


def imported(file: Path) -> set[Path]:
    """Project files that a file imports, imports inside functions included, type-checking ones left out."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    skipped = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If)
        and isinstance(branch.test, ast.Name)
        and branch.test.id == "TYPE_CHECKING"
        for node in ast.walk(branch)
    }
    names: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    packages = {".".join(name.split(".")[:n]) for name in names for n in range(1, name.count(".") + 2)}
    return {found for name in packages if name.split(".")[0] == "cachezoo" and (found := module_file(name))}


def closure(stage: str) -> list[str]:
    """Sorted paths, relative to the root, of a stage's own file and everything of the project it imports."""
    todo, seen = [ROOT / "pipelines" / f"{stage}.py"], set()
    while todo:
        file = todo.pop()
        if file not in seen:
            seen.add(file)
            todo += imported(file)
    return sorted(str(file.relative_to(ROOT)) for file in seen)


def rewritten(text: str) -> str:
    """dvc.yaml with every stage's source files brought up to date; other deps stay."""
    out: list[str] = []
    stage, in_deps = "", False
    for line in text.splitlines():
        if match := COMMAND.search(line) if line.strip().startswith("cmd:") else None:
            stage = match[1]
        if in_deps and re.match(r"\s+- (src|pipelines)/.*\.py$", line):
            continue
        in_deps = in_deps and line.strip().startswith("- ")
        out.append(line)
        if line.strip() == "deps:":
            in_deps = True
            indent = " " * (len(line) - len(line.lstrip()) + 2)
            out += [f"{indent}- {path}" for path in closure(stage)]
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    dvc_yaml = ROOT / "dvc.yaml"
    dvc_yaml.write_text(rewritten(dvc_yaml.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write("dvc.yaml: deps rewritten\n")
