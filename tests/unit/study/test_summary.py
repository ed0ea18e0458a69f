import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.text import Text

from cachezoo.io import dump_json
from cachezoo.study.grid import Setting
from cachezoo.study.optimize import differences
from cachezoo.study.plot import draw_study
from cachezoo.study.run import studied_system
from cachezoo.study.summary import JUDGED_HIGHER, JUDGED_LOWER, Cell, difference, spread, summary, verdict
from cachezoo.study.tables import advice, tables
from cachezoo.zoo.base import studied_of
from cachezoo.zoo.registry import SYSTEMS

TABLE = """\
web: page hit ratio on the choosing blocks of validation; 3 seeds. This alone may choose a setting.
setting | mean | standard deviation | median | 90 % interval of the mean | each seed
batch=16 (params.yaml) | 0.2000 | 0.1000 | 0.2000 | 0.0314 to 0.3686 | 0.1000 0.2000 0.3000
on_hit=[stay] (2 of 3 trained) | 0.4500 | 0.0707 | 0.4500 | 0.1343 to 0.7657 | 0.4000 0.5000
web: the setting of params.yaml, 1 of 3 promoted
figure | mean | standard deviation | median | 90 % interval of the mean | each seed
page hit ratio on the judging blocks of validation | 0.3000 | 0.1000 | 0.3000 | 0.1314 to 0.4686 | 0.2000 0.3000 0.4000
web_test: page hit ratio | 0.4000 | 0.0000 | 0.4000 | 0.4000 to 0.4000 | 0.4000 0.4000 0.4000
"""
SEARCH = """\
web: the best 3 of 4 trials, by page hit ratio on the choosing blocks of validation. The best of many owes some of its \
figure to luck: fresh seeds say below what it is worth.
trial | setting | mean of 2 | mean of 3 | 
2 | batch=4 | 0.4000 | 0.3400 | 
3 | batch=8 | 0.3000 | 0.3500 | chosen
0 | batch=1 | 0.1000 | - | 
web: page hit ratio on the choosing blocks of validation; 3 fresh seeds, which no trial had.
setting | mean | standard deviation | median | 90 % interval of the mean | each seed
params.yaml | 0.2000 | 0.1000 | 0.2000 | 0.0314 to 0.3686 | 0.1000 0.2000 0.3000
batch=8 | 0.2500 | 0.1000 | 0.2500 | 0.0814 to 0.4186 | 0.1500 0.2500 0.3500
web: the setting of params.yaml, 1 of 3 promoted
figure | mean | standard deviation | median | 90 % interval of the mean | each seed
page hit ratio on the judging blocks of validation | 0.3000 | 0.1000 | 0.3000 | 0.1314 to 0.4686 | 0.2000 0.3000 0.4000
web_test: page hit ratio | 0.4000 | 0.0000 | 0.4000 | 0.4000 to 0.4000 | 0.4000 0.4000 0.4000
web: the setting batch=8, 1 of 3 promoted
figure | mean | standard deviation | median | 90 % interval of the mean | each seed
page hit ratio on the judging blocks of validation | 0.6000 | 0.1000 | 0.6000 | 0.4314 to 0.7686 | 0.5000 0.6000 0.7000
Is it better? The same fresh seeds.
figure | chosen less params.yaml | 90 % interval | 
page hit ratio on the choosing blocks of validation | +0.0500 | 0.0500 to 0.0500 | better
page hit ratio on the judging blocks of validation | +0.3000 | 0.3000 to 0.3000 | better
"""


def judged(seed: int, whole: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"trained": True, "promoted": seed == 2, "reason": "", "choosing": 0.1 * (seed + 1)}
    return {**found, "judging": 0.1 * (seed + 2), "tests": {"web_test": 0.4}} if whole else found


def cells() -> list[Cell]:
    kept = Setting({"batch": "16"}, None, frozenset())
    other = Setting({"on_hit": "[stay]"}, None, frozenset({"fit.caching.batch"}))
    diverged = {"trained": False, "promoted": False, "reason": "no epoch's loss was finite"}
    found = [diverged, {**judged(0, False), "choosing": 0.4}, {**judged(1, False), "choosing": 0.5}]
    return [Cell("web", kept, [judged(seed, True) for seed in range(3)]), Cell("web", other, found)]


def made(found: list[Cell] | None = None) -> dict[str, Any]:
    return summary(studied_system("caching"), 7, 3, found or cells(), {"params": {"fit.caching.batch": 16}})


def search() -> dict[str, Any]:
    """A search that chose a setting with better figures by four fresh seeds."""
    kept = Setting({}, None, frozenset())
    other = Setting({"batch": "8"}, None, frozenset({"fit.caching.batch"}))
    judgings = [
        {**judged(seed, False), "choosing": 0.1 * seed + 0.15, "judging": 0.1 * seed + 0.5} for seed in range(3)
    ]
    found = made([Cell("web", kept, [judged(seed, True) for seed in range(3)]), Cell("web", other, judgings)])
    trials = [
        {"number": k, "setting": f"batch={2**k}", "set": {"batch": str(2**k)}, "mean": mean, "each": [mean, mean]}
        for k, mean in enumerate([0.1, None, 0.4, 0.3])
    ]
    said = {"trials_asked": 4, "trial_seeds": 2, "axes": [], "trials": trials, "chosen": 3}
    whole = [
        {**trials[3], "mean": 0.35, "each": [0.3, 0.3, 0.45]},
        {**trials[2], "mean": 0.34, "each": [0.4, 0.4, 0.22]},
    ]
    return {**found, "search": {**said, "kept": whole, **differences(found)}}


def shown(found: dict[str, Any]) -> list[str]:
    lines = []
    for table in tables(found):
        lines.append(str(table.title))
        texts = [[Text.from_markup(str(cell)).plain for cell in column.cells] for column in table.columns]
        columns = [[str(column.header), *cells] for column, cells in zip(table.columns, texts, strict=True)]
        lines += [" | ".join(row) for row in zip(*columns, strict=True)]
    return lines


def test_a_spread_is_that_of_the_seeds() -> None:
    values = [0.1, 0.4, 0.2, 0.2, 0.3]
    found = spread(values)
    assert found["mean"] == pytest.approx(0.24) and found["median"] == 0.2 and found["each"] == values
    assert found["sd"] == pytest.approx(np.std(values, ddof=1))
    reach = 2.131847 * np.std(values, ddof=1) / np.sqrt(5)  # Student's t at 95 %, 4 degrees of freedom, from a table
    assert (found["low"], found["high"]) == pytest.approx((0.24 - reach, 0.24 + reach), rel=1e-6)
    assert spread([])["mean"] is None


def test_few_seeds_have_a_wide_interval_and_one_has_none() -> None:
    two, one = spread([0.1, 0.2]), spread([0.5])
    assert (two["low"], two["high"]) == pytest.approx((0.15 - 0.3156876, 0.15 + 0.3156876))
    assert (one["mean"], one["sd"], one["low"], one["high"]) == (0.5, None, None, None)
    assert spread([0.4, 0.4])["low"] == 0.4


def test_intervals_hold_what_they_promise() -> None:
    drawn = np.random.default_rng(3).normal(size=(2000, 2))
    found = [spread(list(pair)) for pair in drawn]
    assert 0.88 < np.mean([own["low"] < 0 < own["high"] for own in found]) < 0.92


def test_what_judges_is_said_of_the_setting_of_params_yaml_alone() -> None:
    found = made()
    kept, other = found["categories"]["web"]
    assert kept["is_params_yaml"] and (kept["promoted"], kept["trained"]) == (1, [0, 1, 2])
    assert kept["judging"]["mean"] == pytest.approx(0.3) and kept["test"]["web_test"]["each"] == [0.4] * 3
    assert set(other) == {"setting", "set", "is_params_yaml", "trained", "choosing"}
    assert other["trained"] == [1, 2] and other["choosing"]["each"] == [0.4, 0.5]
    assert dump_json(found) == dump_json(made())


def test_the_tables() -> None:
    assert shown(made()) == TABLE.splitlines() and list(advice(made())) == []


def test_what_judges_is_said_of_a_setting_that_a_search_has_chosen_and_the_test_traces_are_not() -> None:
    kept, other = search()["categories"]["web"]
    assert len(other["judging"]["each"]) == 3 and "test" not in other and "test" in kept


def test_the_tables_of_a_search() -> None:
    assert shown(search()) == SEARCH.splitlines()


def test_a_search_advises_only_what_fresh_seeds_and_the_judging_blocks_bear_out() -> None:
    found = search()
    assert next(advice(found)).endswith("chosen setting is better, also where it is judged: batch=8")
    found["search"]["judging_difference"] |= {"mean": -0.3, "low": -0.4, "high": -0.2}
    said = "Keep params.yaml: the chosen setting is better on what chose it, but worse where it is judged."
    assert list(advice(found)) == [said]
    found["search"]["choosing_difference"] |= {"low": -0.01, "apart": False}
    assert list(advice(found)) == ["Keep params.yaml: with fresh seeds the chosen setting is not told apart."]
    found["categories"]["web"] = found["categories"]["web"][:1]
    found["search"] |= {"choosing_difference": None, "judging_difference": None}
    (said,) = advice(found)
    assert "chose the setting of params.yaml" in said and not any("chosen less" in line for line in shown(found))


def test_a_chosen_setting_that_trains_with_no_fresh_seed_is_not_advised(tmp_path: Path) -> None:
    kept, other = Setting({}, None, frozenset()), Setting({"batch": "8"}, None, frozenset({"fit.caching.batch"}))
    diverged = {"trained": False, "promoted": False, "reason": "no epoch's loss was finite"}
    judgings = [judged(seed, True) for seed in range(3)]
    own = made([Cell("web", kept, judgings, True), Cell("web", other, [diverged] * 3, True)])
    assert own["categories"]["web"][1]["judging"]["mean"] is None
    found = {**own, "search": {**search()["search"], **differences(own)}}
    said = "Keep params.yaml: too few of the fresh seeds trained both settings to compare them."
    assert list(advice(found)) == [said]
    assert "batch=8 (0 of 3 trained) | - | - | - | - | " in shown(found)
    draw_study(found, tmp_path / "search.png")


def test_of_every_system_s_verdict_it_is_known_which_way_is_better() -> None:
    names = {studied_of(system).judging for system in SYSTEMS.values() if system.study is not None}
    assert names == JUDGED_LOWER | JUDGED_HIGHER and not JUDGED_LOWER & JUDGED_HIGHER


T_4 = 2.131846786  # Student's t, 4 degrees of freedom, 95 %


def test_seeds_in_both_are_compared_in_pairs() -> None:
    first = dict(enumerate([0.1, 0.2, 0.3, 0.4, 0.5])) | {9: 5.0}
    second = dict(enumerate([0.2, 0.3, 0.5, 0.5, 0.7])) | {8: -3.0}
    found = difference(first, second)
    steps = np.asarray([0.1, 0.1, 0.2, 0.1, 0.2])
    half = T_4 * steps.std(ddof=1) / math.sqrt(5)
    assert (found["seeds"], found["paired"], found["apart"]) == (5, True, True)
    assert (found["mean"], found["low"], found["high"]) == pytest.approx((0.14, 0.14 - half, 0.14 + half))


def test_other_seeds_are_compared_by_welch() -> None:
    one, other = np.asarray([0.1, 0.5, 0.3]), np.asarray([0.2, 0.9, 0.4, 0.5])
    found = difference(dict(enumerate(one)), dict(enumerate(other, start=10)))
    parts = [values.var(ddof=1) / len(values) for values in (one, other)]
    freedom = sum(parts) ** 2 / sum(part**2 / (len(own) - 1) for part, own in zip(parts, (one, other), strict=True))
    from scipy.stats import t

    half = float(t.ppf(0.95, freedom)) * math.sqrt(sum(parts))
    assert (found["seeds"], found["paired"], found["apart"]) == (3, False, False)
    assert (found["low"], found["high"]) == pytest.approx((0.2 - half, 0.2 + half))


@pytest.mark.filterwarnings("error")
def test_values_without_a_spread_have_an_interval_of_one_point() -> None:
    step = difference({0: 0.1, 1: 0.2, 2: 0.3}, {0: 0.15, 1: 0.25, 2: 0.35})
    assert step["low"] == step["high"] == pytest.approx(0.05) and step["apart"]
    same = difference({0: 0.1, 1: 0.2}, {0: 0.1, 1: 0.2})
    assert verdict(same, False, "more", "less") == "the same" and not same["apart"]
    apart = difference({0: 0.1, 1: 0.1}, {5: 0.2, 6: 0.2})
    assert (apart["low"], apart["high"], apart["apart"]) == pytest.approx((0.1, 0.1, True))
    equal = difference({0: 0.1, 1: 0.1}, {5: 0.1, 6: 0.1})
    assert verdict(equal, False, "more", "less") == "the same"


def test_a_difference_in_words() -> None:
    assert verdict(difference({0: 0.1}, {1: 0.2}), False, "better", "worse") == "too few seeds"
    up = difference({0: 0.1, 1: 0.2, 2: 0.3}, {0: 0.2, 1: 0.31, 2: 0.4})
    assert verdict(up, False, "better", "worse") == "better" and verdict(up, True, "better", "worse") == "worse"
    wide = difference({0: 0.1, 1: 0.2, 2: 0.3}, {0: 0.2, 1: 0.1, 2: 0.4})
    assert verdict(wide, False, "better", "worse") == "not told apart"
