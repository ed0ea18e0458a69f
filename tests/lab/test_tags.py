import pytest

from lab.rcrnn.files import PAPER
from lab.rcrnn.tags import draw, table, tag_table
from tests.lab.figures_data import cells, tag_row

GOLDEN = """\
trace | size | network | asked | cached: right | commoner tag | balanced | MCC | queue: right | commonest queue | \
Eq. 4 less 1 | all: cached | all: queue | all: Eq. 4 less 1
one | 20 % | caching model | 200 | 45.0 % | 60.0 % | 85.0 % | 0.70 | 80.0 % | 50.0 % | 20.0 % | 90.0 % | 80.0 % \
| 140.0 %
one | 20 % | the paper's network | 200 | 25.0 % | 60.0 % | 85.0 % | 0.70 | 80.0 % | 50.0 % | -33.3 % | 50.0 % | 80.0 % \
| 33.3 %
none | 20 % | caching model | 200 | - | 60.0 % | 85.0 % | 0.70 | 80.0 % | 50.0 % | - | - | 80.0 % | -"""


def test_eq_4_is_the_ratio_of_both_tags_accuracies_and_undefined_where_one_is():
    row = tag_row("one", 0.9)
    assert row.improvement == pytest.approx(0.9 * 0.8 / (0.6 * 0.5) - 1)
    assert row.improvement_asked == pytest.approx(0.45 * 0.8 / (0.6 * 0.5) - 1)
    assert row.most_improvement == pytest.approx(1 / (0.6 * 0.5) - 1)
    for change in ({"all_cached_accuracy": None}, {"all_duration_majority": 0.0}):
        assert row.model_copy(update=change).improvement is None


def test_claims_follow_from_the_rows_of_each_network():
    rows = [tag_row("one", 0.9), tag_row("two", 0.6, 0.5), tag_row("none", None), tag_row("one", 0.9, 0.8, PAPER)]
    found = tag_table([*rows, tag_row("one", 0.95, 0.9, size=0.1), tag_row("one", 0.1, size=0.05)], 0.1, "")
    assert {row.capacity_fraction for row in found.rows} == {0.1, 0.2}
    assert [(one.ours, one.own_size) for one in found.findings] == [
        (0.6, 0.95), (0.5, 0.9), (pytest.approx(0.7), pytest.approx(1.85)),
    ]  # fmt: skip
    assert {one.verdict for one in found.findings} == {"does not hold"}
    assert [one.verdict for one in found.published] == ["holds"] * 3
    assert "of those asked about 30.0" in found.findings[0].measured
    assert "tags fed back" in found.published[0].measured
    empty = tag_table([tag_row("none", None, None)], 0.1, "")
    assert [one.verdict for one in (*empty.findings, *empty.published)] == ["not comparable"] * 6


def test_the_table_as_people_see_it(tmp_path):
    found = tag_table([tag_row("one", 0.9), tag_row("one", 0.5, network=PAPER), tag_row("none", None)], 0.1, "")
    assert "\n".join(" | ".join(line) for line in cells(table(found))) == GOLDEN
    draw(found, tmp_path / "a.png")
    draw(found, tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
