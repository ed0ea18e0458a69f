"""docs/howto-add-a-policy.md and docs/policies.md run as they stand, each top to bottom in one namespace."""

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


def blocks(text):
    """(line before the first, code) of each block."""
    return [(text.count("\n", 0, match.start(1)), match.group(1)) for match in BLOCK.finditer(text)]


def test_every_fence_is_a_python_block():
    text = PAGE.read_text()
    assert len(re.findall(r"^```", text, re.MULTILINE)) == 2 * len(blocks(text)) > 10


@pytest.mark.parametrize("page", [PAGE, POLICIES_PAGE], ids=lambda page: page.stem)
def test_the_page_runs(page, tmp_path, monkeypatch):
    """Each block is a file, as numba's cache wants it, with the page's own line numbers."""
    module = ModuleType("howto")
    monkeypatch.setitem(sys.modules, "howto", module)
    monkeypatch.chdir(DOCS.parent)
    for number, (before, code) in enumerate(blocks(page.read_text())):
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
    assert named
    assert not [path for path in named if not (root / path).exists()]


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
