"""README.md shows what its two commands print today, and its other commands are there."""

import re
import shlex
from pathlib import Path

import pytest
import typer.main

from cachezoo import cli
from scripts.readme import COMMANDS, README, block

ROOT = Path(__file__).resolve().parents[2]
CACHEZOO = re.compile(r"`(cachezoo [^`]+)`")


@pytest.mark.slow(seconds=60)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_prints_what_the_page_shows(name):
    shown = f"<!-- {name} -->\n\n{block(name)}\n<!-- end of {name} -->\n"
    assert shown in README.read_text(encoding="utf-8"), "run `python -m scripts.readme` and commit what it changes"


def test_commands_of_the_table_are_there():
    commands = CACHEZOO.findall(README.read_text(encoding="utf-8"))
    assert len(commands) > len(COMMANDS)
    for command in commands:
        words, found = shlex.split(command)[1:], typer.main.get_command(cli.app)
        assert words[0] in found.commands, command
        while words and words[0] in getattr(found, "commands", ()):
            found = found.commands[words.pop(0)]
        if not hasattr(found, "commands"):  # `serve DISK` is a command of its group that nobody names
            options = {text for parameter in found.params for text in parameter.opts}
            assert {word for word in words if word.startswith("--")} <= options, command
