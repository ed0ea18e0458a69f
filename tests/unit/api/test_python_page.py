"""docs/python.md runs as it is, top to bottom."""

from pathlib import Path

import pytest

from cachezoo import _ASKED
from cachezoo.runtime import abi
from tests.c_library import make
from tests.unit.policies.test_howto import blocks

PAGE = Path(__file__).parents[3] / "docs/python.md"


@pytest.mark.slow(seconds=90)
def test_the_page_runs(tmp_path, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(abi.VARIABLE, str(make(tmp_path_factory, "all") / "libcachezoo.so.1"))
    text, names = PAGE.read_text(encoding="utf-8"), {}
    for first, code in blocks(text):
        exec(compile("\n" * first + code, str(PAGE), "exec"), names)
    assert not list(tmp_path.iterdir())


def test_the_page_names_all_functions():
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in _ASKED if name[0].islower() and f"cz.{name}(" not in text] == []
