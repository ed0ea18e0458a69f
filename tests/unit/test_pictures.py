"""The pages' examples: their blocks show the commands of scripts/pictures.py, and what these print today."""

import re
import shlex

import pytest

from cachezoo.errors import CachezooError
from scripts import pictures
from scripts.pictures import BLOCK, EXAMPLES, IMAGES, LEFT_OUT, Example, main, page_of, printed, shrink, wrapped
from tests.command_line import run

MOST_BYTES = 60_000
QUICK = "curves"
FOUND = r"<!-- {0} -->\n\n(.*?)\n<!-- end of {0} -->\n"


def block(name):
    text = page_of(name).read_text(encoding="utf-8")
    found = re.findall(FOUND.format(EXAMPLES[name].block), text, re.DOTALL)
    assert len(found) == 1, f"run `python -m scripts.pictures {name}`"
    return found[0]


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_page_shows_its_command_and_output(name):
    first, *lines, last = block(name).splitlines()
    typed, wanted = EXAMPLES[name].typed, EXAMPLES[name].lines
    assert (first, lines[: len(typed)], last) == ("```console", typed, "```")
    assert shlex.split("\n".join(typed).replace("\\\n", ""))[1:] == shlex.split(EXAMPLES[name].command)
    lines = lines[len(typed) :]
    assert lines and (wanted is None or len(lines) == wanted + (lines[-1] == LEFT_OUT))
    assert all(len(line) <= pictures.WIDTH or line.startswith(" ") for line in lines)


@pytest.mark.parametrize("name", [name for name, one in EXAMPLES.items() if one.plot])
def test_a_page_shows_its_plot(name):
    plot = EXAMPLES[name].plot
    assert f"](img/{plot})" in page_of(name).read_text(encoding="utf-8")
    assert 0 < (IMAGES / plot).stat().st_size < MOST_BYTES


def test_every_example_of_a_page_is_in_the_table():
    marked = re.compile(FOUND.format(BLOCK), re.DOTALL)
    pages = {page.stem for page in page_of("x").parent.glob("*.md") if marked.search(page.read_text(encoding="utf-8"))}
    assert pages == {name for name, one in EXAMPLES.items() if one.block == BLOCK}


def test_an_example_prints_what_its_page_shows(tmp_path, monkeypatch):
    for name in pictures.INPUTS:
        (tmp_path / name).symlink_to(pictures.ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(pictures.WIDTH))
    example = EXAMPLES[QUICK]
    assert example.shown(run(*shlex.split(example.command)[1:]).stdout) == block(QUICK)
    shrink(tmp_path / example.plot, tmp_path / "again.png")
    assert (tmp_path / "again.png").read_bytes() == (IMAGES / example.plot).read_bytes()


def test_long_lines_and_outputs_are_cut():
    assert wrapped("a " * 80) == [("a " * 50).strip(), ("a " * 30).strip()]
    assert wrapped("│ a  ") == ["│ a"]
    assert wrapped("") == [""]
    assert wrapped(" b" * 60) == [" b" * 60]
    shown = Example("cachezoo demo", 1).shown("one\ntwo\n")
    assert shown == f"```console\n$ cachezoo demo\none\n{LEFT_OUT}\n```\n"
    assert Example("cachezoo curve x -o y.png").plot == "y.png"


@pytest.mark.slow(seconds=60)
def test_readme_shows_what_its_command_prints(tmp_path):
    example = EXAMPLES["README"]
    assert example.shown(printed(example, tmp_path)) == block("README"), "run `python -m scripts.pictures README`"


def test_what_fails_is_one_line(tmp_path, capsys):
    assert main(["nothing"]) == 2
    assert "no example nothing; there are README, " in capsys.readouterr().err
    with pytest.raises(CachezooError, match="cachezoo curve nothing: cachezoo: nothing: no such file"):
        printed(Example("cachezoo curve nothing"), tmp_path)
