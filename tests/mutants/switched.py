"""libcachezoo with wrong runtimes compiled in: the number `cz_mutant` says which one runs, 0 for the right one.

The product's sources know nothing of this. A copy of each source that mutants change has, beside each function that one
changes, a copy of that function with the change, which runs in its place where `cz_mutant` is the mutant's number. A
`#define` that one changes chooses between its values.
"""

import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests.c_library import LIBRARY
from tests.mutants.mutants import Mutant

# A definition begins in column 1, and so does the brace that ends it, but where all stands in one line.
FUNCTION = re.compile(r"^(?P<type>[A-Za-z_][\w *]*?)(?P<name>\w+)\((?P<parameters>[^;{}]*)\)\s*\{", re.MULTILINE)
DEFINITION = re.compile(r"#define (?P<name>\w+) (?P<value>.+)")
PARAMETER = re.compile(r"(\w+)\)?(\[\w*\])?$")

Placed = Sequence[tuple[int, Mutant, int]]  # number, mutant, and where its change begins in the part of the source


def _place(source: str, mutant: Mutant) -> int:
    """Where the text to change begins.

    Raises:
        AssertionError: it stands more than once in the source and the mutant does not say where, or not at all.
    """
    if mutant.place is not None:
        assert source.startswith(mutant.right, mutant.place), f"{mutant.source}: {mutant.name}"
        return mutant.place
    count = source.count(mutant.right)
    assert count == 1, f"{mutant.source}: {mutant.name}: {mutant.right!r} stands there {count} times, not once"
    return source.index(mutant.right)


def _changed(text: str, mutant: Mutant, at: int) -> str:
    """A text with the mutant's change, which begins at a place of it."""
    return text[:at] + mutant.wrong + text[at + len(mutant.right) :]


def _beside(function: re.Match[str], text: str, placed: Placed) -> str:
    """A function that calls, for the number of a mutant, its copy with the mutant's change.

    A copy's lines count as those of a file that has the mutant's number as its name, so that the compiler says which
    mutant is no C.
    """
    kind = re.sub(r"\b(static|inline)\b", "", function["type"]).strip()
    given = [PARAMETER.search(one.strip()) for one in function["parameters"].split(",")]
    call = ", ".join(one[1] for one in given if one and one[1] != "void")
    body = text.index("{") + 1
    prototypes, cases, copies = "", "", ""
    for number, mutant, at in placed:
        changed = _changed(text, mutant, at)
        own = f"static {kind} {function['name']}__{number}({function['parameters']})"
        prototypes += f"{own};\n"
        call_own = f"{function['name']}__{number}({call});"
        cases += f"\n    case {number}: " + (f"{call_own} return;" if kind == "void" else f"return {call_own}")
        copies += f'\n#line 1 "{number}"\n{own} {changed[changed.index("{") :]}#line 1 "right"\n'
    return f"{prototypes}{text[:body]}\n    switch (cz_mutant) {{{cases}\n    }}{text[body:]}{copies}"


def _chosen(line: str, placed: Placed) -> str:
    """A `#define` whose value hangs on the mutant's number."""
    found = DEFINITION.fullmatch(line)
    assert found is not None, line
    value = found["value"]
    for number, mutant, at in placed:
        other = DEFINITION.fullmatch(_changed(line, mutant, at))
        assert other is not None and other["name"] == found["name"], mutant.name
        value = f"(cz_mutant == {number} ? {other['value']} : {value})"
    return f"#define {found['name']} {value}"


def parts_of(source: str) -> Iterator[tuple[int, int, re.Match[str] | None]]:
    """Where a mutant may change something: definitions of functions, and with no match lines that define a value."""
    for function in FUNCTION.finditer(source):
        line = source.index("\n", function.end())
        end = line if source[line - 1] == "}" else source.index("\n}\n", function.end()) + 2
        yield function.start(), end + 1, function
    for line in re.finditer(r"^#define \w+ .*[^\\\n]$", source, re.MULTILINE):
        yield line.start(), line.end(), None


def switched(source: str, numbered: Iterable[tuple[int, Mutant]]) -> str:
    """A source with mutants compiled in.

    Raises:
        AssertionError: a text to change does not stand there once, or neither in a function nor in a `#define`.
    """
    by_part: dict[tuple[int, int], list[tuple[int, Mutant, int]]] = {}
    parts = {(start, end): function for start, end, function in parts_of(source)}
    for number, mutant in numbered:
        at = _place(source, mutant)
        end = at + len(mutant.right)
        holding = [part for part in parts if part[0] <= at and end <= part[1]]
        assert len(holding) == 1, f"{mutant.source}: {mutant.name}: its text is in no function and no #define"
        by_part.setdefault(holding[0], []).append((number, mutant, at - holding[0][0]))
    for part in sorted(by_part, reverse=True):
        text, function = source[part[0] : part[1]], parts[part]
        new = _beside(function, text, by_part[part]) if function else _chosen(text, by_part[part])
        source = source[: part[0]] + new + source[part[1] :]
    return "extern int cz_mutant;\n" + source


def copy_switched(mutants: Sequence[Mutant], folder: Path) -> Path:
    """Make a tree of libcachezoo in a folder, with the mutants compiled in, numbered from 1 in their order.

    Returns:
        The tree's `runtimes/c`.
    """
    library = folder / "runtimes" / "c"
    library.parent.mkdir()
    shutil.copytree(LIBRARY, library, ignore=shutil.ignore_patterns("build", "tests", "bench", "fuzz"))
    (folder / "src").symlink_to(LIBRARY.parents[1] / "src")
    numbered = list(enumerate(mutants, 1))
    for name in sorted({mutant.source for mutant in mutants}):
        path = library / "src" / name
        own = [(number, mutant) for number, mutant in numbered if mutant.source == name]
        path.write_text(switched(path.read_text(encoding="utf-8"), own), encoding="utf-8")
    return library
