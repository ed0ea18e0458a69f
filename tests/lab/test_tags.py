import pytest

from lab.rcrnn.tags import draw, table, tag_rows, tag_table
from tests.lab.figures_data import FIGURES, MODEL_ID, category, cells, tag_row

GOLDEN = """\
trace | asked | cached: right | commoner tag | balanced | MCC | queue: right | commonest queue | Eq. 4 less 1
one | 200 | 90.0 % | 60.0 % | 85.0 % | 0.70 | 80.0 % | 50.0 % | 140.0 %
two | 200 | 60.0 % | 60.0 % | 85.0 % | 0.70 | 50.0 % | 50.0 % | 0.0 %
none | 200 | - | 60.0 % | 85.0 % | 0.70 | 80.0 % | 50.0 % | -"""


def test_rows_are_those_of_the_metrics_and_eq_4_is_their_ratio():
    (row,) = tag_rows(category(), MODEL_ID)
    assert (row.trace, row.model, row.asked) == ("web_test", MODEL_ID, 200)
    assert row.improvement == pytest.approx(0.9 * 0.8 / (0.6 * 0.5) - 1)
    assert (row.cached_balanced_accuracy, row.cached_mcc) == (0.85, 0.7)


@pytest.mark.parametrize("change", [{"cached_accuracy": None}, {"duration_majority": 0.0}])
def test_eq_4_is_undefined_where_a_tag_is(change):
    (row,) = tag_rows(category(**{**FIGURES, **change}), MODEL_ID)
    assert row.improvement is None


def test_claims_follow_from_the_rows():
    found = tag_table([tag_row("one", 0.9), tag_row("two", 0.6, 0.5), tag_row("none", None)], 0.1, "")
    assert [(one.ours, one.verdict) for one in found.findings] == [
        (0.6, "does not hold"), (0.5, "does not hold"), (pytest.approx(0.7), "does not hold"),
    ]  # fmt: skip
    good = tag_table([tag_row("one", 0.9)], 0.1, "")
    assert [one.verdict for one in good.findings] == ["holds"] * 3
    empty = tag_table([tag_row("none", None, None)], 0.1, "")
    assert [one.verdict for one in empty.findings] == ["not comparable"] * 3


def test_the_table_as_people_see_it(tmp_path):
    found = tag_table([tag_row("one", 0.9), tag_row("two", 0.6, 0.5), tag_row("none", None)], 0.1, "")
    assert "\n".join(" | ".join(line) for line in cells(table(found))) == GOLDEN
    draw(found, tmp_path / "a.png")
    draw(found, tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
