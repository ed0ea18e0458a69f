"""docs/objects.md: its commands run on a small trace, in their order."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from tests.command_line import run

TEXT = (Path(__file__).parents[2] / "docs" / "objects.md").read_text(encoding="utf-8")
COMMANDS = [
    shlex.split(line, comments=True)
    for block in re.findall(r"^```sh\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the trace that the page names: time id size at blanks."""
    path, draw = tmp_path_factory.mktemp("objects"), np.random.default_rng(7)
    key = (draw.pareto(0.8, 3000) * 9).astype(np.int64) % 300
    lines = (f"{at // 20} {one * 7919} {100 + one * 7919 % 90001}\n" for at, one in enumerate(key.tolist()))
    (path / "cdn.tr").write_text("".join(lines))
    return path


def test_all_commands_are_run():
    assert [words[0] for words in COMMANDS] == ["cachezoo"] * 9


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[1:]))
def test_its_commands_run(folder, monkeypatch, words):
    monkeypatch.chdir(folder)
    assert run(*words[1:]).stdout
    assert all(Path(word).stat().st_size for word in words if word.endswith((".png", ".html")))
