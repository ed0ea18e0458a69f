"""docs/howto-add-a-policy.md runs as it stands, top to bottom in one namespace."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "howto-add-a-policy.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text):
    """(line before the first, code) of each block."""
    return [(text.count("\n", 0, match.start(1)), match.group(1)) for match in BLOCK.finditer(text)]


def test_every_fence_is_a_python_block():
    text = PAGE.read_text()
    assert len(re.findall(r"^```", text, re.MULTILINE)) == 2 * len(blocks(text)) > 10


def test_the_page_runs(tmp_path, monkeypatch):
    """Each block is a file, as numba's cache wants it, with the page's own line numbers."""
    module = ModuleType("howto")
    monkeypatch.setitem(sys.modules, "howto", module)
    for number, (before, code) in enumerate(blocks(PAGE.read_text())):
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
