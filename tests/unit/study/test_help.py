"""The examples of `cachezoo models study --help` can be typed as they stand."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from cachezoo.cli.study import SYSTEMS
from cachezoo.study.depends import Pipeline
from cachezoo.study.grid import Settings, grid
from cachezoo.study.space import corners, space
from cachezoo.study.study import studied_categories, studied_system
from cachezoo.zoo import registry
from tests.command_line import run
from tests.study_data import made_search, made_study

ROOT = Path(__file__).resolve().parents[3]


def examples() -> list[list[str]]:
    text = run("models", "study", "--help").stdout.replace("\\\n", " ")
    lines = [line.strip() for line in text.split("Examples:")[1].splitlines()]
    return [shlex.split(line) for line in lines if line.startswith("cachezoo ")]


def test_the_examples_are_understood_and_ask_for_what_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr("cachezoo.cli.study.project", lambda: ROOT)
    monkeypatch.setattr("cachezoo.study.study.study", lambda *words: asked.append(words) or made_study())
    monkeypatch.setattr("cachezoo.study.optimize.optimize", lambda *words: asked.append(words) or made_search())
    monkeypatch.chdir(tmp_path)
    for words in examples():
        run(*words[1:])
    assert len(asked) == 3 and {path.name for path in tmp_path.iterdir()} == {"web.png", "web.json"}
    settings = Settings(ROOT)
    for root, name, categories, changes, budget, *_ in asked:
        system = studied_system(name)
        (category,) = studied_categories(system, categories, settings.params)
        searched = not isinstance(budget, int)
        wanted = corners(settings, space(settings, changes, budget.trials)) if searched else grid(root, changes)
        for setting in wanted:
            Pipeline(ROOT, system).check(category, setting)
    assert [len(changes) for _, _, _, changes, *_ in asked] == [0, 2, 2]
    assert not isinstance(asked[2][4], int) and asked[2][4].trials == 20


def test_every_system_that_can_be_studied_is_named() -> None:
    able = [name for name, system in registry.SYSTEMS.items() if system.study is not None]
    assert list(SYSTEMS) == able
    shown = " ".join(run("models", "study", "--help").stdout.split())
    assert f"One of {', '.join(able)}." in shown


@pytest.mark.parametrize("option", ["--trials", "--trial-seeds"])
def test_an_option_of_a_search_without_one_is_refused(option: str) -> None:
    done = run("models", "study", "--category", "web", option, "3", ok=False)
    assert done.stderr == f"cachezoo: {option}: is of a search; add --optimize\n"
