import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.traces.values import KINDS, Precision, whole_of
from tests.oracles import values as oracle

NAIVE = {
    "int": oracle.whole,
    "hex": lambda text: oracle.hexadecimal(text, True),
    "bare_hex": lambda text: oracle.hexadecimal(text, False),
    "decimal_comma": oracle.comma,
    "date": oracle.date,
    "clock": oracle.clock,
}
DIGITS = st.text("0123456789", max_size=21)
NUMBER = st.builds(
    lambda sign, whole, part, power: f"{sign}{whole}{part}{power}",
    st.sampled_from(["", "-", "+"]),
    DIGITS | st.integers(0, 2**64).map(str),
    st.sampled_from(["", ".", ",", ".0", ".000", ",5"]) | DIGITS.map(lambda part: "." + part),
    st.sampled_from(["", "", "e0", "E+17", "e-3", "e+999", "E1000"]) | st.integers(-30, 30).map(lambda p: f"e{p:+d}"),
)
HEXES = st.builds(str.__add__, st.sampled_from(["", "0x", "0X", "x"]), st.text("0123456789abcdefABCDEFg", max_size=17))
TWO = st.integers(0, 70).map(lambda number: f"{number:02d}")
CLOCKS = st.builds(
    lambda hour, minute, second, part: f"{hour}:{minute}:{second}{part}",
    st.integers(0, 1200).map(str) | TWO,
    TWO,
    TWO,
    st.sampled_from(["", ".5", ",123456789", ".", ".0000001"]),
)
DATES = st.builds(
    lambda year, month, day, sign, clock, zone: f"{year:04d}{sign}{month:02d}{sign}{day:02d}{clock}{zone}",
    st.integers(1, 2300),
    st.integers(0, 13),
    st.integers(0, 32),
    st.sampled_from("-/"),
    st.just("") | CLOCKS.map(lambda clock: "T" + clock) | CLOCKS.map(lambda clock: " " + clock),
    st.sampled_from(["", "Z", "+01:30", "-0800", " +00:00", "x", "+14:00", "-1401", "+15:00", "+00:60", "-99:99"]),
)


@pytest.mark.parametrize("kind", NAIVE)
@given(texts=st.lists(NUMBER | HEXES | CLOCKS | DATES | st.sampled_from(["", " 7 ", "nan", "é"]), min_size=1))
def test_a_column_is_what_each_of_its_texts_is(kind, texts):
    found = KINDS[kind].of(pa.chunked_array([texts], pa.string())).to_pylist()
    assert found == [NAIVE[kind](text.strip(" ")) for text in texts]
    for text in texts:
        value = NAIVE[kind](text)
        assert KINDS[kind].matches(text) == (value is not None)
        assert (KINDS[kind].why_not(text) is None) == (value is not None)


@given(text=NUMBER)
def test_a_whole_number_is_exact(text):
    assert whole_of(text) == oracle.whole(text)


def test_what_is_wrong_is_said_with_the_fix():
    assert KINDS["int"].why_not("5.5") == "'5.5', not a whole number; fix or drop the row"
    assert KINDS["int"].why_not("1E+19") == "1E+19, which 64 bits cannot hold; check the unit"
    assert KINDS["date"].why_not("2023-02-29") == (
        "'2023-02-29', not a date such as 2024-01-31T12:00:00.5Z; fix or drop the row"
    )
    assert KINDS["float"].why_not("1e400") == "'1e400', not a number; fix or drop the row"


@pytest.mark.parametrize(
    ("texts", "power"),
    [
        (["1.28E+17", "1.5E+17"], 15),
        (["1E+17"], 17),
        (["1.28E+17", "7"], 15),
        (["1.28E+17", "1.5E+4"], 15),
        (["0E+00", "0.00E+17"], 0),
        (["-0.05E+4", "12.5E+3"], 2),
        (["1.28166372003015056E+17"], 0),
        (["x", "5.0"], 0),
        (["x"], 0),
    ],
)
def test_how_far_numbers_are_rounded(texts, power):
    found = [Precision.of(pa.chunked_array([part], pa.string())) for part in (texts, texts[:1], texts[1:], [])]
    assert found[0].rounded_to == power and found[1].joined(found[2]).joined(found[3]) == found[0]
