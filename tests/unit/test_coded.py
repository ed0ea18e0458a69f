import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded

TEXTS = st.lists(st.sampled_from(["", "a", "b", "kworker/0"]), max_size=20)


def texts(coded: Coded) -> list[str]:
    return [coded.names[code] for code in coded.codes]


@given(TEXTS)
def test_texts_are_coded_in_the_order_of_their_first_row(values: list[str]) -> None:
    coded = Coded.of(values)
    assert texts(coded) == values and coded.names == tuple(dict.fromkeys(values))
    assert coded.codes.dtype == np.int32


@given(TEXTS, st.integers(0, 20), st.integers(0, 20))
def test_parts_and_taken_rows_are_those_of_the_texts(values: list[str], start: int, stop: int) -> None:
    coded = Coded.of(values)
    part = coded.part(start, stop)
    assert texts(part) == values[start:stop] and set(part.names) == set(values[start:stop])
    turned = coded.take(np.arange(len(values))[::-1])
    assert texts(turned) == values[::-1] and turned.names == coded.names
    assert texts(coded.take(coded.codes > 0)) == [value for value in values if value != values[0]]


def test_a_row_without_a_text_stays_without_one() -> None:
    part = Coded(np.array([1, -1, 0], np.int32), ("a", "b")).part(0, 2)
    assert part.codes.tolist() == [0, -1] and part.names == ("b",)


def test_a_constant_is_one_name() -> None:
    assert texts(Coded.constant("vda", 3)) == ["vda"] * 3
