"""Any delimited file reads back as the requests it was written from, whatever its units, order, names and delimiter."""

import random
from datetime import UTC, datetime, timedelta, timezone
from itertools import accumulate, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import TraceError
from cachezoo.traces.formats.columns import parsed
from cachezoo.traces.table import OP_READ
from tests.trace_data import read, texts

PER_US = {"ns": 1000, "100ns": 10, "us": 1, "ms": 0.001, "s": 1e-6}
SIGNS = {"comma": ",", "tab": "\t", "semicolon": ";", "bar": "|", "blank": " "}
OPS = {
    "": (("R", "W"), ("read", "WRITE"), ("RS", "WSM"), ("Get", "put")),
    "1/0": (("1", "0"),),
    "28|88/2a|8a": (("88", "2A"),),
}
REQUESTS = st.lists(
    st.tuples(st.integers(0, 2**40), st.booleans(), st.integers(0, 2**30), st.integers(1, 2**10), st.integers(0, 3)),
    min_size=1,
    max_size=40,
)


def columns(path: Path, text: str, **more):
    return read(path, fmt="columns", skip_bad_rows=more.pop("skip_bad_rows", 0), **parsed(text), **more)


def time_text(time_us: int, unit: str) -> str:
    """The time in a unit, exactly."""
    if PER_US[unit] >= 1:
        return str(time_us * int(PER_US[unit]))
    digits = {"ms": 3, "s": 6}[unit]
    return f"{time_us // 10**digits}.{time_us % 10**digits:0{digits}d}"


@given(REQUESTS, st.data())
def test_a_written_table_reads_back_equal(tmp_path_factory, requests, data):
    draw = lambda options: data.draw(st.sampled_from(sorted(options)))  # noqa: E731
    unit, sign_name, op_unit = draw(PER_US), draw(SIGNS), draw(OPS)
    sign, words = SIGNS[sign_name], draw(OPS[op_unit])
    offset_unit, size_unit = draw((1, 512, 4096)), draw((1, 512))
    header, commented = data.draw(st.booleans()), data.draw(st.booleans())
    roles = data.draw(st.permutations(["time", "offset", "size", "op", "volume", "latency", "other"]))
    names = {role: name for role, name in zip(roles, ("Ts", "b", "c (x)", "dEv", "e:1", "f", "g"), strict=True)}
    if sign == " ":
        names = {role: name.replace(" ", "_") for role, name in names.items()}
    requests = sorted(requests)
    lines = []
    for time_us, read_op, offset, size, volume in requests:
        row = {
            "time": time_text(time_us, unit),
            "offset": str(offset),
            "size": str(size),
            "op": words[0] if read_op else words[1],
            "volume": f"v{volume}",
            "latency": str(volume * 7),
            "other": "17.5",
        }
        lines.append(sign.join(row[role] for role in roles))
    if header:
        lines.insert(0, ("# " if commented else "") + sign.join(names[role] for role in roles))
    path = tmp_path_factory.mktemp("c") / "any.data"
    path.write_text(data.draw(st.sampled_from(("\n", "\r\n"))).join(lines) + "\n")

    def place(role: str) -> str:
        number = f"#{roles.index(role) + 1}"
        return draw((names[role], names[role].upper(), number)) if header and ":" not in names[role] else number

    text = f"time={place('time')}:{unit},offset={place('offset')}:{offset_unit},size={place('size')}:{size_unit}"
    text += f",op={place('op')}{':' if op_unit else ''}{op_unit},volume={place('volume')},latency={place('latency')}:us"
    trace = columns(path, text, delimiter=draw(("auto", sign_name)))
    first = requests[0][0]
    assert trace.time_us.tolist() == [row[0] - first for row in requests]
    assert (trace.op == OP_READ).tolist() == [row[1] for row in requests]
    assert trace.offset.tolist() == [row[2] * offset_unit for row in requests]
    assert trace.size.tolist() == [row[3] * size_unit for row in requests]
    assert texts(trace.volume) == [f"v{row[4]}" for row in requests]
    assert trace.latency_us.tolist() == [row[4] * 7 for row in requests]


def test_times_beyond_the_digits_of_a_float_are_exact(tmp_path):
    path = tmp_path / "t.csv"
    times = [1_700_000_000_123_456_700 + 1000 * k for k in range(5)]
    path.write_text("".join(f"{time},{k},1,R\n" for k, time in enumerate(times)))
    assert columns(path, "time=#1:ns,offset=#2:4096,size=#3:4096,op=#4").time_us.tolist() == [0, 1, 2, 3, 4]


def test_what_a_file_lacks_is_constant_and_rows_are_a_clock_over_all_files(tmp_path):
    one, two = tmp_path / "a", tmp_path / "b"
    one.write_text("8\n16\n")
    two.write_text("24\n")
    for path in (one, two):
        path.write_text("".join(f"{line} x\n" for line in path.read_text().split()))
    trace = read(one, two, fmt="columns", **parsed("time=row:ms,offset=#1:512,size=8KiB,op=write"))
    assert (trace.time_us.tolist(), trace.op.tolist()) == ([0, 1000, 2000], [1, 1, 1])
    assert (trace.offset.tolist(), trace.size.tolist()) == ([4096, 8192, 12288], [8192] * 3)
    assert trace.meta.extra["columns"] == "time=row:ms,offset=#1:512,size=8KiB,op=write"
    assert trace.meta.extra["one_volume"] == "the file names none"


def test_hexadecimal_addresses_and_operations_without_data(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('at,"where, exactly",len,what\n5,0x10,1,read\n6,0xfF,1,WS\n7,0x0,0,Flush\n8,0x0,1,Discard\n')
    trace = columns(path, "time=at:s,offset=#2:512,size=len:512,op=what")
    assert (trace.offset.tolist(), trace.op.tolist()) == ([8192, 255 * 512], [0, 1])
    assert {key: trace.meta.extra[key] for key in trace.meta.extra if "left" in key} == {
        "left_out.discard": "1",
        "left_out.flush": "1",
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "time=nope,offset=lba,size=len,op=rw",
            r"time=nope: no such column; its columns are #1 to #4 or ts, lba, len, rw",
        ),
        ("time=#5,offset=lba,size=len,op=rw", r"time=#5: no such column; .*time=row:us numbers the rows"),
        ("time=ts:h,offset=lba,size=len,op=rw", r"time: 'h' after the colon; write one of ns, 100ns, us, ms, s"),
        ("time=ts,offset=lba:0,size=len,op=rw", r"offset: '0' after the colon; write a number of bytes from 1 to"),
        ("time=ts,offset=lba,size=lba,op=rw", r"offset and size are both column #2; give each its own"),
        ("time=ts,offset=lba,size=len,op=rw:1", r"op: '1' after the colon; write values that mean a read, a slash"),
        ("time=ts,offset=lba,size=len,op=rw:a/a", r"op: 'a/a' after the colon"),
        ("time=ts,offset=lba,size=len,op=rw,user=lba:3", r"user: '3' after the colon; write nothing"),
        ("time=ts,offset=lba,size=len,op=rw", r"row 2: op is 'verify'; it says neither read nor write"),
        ("time=ts,offset=lba,size=big,op=read", r"size=big: no such column; .*; size=4096B is constant"),
    ],
)
def test_what_does_not_fit_is_one_line_with_the_fix(tmp_path, text, said):
    path = tmp_path / "t.csv"
    path.write_text("ts,lba,len,rw\n1,8,8,R\n2,8,8,verify\n")
    with pytest.raises(TraceError, match=rf"t\.csv: .*{said}") as error:
        columns(path, text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("time=a", "no column for offset and size and op"),
        ("time=a,time=b", "'time=b': is said twice"),
        ("when=a", "'when=a': write ROLE=COLUMN with a role of time, offset"),
        ("time", "'time': write ROLE=COLUMN"),
    ],
)
def test_a_bad_list_of_columns_is_said(text, said):
    with pytest.raises(TraceError, match=f"--columns: {said}"):
        parsed(text)


def test_damaged_rows_are_named_or_skipped(tmp_path):
    rng = random.Random(3)
    path = tmp_path / "t.tsv"
    rows = [f"{k}.5\t{rng.randint(0, 99)}\t8\tw" for k in range(30)]
    rows[7] = "7.5\tx\t8\tw"
    path.write_text("\n".join(rows))
    with pytest.raises(TraceError, match=r"t\.tsv: row 8: offset is 'x', not a whole number"):
        columns(path, "time=#1:s,offset=#2:512,size=#3:512,op=#4")
    assert len(columns(path, "time=#1:s,offset=#2:512,size=#3:512,op=#4", skip_bad_rows=1)) == 29


@pytest.mark.parametrize(("unit", "value"), [("1", -4096), ("512", -4096 * 512)])
def test_a_size_below_0_is_named_as_it_is(tmp_path, unit, value):
    path = tmp_path / "t.csv"
    path.write_text("op,len,ts,lba\nR,4096,0,8\nW,-4096,1,8\n")
    with pytest.raises(TraceError, match=f"row 2: size is {value}; a request has at least one byte"):
        columns(path, f"time=ts:us,offset=lba:512,size=len:{unit},op=op")


MOMENTS = st.lists(st.tuples(st.integers(0, 40 * 3_600_000_000), st.integers(0, 2**40)), min_size=1, max_size=30)


def _date(time_us: int, style: str) -> str:
    """A moment after the beginning of 2024, in UTC or two hours ahead of it."""
    moment = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_us)
    if style == "zone":
        return moment.astimezone(timezone(timedelta(hours=2))).isoformat()
    return moment.strftime("%Y/%m/%d %H:%M:%S.%f" if style == "blank" else "%Y-%m-%dT%H:%M:%S,%f")


@given(MOMENTS, st.sampled_from(["zone", "blank", "comma"]), st.booleans(), st.booleans())
def test_dates_and_hexadecimal_addresses_read_back_equal(tmp_path_factory, requests, style, said, marked):
    requests = sorted(requests)
    path = tmp_path_factory.mktemp("d") / "t.csv"
    hexes = [f"{'0x' if marked else ''}{offset + 0xA000_0000_0000:x}" for _, offset in requests]
    rows = [f"{_date(time_us, style)};{offset}\n" for (time_us, _), offset in zip(requests, hexes, strict=True)]
    path.write_text("when;addr\n" + "".join(rows))
    how = (":date", ":hex") if said else ("", "")
    trace = columns(path, f"time=when{how[0]},offset=addr{how[1]},size=512B,op=read")
    assert trace.time_us.tolist() == [time_us - requests[0][0] for time_us, _ in requests]
    assert trace.offset.tolist() == [offset + 0xA000_0000_0000 for _, offset in requests]


@given(MOMENTS, st.booleans())
def test_a_clock_goes_on_past_midnight(tmp_path_factory, requests, said):
    times = sorted(time_us for time_us, _ in requests)
    # A pause of half a day or more between two requests cannot be told from a day that has gone by.
    gaps = [min(after - before, 11 * 3_600_000_000) for before, after in pairwise([times[0], *times])]
    times = list(accumulate(gaps))
    path = tmp_path_factory.mktemp("d") / "t.csv"
    rows = [datetime(2024, 1, 1, 22) + timedelta(microseconds=time_us) for time_us in times]
    path.write_text("".join(f"{row:%H:%M:%S.%f},{k},r\n" for k, row in enumerate(rows)))
    trace = columns(path, f"time=#1{':clock' if said else ''},offset=#2,size=512B,op=#3")
    assert trace.time_us.tolist() == [time_us - times[0] for time_us in times]


@pytest.mark.parametrize(("head", "unit"), [("time,rw,addr,len\n", ""), ("", ":hex")])
def test_sizes_are_hexadecimal_where_the_addresses_are_and_only_so_they_are_sectors(tmp_path, head, unit):
    path = tmp_path / "t.csv"
    path.write_text(head + "0.5,W,eb5000,8000\n0.75,R,3f4000,1000\n")
    trace = columns(path, f"time=#1:s,offset=#3,size=#4{unit},op=#2")
    assert (trace.offset.tolist(), trace.size.tolist()) == ([0xEB5000, 0x3F4000], [0x8000, 0x1000])
    assert trace.meta.extra["columns"] == "time=#1:s,offset=#3:hex,size=#4:hex,op=#2"
    path.write_text(head + "0.5,W,eb5000,4096\n0.75,R,3f4000,512\n")
    assert columns(path, "time=#1:s,offset=#3:hex:512,size=#4,op=#2").offset.tolist() == [
        0xEB5000 * 512,
        0x3F4000 * 512,
    ]


def test_decimal_commas_are_seen_between_semicolons(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("Zeit;Vorgang;Adresse;Dauer\n0,001505;Schreiben;15421440;0,5\n0,006333;Lesen;4145152;\n")
    trace = columns(path, "time=Zeit:s,offset=Adresse,size=4096B,op=Vorgang:Lesen/Schreiben,latency=Dauer:ms")
    assert trace.time_us.tolist() == [0, 4828]
    assert (trace.op.tolist(), trace.latency_us.tolist()) == ([1, 0], [500, -1])


@pytest.mark.parametrize("sign", ",\t ")
def test_rows_may_differ_in_what_follows_the_columns(tmp_path, sign):
    path = tmp_path / "t.txt"
    rows = [("1", "r", "4096", "512"), ("2", "w", "8192", "512", "0", "99"), ("3", "r", "0", "512", "x")]
    rows = [rows[k % 3] for k in range(12)]
    path.write_text("".join(sign.join(row) + "\n" for row in [*rows, ("4", "r", "0")]))
    trace = columns(path, "time=#1:s,offset=#3,size=#4,op=#2", skip_bad_rows=1)
    assert sorted(trace.offset.tolist()) == [0] * 4 + [4096] * 4 + [8192] * 4
    with pytest.raises(TraceError, match="row 13: has 3 fields, not 4"):
        columns(path, "time=#1:s,offset=#3,size=#4,op=#2")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("2024-02-30", "'2024-02-30', not a date such as 2024-01-31T12:00:00.5Z; fix or drop the row"),
        ("", "empty; fill it in or drop the row"),
    ],
)
def test_a_moment_that_is_none_is_named(tmp_path, value, said):
    path = tmp_path / "t.csv"
    path.write_text(f"2024-01-30,0\n{value},0\n")
    with pytest.raises(TraceError, match=f"row 2: time is {said}"):
        columns(path, "time=#1:date,offset=#2,size=512B,op=read")
