"""Help is whole, and shown without the libraries that only commands need."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from cachezoo import cli

ROOT = Path(__file__).resolve().parents[2]
# What takes longer to import than the whole command line does, and what imports it.
HEAVY = {
    "numpy", "pandas", "pyarrow", "numba", "scipy", "torch", "lightning", "lightgbm", "sklearn", "onnx", "onnxruntime",
    "mlflow", "dvc", "hydra", "omegaconf", "pydantic", "yaml", "jsonschema", "jinja2", "matplotlib", "rich", "boto3",
}  # fmt: skip
CODE = """
import sys
from cachezoo import cli
for words in sys.argv[1:]:
    sys.argv = ["cachezoo", *words.split(), "--help"]
    try:
        cli.main()
    except SystemExit as left:
        assert not left.code, words
sys.stderr.write(" ".join(sys.modules))
"""


def groups(command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of the command line and of each command below it that has commands of its own."""
    if hasattr(command, "commands"):
        yield words
        for name, child in command.commands.items():
            yield from groups(child, (*words, name))


def leaves(command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, child in getattr(command, "commands", {}).items():
        yield from leaves(child, (*words, name)) if hasattr(child, "commands") else ()
        # A group that does something itself has options of its own.
        if not hasattr(child, "commands") or child.invoke_without_command:
            yield (*words, name)


WHOLE = typer.main.get_command(cli.app)
GROUPS, LEAVES = [*groups(WHOLE)], [*leaves(WHOLE)]


def test_every_command_has_json_but_the_one_that_serves_pages():
    def options(words):
        command = WHOLE
        for word in words:
            command = command.commands[word]
        return {text for param in command.params for text in param.opts}

    assert [words for words in LEAVES if "--json" not in options(words)] == [("models", "track", "ui"), ("track", "ui")]


def test_help_imports_nothing_heavy():
    asked = [" ".join(words) for words in (*GROUPS, *LEAVES)]
    done = subprocess.run(
        [sys.executable, "-c", CODE, *asked],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.count("Usage: cachezoo") == len(asked) > 25
    assert "cachezoo.cli" in done.stderr.split()
    assert {name.split(".")[0] for name in done.stderr.split()} & HEAVY == set()


@pytest.mark.parametrize("words", GROUPS, ids=lambda words: " ".join(words) or "cachezoo")
def test_a_group_lists_each_command_with_its_whole_first_paragraph(words):
    shown = " ".join(CliRunner().invoke(cli.app, [*words, "--help"]).stdout.split())
    group = WHOLE
    for word in words:
        group = group.commands[word]
    shown_commands = group.list_commands(None)
    assert shown_commands
    for name in shown_commands:
        child = group.commands[name]
        first = " ".join(child.help.split("\n\n")[0].split())
        assert first.endswith(".")
        assert f"{name} {first}" in shown


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_a_command_says_what_it_and_each_of_its_options_does(words):
    command = WHOLE
    for word in words:
        command = command.commands[word]
    shown = " ".join(CliRunner().invoke(cli.app, [*words, "--help"]).stdout.split())
    assert " ".join(command.help.split()) in shown
    for parameter in command.params:
        if parameter.hidden:  # answers with where it has moved
            continue
        assert parameter.help, parameter.name
        assert " ".join(parameter.help.split()) in shown, parameter.name


@pytest.mark.parametrize(
    ("typed", "completed"),
    [("rec", ["recommend"]), ("trace inf", ["info"]), ("compare --si", ["--size"])],
)
def test_a_shell_completes_commands_and_options_and_imports_next_to_nothing_for_it(typed, completed):
    words = ["cachezoo", *typed.split(" ")]
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "from cachezoo import cli; cli.main()"],
        env={
            "PYTHONPATH": str(ROOT / "src"), "_CACHEZOO_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words),
            "COMP_CWORD": str(len(words) - 1),
        },
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.stdout.split() == completed
    imported = {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert "cachezoo" in imported and imported & HEAVY <= {"pydantic"}  # which typer asks what an option takes


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_asks_the_command_line_itself(shell, monkeypatch):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")  # else it is of the shell that runs tests
    script = CliRunner().invoke(cli.app, ["--show-completion", shell], prog_name="cachezoo").stdout
    assert f"_CACHEZOO_COMPLETE=complete_{shell}" in script
