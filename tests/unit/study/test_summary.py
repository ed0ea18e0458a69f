from typing import Any

import numpy as np
import pytest
from rich.text import Text

from cachezoo.io import dump_json
from cachezoo.study.grid import Setting
from cachezoo.study.run import studied_system
from cachezoo.study.summary import Cell, spread, summary, tables

TABLE = """\
web: page hit ratio on the choosing blocks of validation; 3 seeds. This alone may choose a setting.
setting | mean | standard deviation | median | 90 % interval of the mean | each seed
batch=16 (params.yaml) | 0.2000 | 0.1000 | 0.2000 | 0.1333 to 0.2667 | 0.1000 0.2000 0.3000
on_hit=[stay] (2 of 3 trained) | 0.4500 | 0.0707 | 0.4500 | 0.4000 to 0.5000 | 0.4000 0.5000
web: the setting of params.yaml, 1 of 3 promoted
figure | mean | standard deviation | median | 90 % interval of the mean | each seed
page hit ratio on the judging blocks of validation | 0.3000 | 0.1000 | 0.3000 | 0.2333 to 0.3667 | 0.2000 0.3000 0.4000
web_test: page hit ratio | 0.4000 | 0.0000 | 0.4000 | 0.4000 to 0.4000 | 0.4000 0.4000 0.4000
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


def test_a_spread_is_that_of_the_seeds() -> None:
    values = [0.1, 0.4, 0.2, 0.2, 0.3]
    found = spread(values)
    assert found["mean"] == pytest.approx(0.24) and found["median"] == 0.2 and found["each"] == values
    assert found["sd"] == pytest.approx(np.std(values, ddof=1))
    means = [sum(values[k] for k in drawn) / 5 for drawn in np.ndindex(5, 5, 5, 5, 5)]
    assert (found["low"], found["high"]) == pytest.approx(tuple(np.quantile(means, [0.05, 0.95])), abs=0.011)
    assert spread([0.5])["sd"] is None and spread([])["mean"] is None


def test_what_judges_is_said_of_the_setting_of_params_yaml_alone() -> None:
    found = summary(studied_system("caching"), 3, cells())
    kept, other = found["categories"]["web"]
    assert kept["is_params_yaml"] and (kept["promoted"], kept["trained"]) == (1, [0, 1, 2])
    assert kept["judging"]["mean"] == pytest.approx(0.3) and kept["test"]["web_test"]["each"] == [0.4] * 3
    assert set(other) == {"setting", "set", "is_params_yaml", "trained", "choosing"}
    assert other["trained"] == [1, 2] and other["choosing"]["each"] == [0.4, 0.5]
    assert dump_json(found) == dump_json(summary(studied_system("caching"), 3, cells()))


def test_the_tables() -> None:
    lines = []
    for table in tables(summary(studied_system("caching"), 3, cells())):
        lines.append(str(table.title))
        texts = [[Text.from_markup(str(cell)).plain for cell in column.cells] for column in table.columns]
        columns = [[str(column.header), *cells] for column, cells in zip(table.columns, texts, strict=True)]
        lines += [" | ".join(row) for row in zip(*columns, strict=True)]
    assert lines == TABLE.splitlines()
