import numpy as np
import pytest

from cachezoo.errors import ConfigError
from cachezoo.serving.synthetic import READ, WRITE, Script, changed, draws_of, widest_gap


def test_values_are_changed_in_a_copy():
    document = {"policy": {"history": {"windows": [1, 2]}, "mode": "none"}}
    new = changed(document, {"policy.history.windows": [1], "policy.mode": "next(2)"})
    assert new == {"policy": {"history": {"windows": [1]}, "mode": "next(2)"}}
    assert document == {"policy": {"history": {"windows": [1, 2]}, "mode": "none"}}


@pytest.mark.parametrize("place", ["policy.window", "policy.mode.deep", "other", "other.mode"])
def test_a_place_that_is_not_there_is_refused(place):
    with pytest.raises(ConfigError, match=f"{place} is changed"):
        changed({"policy": {"mode": "none"}}, {place: 1})


def test_a_threshold_stands_in_the_widest_gap_about_the_median():
    assert widest_gap(np.array([0.0, 1.0, 1.1, 3.0, 3.1, 9.0])) == pytest.approx((1.1 + 3.0) / 2)
    assert widest_gap(np.array([2.0, 2.0])) == 2.0
    assert 1.0 < widest_gap(np.array([1.0, 2.0])) < 2.0


def test_names_are_taken_in_turns_and_absent_columns_stay_absent():
    script = Script(("one", "two"), users=("a", "b"))
    script.add(READ, 0, 512)
    script.add(WRITE, 4096, 1, volume=1)
    script.add(READ, 0, 512, turn=1)
    batch = script.batch()
    assert [batch.volume.names[code] for code in batch.volume.codes] == ["one", "two", "one"]
    assert batch.user is not None
    assert [batch.user.names[code] for code in batch.user.codes] == ["a", "b", "b"]
    assert batch.namespace is None
    assert batch.flags is None
    assert batch.op.tolist() == [READ, WRITE, READ]
    assert (np.diff(batch.time_us) >= 0).all()


def test_draws_hang_on_the_name_alone():
    assert draws_of("one").integers(1 << 30) == draws_of("one").integers(1 << 30)
    assert draws_of("one").integers(1 << 30) != draws_of("two").integers(1 << 30)
