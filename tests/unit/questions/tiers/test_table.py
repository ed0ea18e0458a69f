"""What to buy, in words and tables."""

import json
from pathlib import Path

import pytest

from cachezoo.questions.tiers.columns import Saved, tiers_metrics
from cachezoo.questions.tiers.table import (
    advised,
    family_table,
    faster,
    goal,
    lasts,
    sizes,
    summary_table,
    tables,
    values,
)
from tests import buying_data
from tests.command_line import run
from tests.metrics_data import write

SPACE = "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("times", "verdict"),
    [
        ({"ram": 4000.0, "zoo": 2000.0}, "buy an SSD"),
        ({"ram": 2000.0, "zoo": 4000.0}, "RAM alone"),
        ({"ram": 2000.0, "zoo": 1980.0}, "cannot be told"),
    ],
)
def test_an_ssd_is_bought_where_it_surely_beats_ram_alone_for_the_same_money(times, verdict) -> None:
    (one,) = advised({"web": buying_data.metrics(times=times)})
    assert one.verdict.text == verdict and (one.row.budget, one.usd) == (0.1, 1.0)


def test_an_ssd_that_validation_chose_and_the_test_refuses_is_not_bought() -> None:
    metrics = buying_data.metrics(times={"ram": 4000.0, "zoo": 2000.0}, width=0.01)
    slow = buying_data.metrics(times={"ram": 2000.0, "zoo": 4000.0}, width=0.01)
    (one,) = advised({"web": metrics.model_copy(update={"traces": slow.traces})})
    assert one.family == "zoo" and one.verdict.text == "RAM alone"


def test_a_lead_that_is_sure_and_hardly_any_is_no_reason() -> None:
    (one,) = advised({"web": buying_data.metrics(times={"ram": 2000.0, "zoo": 1980.0}, width=0.001)})
    assert one.row.saved["ram"].interval[0] > 0 and one.verdict.text == "RAM alone"


def test_the_summary_names_what_to_buy_for_how_much_and_what_it_saves() -> None:
    metrics = {"web": buying_data.metrics(), "mail": buying_data.nothing()}
    table = summary_table(metrics)
    web, mail = table.rows
    texts = [f"{cell.text} {cell.note}".strip().replace(SPACE, " ") for cell in web]
    assert texts[:4] == [
        "web web_test", "buy an SSD", "3 MiB RAM + 48 MiB SSD arc | s3fifo", "$1.00 10.0 %",
    ]  # fmt: skip
    assert texts[4] == "1.80 ms [1.71 ms, 1.89 ms]"
    assert texts[5] == "1.50 ms"
    assert texts[6:9] == ["50.0 % [45.0, 55.0]", "20.0 % [15.0, 25.0]", "33.3 % [28.3, 38.3]"]
    assert texts[9:] == ["183 days", "$0.013"]
    assert [cell.text for cell in mail[:2]] == ["mail", "cannot be told"] and len(mail) == len(table.columns)
    assert mail[1].note == "it has no validation trace that reads"


def test_every_family_stands_at_every_budget_the_fastest_first() -> None:
    metrics = buying_data.metrics()
    table = family_table(metrics, "web_test", metrics.traces["web_test"])
    assert [row[1].text for row in table.rows] == 2 * ["any policies", "HCA", "ZFS's L2ARC", "RAM alone"]
    assert [row[1].note for row in table.rows] == 2 * ["best on validation", "", "", ""]
    assert table.rows[1][2].note == "3.1 MiB RAM + 48 MiB SSD"  # the buffer is RAM
    assert table.rows[3][11].text == "\N{EN DASH}"
    assert {len(row) for row in table.rows} == {len(table.columns)}


def test_no_time_is_below_0_and_no_more_than_all_of_it_is_saved() -> None:
    own = buying_data.row(0.1, "zoo", buying_data.TIMES, width=0.6).model_copy(update={"amat_interval": (-900.0, 5e3)})
    metrics = buying_data.metrics()
    trace = metrics.traces["web_test"].model_copy(update={"rows": [own]})
    (row,) = summary_table({"web": metrics.model_copy(update={"traces": {"web_test": trace}})}).rows
    assert row[4].note.replace(SPACE, " ") == "[0.0 µs, 5.00 ms]"
    assert row[6].note == "[\N{MINUS SIGN}10.0, 100.0]"
    saved = faster(Saved(share=0.5, interval=(-0.1, 1.2), alone_share=0.1)).replace(SPACE, " ")
    assert saved == "50.0 % shorter [\N{MINUS SIGN}10.0, 100.0] than"


def test_a_family_is_not_compared_with_itself() -> None:
    (row,) = summary_table({"web": buying_data.metrics(times={"ram": 4000.0, "hca": 2000.0})}).rows
    assert [cell.text.replace(SPACE, " ") for cell in row[6:9]] == ["50.0 %", "itself", "\N{EN DASH}"]


def test_the_goal_is_the_median_of_budgets_and_traces() -> None:
    metrics = {"web": buying_data.metrics(), "mail": buying_data.metrics("mail", ("mail_test",))}
    said = goal(metrics).replace(SPACE, " ")
    assert "20.0 % shorter than with HCA (surely shorter in 4 of 4; 40.0 % shorter if nothing waited)" in said
    assert "33.3 % shorter than with ZFS's L2ARC" in said
    slower = {"zoo": 2500.0, "hca": 2000.0, "ram": 4000.0}
    assert "25.0 % longer than with HCA (surely shorter in 0 of 2; 40.0 % shorter if nothing waited)" in goal(
        {"web": buying_data.metrics(times=slower)}
    ).replace(SPACE, " ")
    assert goal({}) == goal({"mail": buying_data.nothing()}) == ""


def test_a_time_is_shorter_or_longer_with_its_interval_the_right_way_round() -> None:
    shorter = faster(Saved(share=0.12, interval=(0.1, 0.14), alone_share=0.1)).replace(SPACE, " ")
    assert shorter == "12.0 % shorter [10.0, 14.0] than"
    longer = faster(Saved(share=-0.12, interval=(-0.2, 0.05), alone_share=0.1)).replace(SPACE, " ")
    assert longer == "12.0 % longer [\N{MINUS SIGN}5.0, 20.0] than"


@pytest.mark.parametrize(
    ("years", "ssd", "written", "said"),
    [
        (2.5, 1, 1, "2.5 years"),
        (0.01, 1, 1, "3.7 days"),
        (0.5, 1, 1, "183 days"),
        (0.0001, 1, 1, "less than an hour"),
        (None, 1, 0, "nothing wears the SSD"),
        (None, 1, 1, ""),
        (None, 0, 0, ""),
    ],
)
def test_a_lifetime_is_in_years_or_in_days_or_not_known(years, ssd, written, said) -> None:
    row = buying_data.metrics().traces["web_test"].rows[-1]
    changed = {"ssd_years": years, "ssd_bytes": ssd, "ssd_writes": written}
    assert lasts(row.model_copy(update=changed)).replace(SPACE, " ") == said


def test_ram_alone_has_no_ssd_in_its_size() -> None:
    assert sizes(buying_data.chosen("ram", 1.0)) == "5 MiB RAM"


def test_json_values_hold_choices_and_rows() -> None:
    found = values({"web": buying_data.metrics(), "mail": buying_data.nothing()})
    assert len(found["choices"]) == len(found["rows"]) == 8 and len(found["advised"]) == 1
    assert sum(one["best"] for one in found["choices"]) == 2
    assert found["advised"][0]["verdict"] == "buy an SSD" and found["advised"][0]["hierarchy"] == "arc | s3fifo"
    json.dumps(found, allow_nan=False)


def test_results_show_what_to_buy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write(tiers_metrics("web"), buying_data.metrics())
    write(tiers_metrics("mail"), buying_data.nothing())
    shown = run("models", "results", "-v").stdout
    assert "What to buy, and what it does on test traces" in shown and "web: the same money on web_test" in shown
    assert "shorter than with HCA" in shown
    assert "web_test" not in run("models", "results", "--category", "mail").stdout
    told = json.loads(run("models", "results", "--json").stdout)["tiers"]
    assert [one["trace"] for one in told["advised"]] == ["web_test"]
    run("models", "results", "-o", "all.csv")
    lines = (tmp_path / "all.csv").read_text().splitlines()
    assert len(lines) == 9 and lines[1].startswith("web,web_test,tiers,lirs")
    assert "saved_hca_interval_low" in lines[0]


def test_nothing_measured_shows_no_table() -> None:
    assert tables({}) == []
