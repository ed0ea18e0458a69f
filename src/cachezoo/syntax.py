"""What a Python source says and what it imports, by its syntax alone: nothing of it is run."""

import ast
import hashlib
from collections.abc import Iterator

MEANINGS = {"Means", "Each"}


def digest(tree: ast.Module) -> str:
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


def entries(tree: ast.Module, table: str) -> dict[str, ast.expr]:
    """The entries of a module's table, a dict that is written out with texts as keys."""
    (found,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == table and isinstance(node.value, ast.Dict)
    )
    return {ast.literal_eval(key): own for key, own in zip(found.keys, found.values, strict=True) if key}


def entry(tree: ast.Module, table: str, name: str, package: str) -> ast.Module:
    """What an entry of a module's table is made from: itself and the functions, values and imports that it uses.

    Texts of it that name a module of the package, or something in one (`package.module:name`), count as imports.

    Args:
        tree: of the module.
        table: the table's name, see `entries`.
        name: the entry's key.
        package: whose modules are named.
    """
    known: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                own = ast.Import([alias]) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, [alias], 0)
                known[alias.asname or alias.name.split(".")[0]] = own
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            known[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            known[node.targets[0].id] = node
    body: list[ast.stmt] = [ast.Expr(entries(tree, table)[name])]
    todo, seen = list(body), {table}
    while todo:
        for used in ast.walk(todo.pop()):
            if isinstance(used, ast.Name) and used.id in known and used.id not in seen:
                seen.add(used.id)
                todo.append(known[used.id])
                body.append(known[used.id])
            elif (
                isinstance(used, ast.Constant) and isinstance(used.value, str) and used.value.startswith(f"{package}.")
            ):
                body.append(ast.Import([ast.alias(used.value.partition(":")[0])]))
    return ast.Module(body, [])


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those under `if TYPE_CHECKING:`, which never run."""
    yield node
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return
    for child in ast.iter_child_nodes(node):
        yield from _walk(child)
