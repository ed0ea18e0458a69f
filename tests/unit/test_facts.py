"""README.md and docs/ say what the code and the metrics say, and state no other count or result."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.facts import (
    BLOCKS,
    COMMAND,
    FOR,
    IMAGES,
    PLOTS,
    Facts,
    admitted,
    draw,
    filled,
    findings,
    losing,
    wins_and_losses,
)
from scripts.pictures import EXAMPLES, page_of

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"<!-- (?P<name>\S+) -->\n.*?<!-- end of (?P=name) -->\n", re.DOTALL)
CODE = re.compile(r"^```.*?^```$|`[^`]*`", re.DOTALL | re.MULTILINE)
HEADING_OR_TARGET = re.compile(r"^#.*$|\]\([^)]*\)", re.MULTILINE)
NUMBER = re.compile(r"(?<![\w-])\d")  # S3-FIFO and L2ARC are names
STALE = f"run `{COMMAND}` and commit what it changes"


@pytest.fixture(scope="module")
def facts():
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return Facts()


def by_hand(page):
    return BLOCK.sub("", (ROOT / page).read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", BLOCKS)
def test_blocks_say_what_code_and_metrics_say(page, facts, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = Path(page).read_text(encoding="utf-8")
    assert filled(page, text, facts) == text, f"{page}: {STALE}"


def test_plots_show_what_the_metrics_say(facts, tmp_path):
    draw(facts, tmp_path)
    for name in PLOTS:
        assert (tmp_path / name).read_bytes() == (ROOT / IMAGES / name).read_bytes(), f"{IMAGES / name}: {STALE}"


@pytest.mark.parametrize("page", ["README.md", "docs/results.md"])
def test_no_number_is_written_by_hand(page):
    text = HEADING_OR_TARGET.sub("", CODE.sub("", by_hand(page)))
    found = [line for line in text.splitlines() if NUMBER.search(line)]
    assert not found, "a count or result belongs into a block of scripts/facts.py:\n" + "\n".join(found)


def test_a_page_has_no_block_but_its_own():
    for page, own in BLOCKS.items():
        shown = [one.block for name, one in EXAMPLES.items() if page_of(name) == ROOT / page]
        found = [match["name"] for match in BLOCK.finditer((ROOT / page).read_text(encoding="utf-8"))]
        assert found == [*shown, *own]


def test_each_test_trace_is_a_win_or_a_loss(facts):
    text = wins_and_losses(facts)
    won, lost = text.split("**Losses.**")
    flash = {one.trace for one in facts.run.flash_saved()}
    pages = {one.trace for one in facts.run.page_rows() if one.row.policy.startswith(("caching.", "reuse."))}
    assert flash and pages
    for trace in flash | pages:
        times = (trace in flash) + (trace in pages)
        assert len(re.findall(rf"\b{trace}\b", won + lost)) == times, trace


def test_without_a_promoted_model_nothing_is_won(facts):
    pages = [
        one.model_copy(update={"models": {name: model.model_copy(update={"promoted": False})
                                          for name, model in one.models.items()}})
        for one in facts.run.pages
    ]  # fmt: skip
    other = Facts(replace(facts.run, pages=pages, flashes=[]))
    won, lost = wins_and_losses(other).split("**Losses.**")
    assert won.count("no test trace") == 2
    assert "web_test" in lost


def test_there_are_four_findings_of_one_line_and_none_needs_a_loss(facts):
    assert [line.startswith("- **") for line in findings(facts).splitlines()] == [True] * 4
    assert " not promoted, including all for " in losing(facts)
    kept = Facts(replace(facts.run, systems={}, by_category={}))
    assert "including" not in losing(kept)
    assert "On the short traces" not in losing(Facts(replace(facts.run, pages=[])))


def test_every_kind_of_model_has_words(facts):
    assert {one.model.partition(".")[0] for one in facts.run.bundles()} <= FOR.keys()


def test_savings_are_those_of_promoted_admissions(facts):
    kept = [one for one in facts.run.flashes if one.promoted]
    left = [one for one in facts.run.flashes if not one.promoted]
    assert kept
    assert left
    assert admitted(Facts(replace(facts.run, flashes=left))).count("on 0 of 0 test traces") == 1
    own = sum(len(one.traces) for one in kept)
    assert f" of {own} test traces" in admitted(facts)
    assert "Not promoted" not in admitted(Facts(replace(facts.run, flashes=kept)))
    lost = wins_and_losses(facts).partition("**Losses.**")[2]
    assert all(trace in lost for one in left for trace in one.traces)
