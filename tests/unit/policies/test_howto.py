"""docs/howto-add-a-policy.md and docs/policies.md run as they stand, each top to bottom.

A block whose paragraph ends with the name of a file is that file, a module of its own; the others share a namespace.
"""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from cachezoo.policies.admissions import ADMISSIONS
from cachezoo.policies.evictions import EVICTIONS
from cachezoo.policies.prefetches import PREFETCHES
from cachezoo.policies.registry import POLICIES

DOCS = Path(__file__).parents[3] / "docs"
PAGE = DOCS / "howto-add-a-policy.md"
POLICIES_PAGE = DOCS / "policies.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"`((?:src|tests)/[\w/]+\.py)`:\n\n$")
FILES = [
    "src/cachezoo/kernels/evict/random.py",
    "src/cachezoo/policies/evictions/chance.py",
    "tests/oracles/evict/random.py",
    "src/cachezoo/kernels/admit/reads.py",
]


def blocks(text):
    """(line before the first, code) of each block."""
    return [(text.count("\n", 0, match.start(1)), match.group(1)) for match in BLOCK.finditer(text)]


def files(text):
    """The file that each block is, by its place among the blocks."""
    named = [NAMED.search(text[: match.start()]) for match in BLOCK.finditer(text)]
    return {number: found.group(1) for number, found in enumerate(named) if found}


def write_module(path, code, folder, monkeypatch):
    """Write a block as its file below a folder, and import it as the module that it is in the project."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(code)
    name = path.removeprefix("src/").removesuffix(".py").replace("/", ".")
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    package, _, last = name.rpartition(".")
    monkeypatch.setattr(importlib.import_module(package), last, module, raising=False)


def test_every_fence_is_a_python_block():
    text = PAGE.read_text()
    assert len(re.findall(r"^```", text, re.MULTILINE)) == 2 * len(blocks(text)) > 10


@pytest.mark.parametrize("page", [PAGE, POLICIES_PAGE], ids=lambda page: page.stem)
def test_the_page_runs(page, tmp_path, monkeypatch):
    """Each block lies in a file, as numba's cache wants it, with the page's own line numbers."""
    module = ModuleType("howto")
    monkeypatch.setitem(sys.modules, "howto", module)
    monkeypatch.chdir(DOCS.parent)
    own = files(page.read_text())
    assert list(own.values()) == (FILES if page == PAGE else [])
    for number, (before, code) in enumerate(blocks(page.read_text())):
        if number in own:
            write_module(own[number], code, tmp_path, monkeypatch)
            continue
        file = tmp_path / f"block{number}.py"
        file.write_text("\n" * before + code)
        exec(compile(file.read_text(), str(file), "exec"), module.__dict__)


def test_a_claim_that_does_not_hold_is_found(tmp_path):
    (_, code), *_ = blocks(PAGE.read_text())
    with pytest.raises(AssertionError):
        exec(compile(code.replace("== 1200", "== 1201"), "page", "exec"), {"__name__": "page"})


def test_what_it_names_is_there():
    text = PAGE.read_text()
    root = PAGE.parents[1]
    named = {path for path in re.findall(r"`((?:src|tests)/[^`<]*)`", text)}
    assert named > set(FILES)
    assert not [path for path in FILES if (root / path).exists()]  # the reader's to write
    assert not [path for path in named - set(FILES) if not (root / path).exists()]


def test_every_policy_and_part_has_its_line():
    text = POLICIES_PAGE.read_text()
    named = [*POLICIES, *(part.id for part in (*ADMISSIONS, *PREFETCHES))]
    assert not [name for name in named if f"`{name}`" not in text and f"`{name}(" not in text]
    for eviction in EVICTIONS:
        line = next(line for line in text.splitlines() if line.startswith(f"| `{eviction.id}` |"))
        if eviction.learn is None and len(line.split("|")[4].split("`")) > 1:
            given = re.findall(r"`(\w+)` ([0-9.]+)", line.split("|")[4])
            defaults = {own.name: own.default for own in eviction.parameters}
            assert {name: float(value) for name, value in given}.items() <= defaults.items()
