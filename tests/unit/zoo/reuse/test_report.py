from pathlib import Path
from typing import Any

import pytest

from cachezoo.models.measured import Measured, Model
from cachezoo.show.plots import CARRIED
from cachezoo.show.style import settings
from cachezoo.zoo.registry import SYSTEMS
from cachezoo.zoo.reuse.metrics import CHOSEN, DEFAULTS, OPTIMAL, PLACES, SETTINGS, ReuseMetrics, group_text, reductions
from cachezoo.zoo.reuse.report import PART, advice, carried_figure, group_table, ordered, tables, trace_table, values
from tests.metrics_data import BEST, FRACTIONS, reuse_joined, reuse_metrics, reuse_row, reuse_trace, workload_metrics
from tests.report_data import trained

MODEL = "reuse.follow"
METRICS = reuse_metrics(MODEL)


def with_traces(**traces: object) -> ReuseMetrics:
    return METRICS.model_copy(update={"traces": traces})


def test_a_group_is_of_its_streams_at_one_capacity() -> None:
    home = METRICS.group("home", 0.1)
    assert (home.traces, home.leading, home.above_floor, home.rivals) == (3, 3, 3, 216)
    assert (home.lead_points, home.lowest_points, home.worth) == (pytest.approx(2.7), pytest.approx(0.1), True)
    assert (home.gap_closed, home.lowest_gap_closed, home.highest_gap_closed) == pytest.approx((0.2, 0.15, 0.25))
    assert home.sd_points == pytest.approx(0.1 * 10**0.5) and home.writes_ratio == pytest.approx(0.9)
    program = METRICS.group("program", 0.1)
    assert (program.traces, program.leading, program.above_floor) == (3, 1, 1)
    assert (program.gap_closed, program.gap_closed_of_all, program.worth) == (pytest.approx(-0.1),) * 2 + (False,)
    assert program.lowest_points == pytest.approx(-4)
    assert METRICS.group("home", 0.3) is None
    assert [(group.where, group.capacity_fraction) for group in METRICS.groups()] == [
        (where, fraction) for where in PLACES for fraction in FRACTIONS
    ]


def test_streams_without_a_gap_or_writes_are_no_ground_for_a_median() -> None:
    narrow = reuse_trace(MODEL, "home", 0.001, gap_wide=0.01, seeds=1)
    rows = [row.model_copy(update={"rival_ssd_writes": 0}) for row in narrow.rows]
    group = with_traces(narrow=narrow.model_copy(update={"rows": rows})).group("home", 0.1)
    assert group.gap_closed is group.gap_closed_of_all is group.writes_ratio is group.sd_points is None


def test_misses_saved_are_those_of_lru_less_ones_own_over_them() -> None:
    rows = [
        reuse_row(MODEL, 0.1, lead).model_copy(
            update={"hit_ratios": {"lru": 0.5, "arc": arc}, "rival_hit_ratio": 0.55, "best_classic_hit_ratio": 0.55}
        )
        for lead, arc in ((0.4, 0.6), (0.2, 0.4))
    ]
    found = {one.name: one for one in reductions(rows)}
    own, arc = found[MODEL], found["arc"]
    assert [one.name for one in reductions(rows)] == [MODEL, CHOSEN, "arc", DEFAULTS, OPTIMAL, SETTINGS]
    assert (own.mean, own.worst, own.median) == (pytest.approx(0.2), pytest.approx(0.0), pytest.approx(0.2))
    assert (own.tenth, own.ninetieth) == (pytest.approx(0.04), pytest.approx(0.36))
    assert (arc.mean, arc.worst) == (pytest.approx(0.0), pytest.approx(-0.2))
    assert [one.first for one in found.values()] == [1, 1, 0, None, None, None]


def test_the_table_of_misses_has_all_capacities() -> None:
    (first, *_) = tables(METRICS)
    assert [row[0].text for row in first.rows] == [one.name for one in METRICS.reductions()]
    assert [column.title for column in first.columns[-2:]] == [
        "mean at 5\N{NO-BREAK SPACE}%",
        "mean at 20\N{NO-BREAK SPACE}%",
    ]
    assert values(METRICS)["reductions"][0]["name"] == first.rows[0][0].text


@pytest.mark.parametrize(
    ("lead", "other", "promoted", "text"),
    [
        (0.02, 0.03, True, "yes"),
        (0.02, -0.001, True, "yes"),
        (0.05, -0.02, True, "not on 1 of 2"),
        (0.01, -0.01, True, "don't"),
        (-0.02, 0.01, True, "don't"),
        (0.02, 0.03, False, "don't"),
    ],
)
def test_it_says_don_t(lead: float, other: float, promoted: bool, text: str) -> None:
    metrics = with_traces(a=reuse_trace(MODEL, "program", lead), b=reuse_trace(MODEL, "program", other))
    group = metrics.group("program", 0.1)
    assert advice(group, promoted).text == text
    assert ("Don't use it there" in group_text(group)) == (lead + other <= 0)


def test_an_unpromoted_model_is_don_t_everywhere() -> None:
    refused = reuse_metrics(MODEL, promoted=False)
    assert {row[3].text for row in group_table(refused).rows} == {"don't"}
    assert {group["use"] for group in values(refused)["groups"]} == {"don't"}


def test_the_summary_has_each_place_and_the_lowest_lead() -> None:
    said = METRICS.summary().replace("\N{NO-BREAK SPACE}", " ")
    assert said.startswith("Over 8 test streams, captures of programs under benchmark loads, with a cache of 10 % of ")
    assert "leads its rival by +2.7 points of hit ratio in the mean of 3 test streams, at worst by +0.1 points" in said
    assert said.count("Don't use it there") == 1
    assert with_traces().summary() == ""


def test_headlines_are_those_of_the_record() -> None:
    found = METRICS.headline(MODEL)
    assert set(found) == set(SYSTEMS["reuse"].headline)
    assert found["hit_ratio"] == pytest.approx(0.3 + sum((0.05, 0.03, 0.001, 0.02, -0.004, -0.02, -0.04, 0.01)) / 8)
    assert found["gap_closed"] == pytest.approx((0.25 + 0.15 + 0.1 - 0.02 - 0.1 - 0.2 + 0.05) / 7)
    assert found["setup_gap_closed"] == pytest.approx(0.04) and found["setup_lead_points"] == pytest.approx(0.8)
    assert METRICS.headline("reuse.other") == {} == with_traces().headline(MODEL)
    assert "program_gap_closed" not in with_traces(a=METRICS.traces["web_test"]).headline(MODEL)


def test_streams_come_by_place_and_lead() -> None:
    keys = [key for key, _ in ordered(METRICS)]
    assert keys[:3] == ["web_test", "mail_test", "narrow_test"] and keys[3:5] == ["web_wide", "web_slow"]
    assert keys[5:] == ["redis_test", "lighttpd_test", "mariadb_test"]
    assert [row[0].text for row in trace_table(METRICS).rows] == keys
    assert tables(with_traces()) == []


CHANGED = METRICS.model_copy(
    update={
        "changes": [
            reuse_joined(MODEL, "turns", [0.03, -0.012]),
            reuse_joined(MODEL, "drift", [-0.03]),
            reuse_joined(MODEL, "other", [0.0], lru=BEST + 0.02),
        ]
    }
)


def test_the_floor_after_changes_of_workload() -> None:
    assert [one.above_floor for one in CHANGED.changes] == [True, False, False]
    said = CHANGED.summary().removeprefix(METRICS.summary()).replace("\N{NO-BREAK SPACE}", " ")
    assert said == (
        " Where the workload changes, the floor is kept on 1 of 3 joined streams; it is missed on web_test → mail_test "
        "(3.0 points below the rival) and web_test → mail_test (2.0 points below LRU)."
    )
    kept = METRICS.model_copy(update={"changes": CHANGED.changes[:1]})
    assert kept.summary().endswith("the floor is kept on 1 of 1 joined streams.")


def test_each_change_has_a_row() -> None:
    *_, table = tables(CHANGED)
    assert table.caption.startswith("Each change of workload, with a cache of 10")
    kinds, froms, tos, *_, leads, over_lru, in_hindsight, early, above = zip(*table.rows, strict=True)
    assert [cell.text for cell in kinds] == ["back and forth", "back and forth", "slow drift", "other pages"]
    assert [cell.text for cell in froms] == ["web_test", "mail_test", "web_test", "web_test"]
    assert [cell.text for cell in tos] == ["mail_test", "web_test", "mail_test", "mail_test"]
    assert [cell.value for cell in leads] == pytest.approx([3, -1.2, -3, 0])
    assert [cell.value for cell in over_lru] == pytest.approx([13, 8.8, 7, -2])
    assert [cell.value for cell in in_hindsight] == pytest.approx([2, -2.2, -4, -1])
    assert (early[0].value, early[0].note) == (pytest.approx(4), "+15.0")
    assert [cell.text for cell in above] == ["yes", "yes", "no", "no"]
    assert [cell.note for cell in above[2:]] == ["below the rival", "below LRU"]
    assert [one["above_floor"] for one in values(CHANGED)["changes"]] == [True, False, False]
    assert tables(METRICS) == tables(CHANGED)[:-1] and values(METRICS)["changes"] == []


def sources(metrics: Any, promoted: bool = True, models: bool = True) -> Measured:
    own = Model(trained(MODEL, beats=promoted), [], "a card", None, promoted, "it won" if promoted else "it lost")
    return Measured(models=[own] if models else [], overall={"reuse": metrics} if metrics else {})


def test_the_answer_says_don_t_where_it_has_to() -> None:
    said = PART.answer(sources(reuse_metrics(MODEL)))
    assert said.startswith(f"One page cache for every workload is {MODEL}") and "On validation: it won." in said
    assert said.count("Don't use it there") == 1
    good = PART.answer(sources(reuse_metrics(MODEL, program_lead=0.02)))
    assert "Don't" not in good
    assert "but don't use it: it lost." in PART.answer(sources(reuse_metrics(MODEL, promoted=False), promoted=False))
    assert "no figures on test traces: don't use it" in PART.answer(sources(None))
    assert "No cache for every workload was trained" in PART.answer(sources(None, models=False))
    other = PART.answer(sources(workload_metrics("workload.lstm8")))
    assert "no figures" in other  # metrics of another system are none of this one


def test_the_section_names_places_without_a_trace(tmp_path: Path) -> None:
    metrics = reuse_metrics(MODEL)
    home = metrics.model_copy(update={"traces": {"web_test": metrics.traces["web_test"]}})
    section = PART.section(sources(home), {})
    assert section is not None and section.figures == []
    assert section.texts == [
        "There is no test stream of other set-ups and other programs, so nothing is known of them."
    ]
    whole = PART.section(sources(metrics), {})
    assert whole is not None and len(whole.tables) == 3 and "Don't use it there" in whole.texts[0]
    assert PART.section(sources(None), {}) is None


def draw(metrics: ReuseMetrics, folder: Path) -> Any:
    folder.mkdir(exist_ok=True)
    with settings():
        return PART.draw(sources(metrics), folder)


def test_the_plot_shows_every_stream(tmp_path: Path) -> None:
    metrics = reuse_metrics(MODEL)
    lost = metrics.model_copy(update={"traces": metrics.traces | {"lost": reuse_trace(MODEL, "program", -0.25)}})
    (figure,) = draw(lost, tmp_path / "a")
    assert (
        figure.file == CARRIED
        and "each of 9 test streams" in figure.alt
        and "+2.7\N{NO-BREAK SPACE}points home" in figure.alt
    )
    draw(lost, tmp_path / "b")
    first, again = ((tmp_path / name / CARRIED).read_bytes() for name in "ab")
    assert first == again and first.startswith(b"\x89PNG")


def test_nothing_to_draw(tmp_path: Path) -> None:
    assert draw(reuse_metrics(MODEL).model_copy(update={"traces": {}}), tmp_path) == []
    assert carried_figure(None, tmp_path) is None and not (tmp_path / CARRIED).exists()
