from statistics import stdev

import pytest

from cachezoo.errors import TrainingError
from cachezoo.zoo.workload.windows import cut_windows
from lab.rcrnn import grid_fit
from lab.rcrnn.files import OURS
from lab.rcrnn.grid import draw, grid_figure, table
from lab.rcrnn.grid_fit import grid_rows, trained_accuracy
from tests.lab.figures_data import grid
from tests.lstm_data import CLASSES, FIT, parts

RISING = {(50, 50): [0.90, 0.92], (50, 100): [0.95, 0.97], (100, 50): [0.90, 0.90], (100, 100): [0.89, 0.89]}


def verdicts(found):
    return [one.verdict for one in found.findings]


def test_claims_follow_from_the_means_and_their_spread():
    found = grid_figure(grid(RISING))
    rises, more, best = found.findings
    assert (rises.ours, rises.bound) == (0.5, 1.0)  # one of two steps is not most
    assert more.ours == pytest.approx(-0.07) and more.spread == pytest.approx(0.01)
    assert verdicts(found) == ["does not hold", "holds", "not comparable"]
    assert best.why == "4 categories here, 2 there"
    assert verdicts(found) == [one.verdict for one in found.published]
    close = grid_figure(grid({**RISING, (100, 100): [0.94, 0.98]}, categories=2))
    assert verdicts(close) == ["holds", "undecided", "does not hold"]


# Five steps of 1 point each; the seeds' spread of a mean is 0.5 points or none, and of a step 0.7 at most.
SURE, WIDE = [0.90, 0.90], [0.895, 0.905]


def steps(*rises):
    """Five numbers of units with two windows: +1 rises, -1 falls, 0 is within the spread."""
    found = {}
    for k, rise in enumerate(rises):
        base = SURE if rise else WIDE
        found[k + 1, 50] = base
        found[k + 1, 100] = [one + 0.01 * rise + (0 if rise else 0.006) for one in base]
    return grid(found)


@pytest.mark.parametrize(
    ("rises", "verdict", "ours", "open_steps"),
    [
        ((1, 1, 1, -1, -1), "holds", 0.6, 0),
        ((1, 1, 1, 0, 0), "holds", 0.6, 2),
        ((1, 1, -1, -1, -1), "does not hold", 0.4, 0),
        ((1, 1, -1, -1, 0), "undecided", 0.4, 1),
        ((1, 0, -1, -1, -1), "does not hold", 0.2, 1),
        ((0, 0, 0, 0, 0), "undecided", 0.0, 5),
    ],
)
def test_a_step_within_the_seeds_spread_is_neither_a_rise_nor_a_fall(rises, verdict, ours, open_steps):
    found = grid_figure(steps(*rises)).findings[0]
    assert (found.verdict, found.ours, found.bound) == (verdict, ours, 0.6)
    assert f"{open_steps} of 5 steps undecided" in found.measured


def test_the_spread_is_that_of_the_mean_of_all_seeds():
    own = grid({(50, 100): [0.95, 0.95], (100, 100): [0.90, 0.92, 0.94, 0.96]})
    more = grid_figure(own).findings[1]
    assert more.spread == pytest.approx(stdev([0.90, 0.92, 0.94, 0.96]) / 2)
    assert more.ours == pytest.approx(-0.02) and more.verdict == "holds"


def test_a_setting_that_is_not_there_is_not_compared():
    found = grid_figure(grid({(10, 12): [0.5, 0.6]}, categories=2))
    assert verdicts(found) == ["not comparable"] * 3


def test_the_table_has_a_line_for_each_network_and_number_of_units(tmp_path):
    found = grid_figure(grid(RISING))
    assert [[cell.text for cell in row] for row in table(found).rows] == [
        [name, *line] for name in ("ours", "the paper's")
        for line in (["50", "91.0 ± 1.4", "96.0 ± 1.4"], ["100", "90.0 ± 0.0", "89.0 ± 0.0"])
    ]  # fmt: skip
    draw(found, tmp_path / "a.png")
    draw(found, tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_each_setting_is_trained_with_each_seed(monkeypatch):
    asked = []

    def trained(train, choosing, judged, settings, seed):
        asked.append((settings.model.units, settings.model.window, len(train), train.columns.shape[1], seed))
        assert set(train.traces) == set(choosing.traces) == set(judged.traces) == {0, 1}
        return len(asked) / 100

    monkeypatch.setattr(grid_fit, "trained_accuracy", trained)
    found = grid_rows(OURS, parts(2400, 1), parts(9000, 3), FIT)
    cells = [(units, window) for window in grid_fit.WINDOWS for units in grid_fit.UNITS]
    assert [(row.units, row.window) for row in found] == cells
    assert [one[:2] for one in asked] == [cell for cell in cells for _ in range(grid_fit.SEEDS)]
    assert all(window == length for _, window, _, length, _ in asked)
    assert len({seed for *_, seed in asked}) == len(asked)
    assert {row.network for row in found} == {OURS}
    assert found[0].accuracies == [k / 100 for k in range(1, 1 + grid_fit.SEEDS)]
    assert all(row.train_windows == 2 * ((2400 - row.window) // FIT.fit.stride + 1) for row in found)


def test_a_network_is_trained_and_judged_on_windows_that_chose_nothing():
    train, settings = cut_windows(parts(2000, 1), CLASSES, 12, 5), FIT
    choosing, judged = grid_fit.halves(parts(1000, 3), 12, settings)
    assert len(choosing) + len(judged) == 2 * (1000 // 12)
    assert trained_accuracy(train, choosing, judged, settings, 4) > 0.9


def test_too_few_windows_are_refused():
    with pytest.raises(TrainingError, match=f"validation traces of {CLASSES[0]}: hold fewer than 20 windows of 50 "):
        grid_rows(OURS, parts(500, 1), parts(300, 3), FIT)
    with pytest.raises(TrainingError, match=f"no validation trace of {CLASSES[0]}"):
        grid_rows(OURS, parts(500, 1), [], FIT)
