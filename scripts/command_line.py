"""What `cachezoo --help` and every command's `--help` say: a block of docs/command-line.md, and a count of words.

`python -m scripts.command_line` prints the words of each help, the longest first, and of all.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import typer
import typer.main

from cachezoo import cli

WIDTH = 100
TARGET = re.compile(r"^([a-z-]+):.*?## (.*)$", re.MULTILINE)


class Help(NamedTuple):
    """A command's help."""

    command: str  # as it is typed
    text: str

    @property
    def words(self) -> int:
        """Of all, the examples too."""
        return len(self.text.split())

    @property
    def examples(self) -> list[str]:
        """The commands to try."""
        _, _, rest = self.text.partition("Examples:\n")
        return [line.strip() for line in rest.replace("\\\n", "").splitlines() if line.strip().startswith("cachezoo ")]


def helps() -> Iterator[Help]:
    """Every help: of `cachezoo`, of what its help lists, in that order, and of all below."""
    root = typer.main.get_command(cli.app)
    yield from _below(root, typer.Context(root, info_name="cachezoo", terminal_width=WIDTH))


def _below(command: Any, context: typer.Context) -> Iterator[Help]:  # noqa: ANN401 - typer's command
    yield Help(context.command_path, "\n".join(line.rstrip() for line in command.get_help(context).splitlines()))
    if not hasattr(command, "commands"):
        return
    panels = [name for names in command.panels.values() for name in names] or command.list_commands(context)
    for name in panels:
        child = command.get_command(context, command.named.get(name, name))
        own = typer.Context(child, parent=context, info_name=name, terminal_width=WIDTH)
        yield from _below(child, own)


def reference() -> str:
    """A section for each command, with its help as it is printed."""
    return "\n".join(f"### {own.command}\n\n```text\n{own.text}\n```\n" for own in helps())


def targets() -> str:
    """The targets of the Makefile as a list."""
    makefile = (Path(__file__).resolve().parents[1] / "Makefile").read_text(encoding="utf-8")
    return "".join(f"- `make {name}`: {text}\n" for name, text in TARGET.findall(makefile))


def main() -> int:
    """Print the words of each help, and of all."""
    every = sorted(helps(), key=lambda own: -own.words)
    lines = [f"{own.words:6,} {own.command}" for own in every]
    examples = sum(len(text.split()) for own in every for text in own.examples)
    total = sum(own.words for own in every)
    sys.stdout.write("\n".join([*lines, f"{total:6,} in all, {examples:,} of them examples"]) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
