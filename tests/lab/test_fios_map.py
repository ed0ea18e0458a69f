from types import SimpleNamespace

import numpy as np
import pytest

from cachezoo.features.fios import HIGH, choose_features
from lab.notes import fios_map
from lab.notes.fios_map import LEARNERS, OPTIONS, Drives, chosen_by, drives_of, saved, table
from tests.lab.fios_data import case

THETA = dict.fromkeys(HIGH, 1.0)
SPREAD = np.random.default_rng(3)


def drives(n=24, groups=4):
    """Drives on which F is best where the first characteristic is high, and S where it is low."""
    theta = SPREAD.normal(size=(n, 5))
    costs = np.full((n, len(OPTIONS)), 1.0) + 0.001 * np.arange(len(OPTIONS))
    costs[:, OPTIONS.index("F")] = np.where(theta[:, 0] > 0, 0.5, 1.2)
    costs[:, OPTIONS.index("S")] = np.where(theta[:, 0] > 0, 1.2, 0.5)
    return Drives(np.arange(n) % groups, theta, costs, costs)


@pytest.mark.parametrize("name", ["nearest drives", "a line an option", "trees", "validation and the mean"])
def test_a_map_that_is_there_is_learned(name, monkeypatch):
    monkeypatch.setattr(fios_map, "TREES", 10)
    monkeypatch.setitem(LEARNERS, "trees", (fios_map.forest, (2,)))
    made = drives()
    cost = made.costs[np.arange(24), chosen_by(name, made, 1)].mean()
    fixed = made.costs[np.arange(24), chosen_by("one combination for all", made, 1)].mean()
    assert cost < 0.75 < fixed


def test_the_limits_of_the_rule_are_learned(monkeypatch):
    monkeypatch.setattr(fios_map, "QUANTILES", (0.5,))
    made = drives()
    made.theta[:, 2] = made.theta[:, 0]  # of the reuse ratio, by which F is chosen
    cost = made.costs[np.arange(24), chosen_by("FIOS's rule, limits learned", made, 1)].mean()
    assert cost < 0.9, "F where it is high, and nothing elsewhere"


def test_no_learner_sees_the_category_that_it_chooses_for(monkeypatch):
    seen = []
    monkeypatch.setitem(LEARNERS, "spy", (lambda train, test, *_: seen.append((train, test)) or test.group * 0, (0,)))
    chosen_by("spy", drives(), 1)
    assert len(seen) == 4
    assert all(not set(train.group) & set(test.group) and len(set(test.group)) == 1 for train, test in seen)


@pytest.mark.parametrize("seed", range(3))
def test_the_rule_with_the_limits_of_the_product_is_the_product_s(seed):
    theta = np.random.default_rng(seed).uniform(0, 2, (50, 5)) * list(HIGH.values())
    expected = [choose_features(dict(zip(HIGH, row, strict=True)))[1] for row in theta.tolist()]
    found = [OPTIONS[place] for place in fios_map._by_rule(theta, list(HIGH.values()))]
    assert [set(one) for one in found] == [set(one) for one in expected]


def test_what_is_saved_and_how_sure_that_is():
    found = saved(np.array([0.9, 0.8, 1.0, 0.9]), np.ones(4))
    assert found.value == pytest.approx(0.1)
    assert found.interval == pytest.approx((0.1 - 2.3534 * 0.0408, 0.1 + 2.3534 * 0.0408), abs=1e-3)


def test_the_table_has_every_way_and_its_bound(monkeypatch):
    monkeypatch.setattr(fios_map, "TREES", 3)
    monkeypatch.setitem(LEARNERS, "trees", (fios_map.forest, (2,)))
    monkeypatch.setattr(fios_map, "QUANTILES", (0.5,))
    cases = [case(key, F=left).model_copy(update={"theta": THETA | {"acf": None}}) for key, left in
             [("ledger", 0.8), ("spool", 0.7), ("mail", 0.85), ("web", 0.8)]]  # fmt: skip
    assert drives_of(cases, "abcd").theta.shape == (4, 5)
    rows = {row[0].text: row for row in table(cases, "abcd", 7).rows}
    assert set(LEARNERS) < set(rows)
    assert rows["one combination for all"][1].value == rows["best combination in hindsight"][1].value
    assert rows["no streams"][1].value == 1
    assert rows["equal parts"][-1].text


def test_corpus_drives_are_of_their_category(monkeypatch):
    given = SimpleNamespace(data=SimpleNamespace(corpus={"mail": {"dovecot_a": None}}))
    monkeypatch.setattr(fios_map, "load_params", lambda: given)
    assert fios_map.groups_of([case("dovecot_a"), case("spool")]) == ["mail", "spool"]
