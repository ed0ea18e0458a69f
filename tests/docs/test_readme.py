"""The commands of README.md are there."""

import re
import shlex
from pathlib import Path

import typer.main

from cachezoo import cli

README = Path(__file__).resolve().parents[2] / "README.md"
CACHEZOO = re.compile(r"`(cachezoo [^`]+)`")


def test_commands_of_the_table_are_there():
    commands = CACHEZOO.findall(README.read_text(encoding="utf-8"))
    assert len(commands) > 2
    for command in commands:
        words, found = shlex.split(command)[1:], typer.main.get_command(cli.app)
        assert words[0] in found.commands, command
        while words and words[0] in getattr(found, "commands", ()):
            found = found.commands[words.pop(0)]
        if not hasattr(found, "commands"):  # `serve DISK` is a command of its group that nobody names
            options = {text for parameter in found.params for text in parameter.opts}
            assert {word for word in words if word.startswith("--")} <= options, command
