from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import TrainingError
from cachezoo.io import dump_json
from cachezoo.models.inputs import INPUTS_FILE, distribution, read_inputs
from cachezoo.models.trained import Feature

NUMBER = Feature(name="size", formula="request.segments", unit="segments")
CODE = Feature(name="user", formula="code.user", unit="code", encoding="ordinal")


def test_the_file_is_read_as_it_was_written_and_damage_is_named(tmp_path: Path) -> None:
    assert read_inputs(tmp_path, [NUMBER, CODE]) == {}
    found = distribution([NUMBER, CODE], np.array([[1, 0], [2, 1]], np.float32))
    (tmp_path / INPUTS_FILE).write_text(dump_json(found))
    assert read_inputs(tmp_path, [NUMBER, CODE]) == found
    for wrong in (
        "[1]",
        '{"size": [1]}',
        '{"size": [1], "user": 1}',
        '{"size": [1], "user": []}',
        '{"size": [1], "user": ["1"]}',
        '{"size": [1], "user": [true]}',
        '{"size": [1], "user": [1e999]}',
    ):
        (tmp_path / INPUTS_FILE).write_text(wrong)
        with pytest.raises(TrainingError, match=r"inputs\.json: is not .* train the model again"):
            read_inputs(tmp_path, [NUMBER, CODE])


def test_deciles_of_a_number_and_counts_of_a_code() -> None:
    rows = np.array([[k, (-1, 0, 0, 2)[k % 4]] for k in range(1, 101)], np.float32)
    found = distribution([NUMBER, CODE], rows)
    assert found == {"size": [1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100], "user": [25, 50, 0, 25]}
    assert all(isinstance(value, float) for values in found.values() for value in values)


@given(st.lists(st.integers(0, 2**22), min_size=1, max_size=60))
def test_each_decile_occurs_and_so_many_lie_at_or_below_it(values: list[int]) -> None:
    found = distribution([NUMBER], np.array(values, np.float32)[:, None])["size"]
    assert found == sorted(found) and set(found) <= set(map(float, values))
    assert (found[0], found[-1]) == (min(values), max(values))
    for place, value in enumerate(found):
        assert 10 * sum(own <= value for own in values) >= place * len(values)
        assert 10 * sum(own < value for own in values) <= place * len(values)
