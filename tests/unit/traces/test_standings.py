"""What is said to be taken of a file, and whether it is: `trace formats`, the guess and `ingest` are one path."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.errors import TraceError
from cachezoo.traces.formats.columns import parsed
from cachezoo.traces.ingest import describe_files
from cachezoo.traces.read import TraceFiles
from cachezoo.traces.recognise import UnknownTrace
from cachezoo.traces.source import Source
from cachezoo.traces.standings import FITS, standings
from tests.trace_data import text_lines

LINES = text_lines(60)
SIGNS = (",", ";", "\t", " ")


def damaged(lines: list[str], how: str, rng: random.Random) -> list[str]:
    """The lines of a relative of a format, or of a file of it that is damaged."""
    at = rng.randrange(len(lines))
    sign = max(SIGNS, key=lines[-1].count)
    if how == "word":
        return [*lines[:at], lines[at].replace(lines[at].split(sign)[-1], "none"), *lines[at + 1 :]]
    if how == "header":
        return [sign.join(f"name{place}" for place in range(lines[-1].count(sign) + 1)), *lines]
    if how == "short":
        return [*lines[:at], lines[at].rpartition(sign)[0], *lines[at + 1 :]]
    if how == "empty":
        return [*lines[:at], sign * lines[-1].count(sign), *lines[at + 1 :]]
    if how == "turned":
        order = list(range(lines[-1].count(sign) + 1))
        rng.shuffle(order)
        split = [line.split(sign) for line in lines]
        return [sign.join(row[place] for place in order if place < len(row)) for row in split]
    if how == "comma":
        return [line.replace(sign, "," if sign != "," else " ") for line in lines]
    return lines


@settings(max_examples=60)
@given(
    st.sampled_from(sorted(LINES)),
    st.sampled_from(("whole", "word", "header", "short", "empty", "turned", "comma")),
    st.integers(0, 99),
)
def test_taken_is_what_info_takes_and_nothing_else(tmp_path_factory, fmt, how, seed):
    path = tmp_path_factory.mktemp("s") / "t"
    path.write_text("\n".join(damaged(LINES[fmt], how, random.Random(seed))) + "\n")
    try:
        describe_files(TraceFiles([path]))
        said = ""
    except TraceError as error:
        said = str(error)
    try:
        found = standings(Source(path))
    except TraceError as error:
        assert said == str(error)
        return
    assert (found[0].fit == "taken") == (not said)
    if found[0].fit == "unreadable":
        assert found[0].why in said
    assert [one.fit for one in found] == sorted((one.fit for one in found), key=FITS.index)
    for one in found:
        if one.fit == "possible" and one.columns:  # a guess that is offered can be read
            describe_files(TraceFiles([path], "columns", options=parsed(one.columns)))


def test_a_format_that_fits_but_cannot_be_read_says_why_in_place_of_taken(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n".join([*LINES["msr"][:9], "128166372003061629,usr,0,Read,none,4096,7"]) + "\n")
    (first, *_) = standings(Source(path))
    assert first.fit == "unreadable" and first.why.startswith("row 10: ")
    with pytest.raises(TraceError, match="row 10: "):
        describe_files(TraceFiles([path]))


HEADERS = {
    "a column is called otherwise": ("time_us,op,offset,len", ",", "name the columns time_us,op,offset,size"),
    "rows are parted otherwise": ("time_us,op,offset,size", ";", "row 1: has 1 field, not 4"),
}


@pytest.mark.parametrize("case", HEADERS)
def test_a_sure_format_without_a_row_that_can_be_read_makes_way_for_the_guess(tmp_path, case):
    header, sign, why = HEADERS[case]
    rng, path = random.Random(1), tmp_path / "t.csv"
    rows = [(k * 100, rng.choice("RW"), rng.randrange(9999) * 4096, rng.choice((4096, 8192))) for k in range(200)]
    path.write_text("\n".join([header, *(sign.join(map(str, row)) for row in rows)]) + "\n")
    with pytest.raises(
        UnknownTrace, match=r"to be checked: --columns .*; as csv, which it looks like, no row can"
    ) as no:
        describe_files(TraceFiles([path]))
    assert why in str(no.value)
    (first, *_) = standings(Source(path))
    assert first.fit == "possible"
    found = describe_files(TraceFiles([path], "columns", options=parsed(first.columns)))
    assert (found["requests"], found["bytes_read"] + found["bytes_written"]) == (200, sum(row[3] for row in rows))


def test_a_sure_format_whose_rows_are_all_bad_says_so_where_nothing_else_can_be(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("time_us,op,offset,size\n1,R,none,4096\n")
    (first, *_) = standings(Source(path))
    assert (first.fit, first.candidate.format.id) == ("unreadable", "csv")
    with pytest.raises(TraceError, match="row 1: offset is 'none'"):
        describe_files(TraceFiles([path]))


def test_guesses_with_what_no_disk_can_have_done_are_unlikely(tmp_path):
    rows = [f"{k * k % 997 * 7919};{4096 * (k % 61)};{2**21 + 512 * (k % 3)};W" for k in range(90)]
    path = tmp_path / "t.txt"
    path.write_text("\n".join(["time_us;offset;size;op", *rows]) + "\n")
    (first, *_) = standings(Source(path))
    assert first.columns and first.fit == "unlikely" and "the mean request is" in first.why
