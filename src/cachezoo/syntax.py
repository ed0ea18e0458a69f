"""What a Python source says and what it imports, by its syntax alone: nothing of it is run."""

import ast
import hashlib
from collections.abc import Iterator

MEANINGS = {"Means", "Each"}


def said(tree: ast.Module) -> str:
    """sha256 of a parsed source without docstrings and meanings; comments and layout are not in it to begin with.

    The docstrings and the meanings of fields and columns (`cachezoo.meanings`) are taken out of the tree.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MEANINGS:
            node.args, node.keywords = [], []
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def imported(tree: ast.Module) -> set[str]:
    """Dotted names that may be modules: what is imported, what of it, and the packages on the way.

    Imports inside functions included, type-checking ones left out.
    """
    names: set[str] = set()
    for node in _walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {".".join(name.split(".")[:n]) for name in names for n in range(1, name.count(".") + 2)}


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those under `if TYPE_CHECKING:`, which never run."""
    yield node
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return
    for child in ast.iter_child_nodes(node):
        yield from _walk(child)
