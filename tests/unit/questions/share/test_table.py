"""Share or split, in words and tables."""

import json
from pathlib import Path

import pytest

from cachezoo.questions.share.columns import Saved, share_metrics
from cachezoo.questions.share.table import (
    as_published,
    cases,
    count_table,
    counted,
    fewer,
    goal,
    mix_table,
    sentences,
    summary_table,
    tables,
    values,
    verdict_of,
)
from tests import split_data
from tests.command_line import run
from tests.metrics_data import write

SPACE = "\N{NO-BREAK SPACE}"
SPLIT, SHARED = {"gvpa_cost": 0.4, "shared": 0.5, "equal": 0.6}, {"gvpa_cost": 0.5, "shared": 0.4, "equal": 0.6}


@pytest.mark.parametrize(
    ("read", "advised", "rival", "width", "verdict"),
    [
        (SPLIT, "gvpa_cost", "shared", 0.03, "split"),
        (SHARED, "shared", "gvpa_cost", 0.03, "share"),
        (SHARED, "gvpa_cost", "shared", 0.03, "share"),  # the test says the other thing
        (SPLIT, "shared", "gvpa_cost", 0.03, "split"),
        (SPLIT, "gvpa_cost", "shared", 0.5, "cannot be told"),
        (SPLIT, "gvpa_cost", None, 0.03, "cannot be told"),
        ({**SPLIT, "shared": 0.4004}, "gvpa_cost", "shared", 0.005, "no matter"),
        ({**SPLIT, "shared": 0.4004}, "gvpa_cost", "shared", 0.05, "cannot be told"),
        ({**SPLIT, "shared": 0.402}, "gvpa_cost", "shared", 0.0001, "no matter"),  # sure, and hardly any
    ],
)
def test_what_surely_reads_less_is_said(read, advised, rival, width, verdict) -> None:
    found = cases(split_data.metrics(read, advised, rival, width), ("all",))
    assert len(found) == 2 and {case.verdict for case in found} == {verdict} == {verdict_of(found)}


def test_sizes_that_say_different_things_have_no_common_verdict() -> None:
    one, two = (cases(split_data.metrics(read), ("all",)) for read in (SPLIT, SHARED))
    assert verdict_of([one[0], two[1]]) == "cannot be told" == verdict_of([])
    assert verdict_of([one[0], one[1], two[1]]) == "split"


def test_the_answer_names_the_way_and_what_it_reads() -> None:
    said = goal(split_data.metrics()).replace(SPACE, " ")
    assert said == (
        "Split the cache: validation chose G-VPA with costs. In the median of 2 sizes it reads from the disk 16.7 % "
        "fewer pages than one LRU for all (surely in 2 of 2; +10.0 points of hit ratio), 11.1 % fewer pages than one "
        "cache, newer policies (surely in 2 of 2; +7.0 points of hit ratio), 20.0 % fewer pages "
        "than equal parts (surely in 2 of 2; +12.0 points of hit ratio) and 2.6 % more pages than the best fixed split "
        "(surely in 0 of 2; +1.0 points of hit ratio)."
    )
    assert goal(split_data.metrics(SHARED)).startswith("Share the cache, though validation said to split: validation")
    assert goal(split_data.metrics(SPLIT, width=0.5)).startswith("Whether to share the cache or to split it cannot be")
    near = {**SPLIT, "shared": 0.4004}
    assert goal(split_data.metrics(near, width=0.005)).startswith("It does not matter whether the cache is shared or")


def test_what_saves_too_little_changes_nothing() -> None:
    little = {**split_data.READ, "shared_lru": 0.404}
    said = goal(split_data.metrics(little, width=0.001)).replace(SPACE, " ")
    assert said.startswith(
        'Keep one LRU for all if you run it: validation chose "G-VPA with costs", which surely reads fewer pages from '
        'the disk, and at least 2 % fewer, in only 0 of 2 sizes of the mix "all". In the median'
    )


def test_an_answer_that_depends_on_the_size_says_so() -> None:
    one, two = split_data.metrics(SPLIT), split_data.metrics(SHARED)
    rows = [row for row in one.mixes["all"].rows if row.size == 0.05]
    rows += [row for row in two.mixes["all"].rows if row.size == 0.1]
    mixed = one.model_copy(update={"mixes": {"all": one.mixes["all"].model_copy(update={"rows": rows})}})
    said = goal(mixed).replace(SPACE, " ")
    assert said.startswith(
        "It depends on the size of the cache (split at 5 % and share at 10 % of the data): validation"
    )


def test_how_often_the_choice_holds_and_what_published_hits_cost() -> None:
    metrics = split_data.metrics()
    assert counted(metrics).replace(SPACE, " ") == (
        "Of 4 test mixes and sizes G-VPA with costs reads least of all families in 4; it is within 5 % of the best "
        "fixed split's pages in 4, and above those of equal parts in 1 (surely in 0)."
    )
    assert as_published(metrics).replace(SPACE, " ") == (
        "G-VPA as published reads, in the median of all mixes and sizes, 10.0 % more pages than equal parts (surely in "
        "4 of 4; +20.0 points of hit ratio)."
    )
    assert sentences(metrics) == [goal(metrics), counted(metrics), as_published(metrics)]
    assert sentences(None) == sentences(split_data.nothing()) == []


def test_fewer_pages_or_more_with_the_interval_the_right_way_round() -> None:
    own = {"hits": 0.0, "hits_interval": (0.0, 0.0)}
    assert (
        fewer(Saved(transfers=0.12, interval=(0.1, 0.14), **own)).replace(SPACE, " ")
        == "12.0 % fewer [10.0, 14.0] than"
    )
    more = fewer(Saved(transfers=-0.12, interval=(-0.2, 0.05), **own)).replace(SPACE, " ")
    assert more == "12.0 % more [\N{MINUS SIGN}5.0, 20.0] than"


def test_the_summary_has_pages_read_beside_each_hit_ratio() -> None:
    metrics = split_data.metrics()
    table = summary_table(metrics)
    titles = [column.title for column in table.columns]
    assert titles.index("hit ratio") == titles.index("read") + 1
    assert [(row[0].text, row[1].text.replace(SPACE, " "), row[2].text) for row in table.rows] == [
        ("all", "5 %", "split"), ("all", "10 %", "split"),
    ]  # fmt: skip
    first = table.rows[0]
    assert first[3].note == "gvpa_cost(q=500)" and first[4].text == "0.400" and first[4].note == "[0.380, 0.420]"
    assert [cell.text.replace(SPACE, " ") for cell in first[6:10]] == [
        "16.7 %",
        "11.1 %",
        "20.0 %",
        "\N{MINUS SIGN}2.6 %",
    ]
    assert first[-1].text == "1.25" and first[-1].note == "web_test"
    assert all(len(row) == len(titles) for row in table.rows)


def test_what_the_test_refutes_stands_against_validation() -> None:
    first = summary_table(split_data.metrics(SHARED)).rows[0]
    assert (first[2].text, first[2].note, first[2].tone) == ("share", "against validation", "bad")
    agreed = summary_table(split_data.metrics(SPLIT)).rows[0]
    assert (agreed[2].text, agreed[2].note, agreed[2].tone) == ("split", "", "good")


def test_where_nothing_was_measured_the_reason_stands() -> None:
    (row,) = summary_table(split_data.nothing()).rows
    assert row[2].text == "cannot be told" and row[2].note == "there is one page category with a validation trace"
    assert [table.caption for table in tables(split_data.nothing())] == [summary_table(split_data.nothing()).caption]
    assert tables(None) == []


def test_every_family_stands_at_every_size_those_that_read_least_first() -> None:
    metrics = split_data.metrics()
    table = mix_table(metrics, "all", metrics.mixes["all"])
    assert [row[1].text for row in table.rows[:3]] == [
        "the best fixed split",
        "G-VPA with costs",
        "one cache, newer policies",
    ]
    assert [row[1].note for row in table.rows[:3]] == ["knows the future", "advised", ""]
    assert len(table.rows) == 12 and {len(row) for row in table.rows} == {len(table.columns)}
    assert all(isinstance(row[3].value, float) and isinstance(row[5].value, float) for row in table.rows)


def test_counts_name_those_surely_worse_than_equal_parts() -> None:
    rows = {row[0].text: row for row in count_table(split_data.metrics()).rows}
    assert rows["G-VPA with costs"][5].note == "surely 0" and rows["equal parts"][6].text == "\N{EN DASH}"
    assert rows["G-VPA as published"][6].text.replace(SPACE, " ") == "\N{MINUS SIGN}10.0 %"


def test_json_values_hold_advice_choices_counts_and_rows() -> None:
    found = values(split_data.metrics())
    assert {name: len(own) for name, own in found.items()} == {"advised": 4, "choices": 10, "counts": 5, "rows": 24}
    assert found["advised"][0]["verdict"] == "split" and found["advised"][0]["partitioner"] == "gvpa_cost(q=500)"
    json.dumps(found, allow_nan=False)
    assert set(values(None)) == set(found)


def test_results_show_whether_to_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write(share_metrics(), split_data.metrics())
    shown = run("models", "results", "-v").stdout
    assert "Share or split: the choice of validation on test mixes" in shown and "all: every way to share" in shown
    assert "Split the cache: validation chose G-VPA with costs." in shown
    told = json.loads(run("models", "results", "--json").stdout)["share"]
    assert [one["mix"] for one in told["advised"]] == ["all", "all", "mail+web", "mail+web"]
    run("models", "results", "-o", "all.csv")
    lines = (tmp_path / "all.csv").read_text().splitlines()
    assert len(lines) == 25 and "saved_equal_interval_low" in lines[0] and ",shared,equal(q=500)" in lines[1]
    assert "apps_web_test_slowdown" in lines[0]
