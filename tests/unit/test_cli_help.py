"""Help is whole, and shown without the libraries that only commands need."""

import gzip
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import typer.main
from typer.testing import CliRunner

from cachezoo import cli
from scripts.command_line import helps
from tests.command_line import run

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
HELPS = [*helps()]
EXAMPLES = [example for own in HELPS for example in own.examples]
MOST_WORDS = 5700  # of all help; `python -m scripts.command_line` prints them
# Examples that need a device, a key, a project, or bundles of one.
ELSEWHERE = (
    "demo",
    "serve",
    "models",
    "trace add",
    "trace capture",
    "device prepare",
    "device replay",
    "device calibrate",
)


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


@cache
def help_of(*words: str) -> str:
    return " ".join(CliRunner().invoke(cli.app, [*words, "--help"]).stdout.split())


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_a_command_says_what_it_and_each_of_its_options_does(words):
    command = WHOLE
    for word in words:
        command = command.commands[word]
    shown = help_of(*words)
    assert " ".join(command.help.split()) in shown
    for parameter in command.params:
        if parameter.hidden:  # answers with where it has moved
            continue
        assert parameter.help, parameter.name
        said, name = " ".join(parameter.help.split()), parameter.opts[0]
        if said in shown:
            continue
        there = parameter.rich_help_panel or ""  # explained in the help of another command
        if parameter.param_type_name == "argument":
            said = name = parameter.metavar
        assert re.search(rf"As in {there}: [^:]*{re.escape(name)}[,.]", shown), name
        assert said in help_of(*there.split()), name


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


def test_help_stays_short():
    assert sum(own.words for own in helps()) <= MOST_WORDS


def test_each_command_has_one_or_two_examples_of_itself():
    lists = [own for own in helps() if "\nCommands:\n" in own.text or own.command in ("cachezoo", "cachezoo models")]
    for own in helps():
        command = own.command.replace(" --for SYSTEM", "")
        if own in lists and not own.examples:
            continue
        assert 1 <= len(own.examples) <= 3, own.command
        assert all(example.startswith(command) for example in own.examples), own.command


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_understood(example):
    called, root = [], typer.main.get_command(cli.app)

    def answer(command):
        command.callback = lambda **given: called.append(given)
        for child in getattr(command, "commands", {}).values():
            answer(child)

    answer(root)
    root.main(shlex.split(example)[1:], standalone_mode=False)
    assert called


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that the examples name, of a load that is mostly writes."""
    made = tmp_path_factory.mktemp("examples")
    rng = np.random.default_rng(7)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        for name in ("a", "b", "web", "mail", "mon", "tue"):
            pages = np.where(
                rng.random(120_000) < 0.5, rng.integers(0, 40_000, 120_000), rng.integers(0, 4_000, 120_000)
            )
            text = "time_us,op,offset,size,latency_us,volume\n" + "".join(
                f"{k * 300},{'W' if k % 3 else 'R'},{4096 * int(page)},4096,200,v0\n" for k, page in enumerate(pages)
            )
            (made / f"{name}.csv").write_text(text)
            (made / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))
            run("trace", "ingest", f"{name}.csv", "-o", f"{name}.parquet", "--id", name)
        run("trace", "ingest", "a.csv", "-o", "trace.parquet")
        run("trace", "merge", "web.parquet", "mail.parquet", "-o", "mixture.parquet")
        (made / "any.csv").write_text("ts,lba,len,rw\n" + "".join(f"{k},{8 * (k % 97)},4096,R\n" for k in range(500)))
    return made


@pytest.mark.slow(seconds=120)
@pytest.mark.parametrize(
    "example", [own for own in EXAMPLES if not own.removeprefix("cachezoo ").startswith(ELSEWHERE)]
)
def test_an_example_runs(example, folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert run(*shlex.split(example)[1:]).returncode == 0
