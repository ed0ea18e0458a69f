"""Files that can be read in several ways: the plausible way is taken and said, or all are listed and none is taken."""

import gzip
import random
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cachezoo.errors import TraceError
from cachezoo.traces.formats.oraclegeneral import RECORD
from cachezoo.traces.ingest import describe_files
from cachezoo.traces.read import TraceFiles, read_any, read_files
from cachezoo.traces.recognise import UnclearTrace, UnknownTrace, choose, readings
from cachezoo.traces.source import Source
from tests.trace_data import text_lines

PER_S = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def times(rate: float, count: int, seed: int) -> list[float]:
    """Seconds of a Poisson stream."""
    rng = random.Random(seed)
    now, found = 0.0, []
    for _ in range(count):
        now += rng.expovariate(rate)
        found.append(now)
    return found


def disksim(
    path: Path, rate: float, unit: str, unit_bytes: int, *, clock: int = 1, decimals: int = 0, seed: int = 1
) -> Path:
    """Five columns: time, device, address, size, 0 or 1; most requests are of 4 KiB, some of 64 KiB or 512 B."""
    rng = random.Random(seed)
    lines = []
    for at in times(rate, 800, seed):
        scaled = at * PER_S[unit]
        time = f"{scaled:.{decimals}f}" if decimals else str(int(scaled) // clock * clock)
        size = rng.choices((8, 128, 1), (6, 3, 1))[0] * 512
        offset = rng.randrange(2**22) * 8 * 512 + (512 if size == 512 else 0)
        lines.append(f"{time} {rng.randrange(3)} {offset // unit_bytes} {size // unit_bytes} {rng.randrange(2)}\n")
    path.write_text("".join(lines))
    return path


def chosen(path: Path, **given: str) -> tuple[str, str, str]:
    """Format, unit of time and of addresses."""
    found = choose(Source(path), "auto", given)
    return found.format.id, found.options.get("time_unit", ""), found.options.get("unit_bytes", "512")


@given(st.floats(20, 20_000), st.sampled_from((1, 512)), st.integers(0, 99))
def test_milliseconds_with_fractions_in_sectors_or_bytes(tmp_path_factory, rate, unit_bytes, seed):
    path = disksim(tmp_path_factory.mktemp("d") / "t", rate, "ms", unit_bytes, decimals=4, seed=seed)
    assert chosen(path) == ("disksim", "ms", str(unit_bytes))


@given(st.floats(50, 50_000), st.sampled_from((1, 512)), st.integers(0, 99))
def test_nanoseconds_of_mqsim_by_a_clock_of_microseconds(tmp_path_factory, rate, unit_bytes, seed):
    """As MQSim's own traces are written; read as microseconds, these would be a factor of a thousand wrong."""
    path = disksim(tmp_path_factory.mktemp("m") / "t.trace", rate, "ns", unit_bytes, clock=1000, seed=seed)
    assert chosen(path) == ("mqsim", "ns", str(unit_bytes))


@given(
    st.floats(30, 3000),
    st.sampled_from(("ms", "us", "ns")),
    st.sampled_from(("t", "t.trace", "t.disksim")),
    st.sampled_from((1, 1000)),
    st.integers(0, 99),
)
def test_whole_numbers_are_read_right_or_refused_near_usual_rates(tmp_path_factory, rate, unit, name, clock, seed):
    """No unit but the right one is taken at usual rates, unless the name or the clock speaks against it."""
    against = (unit == "us" and (clock == 1000 or name == "t.trace")) or (unit == "ns" and name == "t.disksim")
    assume(not against)
    path = disksim(tmp_path_factory.mktemp("w") / name, rate, unit, 512, clock=1 if unit == "ms" else clock, seed=seed)
    try:
        found = chosen(path)
    except UnclearTrace as error:
        assert unit in {candidate.options["time_unit"] for candidate in error.candidates}
        return
    assert found[1:] == (unit, "512")


def test_what_is_unclear_is_a_table_and_a_command_for_each_reading(tmp_path):
    path = disksim(tmp_path / "t", 50_000, "us", 512)
    with pytest.raises(UnclearTrace) as error:
        read_any(path)
    said = str(error.value)
    assert "can be read in 2 ways that mean different things; say which: " in said and "\n" not in said
    for candidate, row in zip(error.value.candidates, error.value.rows, strict=True):
        assert f"{candidate.asks} (" in said
        assert row["read as"] == candidate.said
        words = candidate.asks.split()
        options = dict(word.split("=") for word in words[3::2])
        trace = read_any(path, words[1], options=options)
        assert trace.meta.extra["time_unit"] == options["time_unit"]
        assert "inferred" not in trace.meta.extra
    assert {row["rate"].split()[1] for row in error.value.rows} == {"requests/s"}
    assert {row["mean size"] for row in error.value.rows} == {error.value.rows[0]["mean size"]}


def test_the_name_decides_where_content_does_not_and_never_against_it(tmp_path):
    unnamed = disksim(tmp_path / "t", 100, "us", 512)
    with pytest.raises(UnclearTrace):
        choose(Source(unnamed), "auto", {})
    assert chosen(unnamed.rename(tmp_path / "day.disksim")) == ("disksim", "us", "512")
    lines = "".join(f"{line}\n" for line in text_lines(40)["msr"])
    for name in ("x.vscsi", "x.lis", "x.disksim", "Financial1.spc", "prxy_0.csv"):
        (tmp_path / name).write_text(lines)
        assert chosen(tmp_path / name)[0] == "msr"
    with gzip.open(tmp_path / "night.DISKSIM.gz", "wb") as packed:
        packed.write((tmp_path / "day.disksim").read_bytes())
    assert chosen(tmp_path / "night.DISKSIM.gz") == ("disksim", "us", "512")


def test_options_that_are_given_are_kept_and_only_the_rest_inferred(tmp_path):
    path = disksim(tmp_path / "t", 50_000, "us", 1)
    assert chosen(path, time_unit="us") == ("disksim", "us", "1")
    assert chosen(path, time_unit="us", unit_bytes="512")[2] == "512"
    assert choose(Source(path), "disksim", {"time_unit": "us"}).options == {"time_unit": "us", "unit_bytes": "1"}
    with pytest.raises(TraceError, match="option colour: none of the formats that the file may be has it: disksim"):
        choose(Source(path), "auto", {"colour": "red"})


def spc(path: Path, block: int) -> Path:
    rng = random.Random(2)
    rows = (
        f"0,{rng.randrange(2**24) * 4096 // block},{rng.choice((512, 4096, 24576))},w,{k / 90:.6f}" for k in range(600)
    )
    path.write_text("\n".join(rows) + "\n")
    return path


def tencent(path: Path, unit: int) -> Path:
    rng = random.Random(3)
    rows = (
        f"{1538323200 + k // 60},{rng.randrange(2**24) * 4096 // unit},{8192 // unit},{k % 2},7" for k in range(600)
    )
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize(("write", "fmt"), [(spc, "spc"), (tencent, "tencent")])
@pytest.mark.parametrize("unit", [1, 512])
def test_formats_of_sectors_whose_files_have_bytes(tmp_path, write, fmt, unit, capsys):
    path = write(tmp_path / "t", unit)
    assert chosen(path) == (fmt, "", str(unit))
    trace = read_any(path)
    assert int(trace.offset.max()) < 2**36 and int(trace.size.max()) <= 24576
    assert ("inferred" in trace.meta.extra) == (unit == 1)
    assert ("read as" in capsys.readouterr().err) == (unit == 1)


def test_sizes_of_512_of_which_nobody_can_say_the_unit(tmp_path):
    """256 KiB at borders of 256 KiB, or 512 bytes at any sector: both are plausible."""
    path = tmp_path / "t.disksim"
    path.write_text("".join(f"{k * 2}.25 0 {(k * 37 % 600) * 512} 512 {k % 2}\n" for k in range(600)))
    with pytest.raises(UnclearTrace) as error:
        choose(Source(path), "auto", {})
    assert {candidate.options.get("unit_bytes", "512") for candidate in error.value.candidates} == {"1", "512"}


def test_a_forced_misreading_is_warned_of_wherever_it_is_read(tmp_path, capsys):
    path = disksim(tmp_path / "t.disksim", 200, "ms", 1, decimals=3)
    wrong = TraceFiles([path], "disksim", options={"unit_bytes": "512", "time_unit": "ms"})
    figures = describe_files(wrong)
    said = capsys.readouterr().err
    assert len(figures["warnings"]) == 2
    assert figures["warnings"][0].startswith("the mean request is 10.2 MiB")
    assert "every size and offset in the file is divisible by 512" in figures["warnings"][1]
    assert all(f"warning: {path}: {line}\n" in said for line in figures["warnings"])
    assert all("--option unit_bytes=1" in line for line in figures["warnings"])
    assert describe_files(TraceFiles([path]))["warnings"] == []


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            lambda k: f"{k * 10**6},R,{k * 4096},{2**21}",
            r"the mean request is 2\.0 MiB: check the format and its units",
        ),
        (lambda k: f"{k * 10**6},R,{2**51 + k * 4096},4096", r"the last address is 2\.0 PiB, beyond any disk"),
        (lambda k: f"{k // 50},R,{k * 4096},4096", r"requests a second, which no device serves"),
        (lambda k: f"{k * 36 * 10**8},R,{k * 4096},4096", r"a request every 1\.0 hours"),
    ],
)
def test_the_implausible_is_warned_of_with_a_figure(tmp_path, capsys, rows, said):
    path = tmp_path / "t.csv"
    path.write_text("time_us,op,offset,size\n" + "".join(f"{rows(k)}\n" for k in range(1000)))
    figures = describe_files(TraceFiles([path]))
    assert len(figures["warnings"]) == 1
    assert re.search(said, figures["warnings"][0])
    assert figures["warnings"][0] in capsys.readouterr().err


def test_readings_list_the_likeliest_first_and_each_meaning_once(tmp_path):
    path = disksim(tmp_path / "t.trace", 400, "ns", 512, clock=1000)
    found = readings(Source(path))
    assert found[0].said == "mqsim with time_unit=ns"
    assert len({candidate.meaning for candidate in found}) == len(found) > 2
    means = {candidate.said: candidate.means for candidate in found}
    assert 300 < means["mqsim with time_unit=ns"].rate < 500
    assert means["disksim with time_unit=us"].span_s == pytest.approx(1000 * means["mqsim with time_unit=ns"].span_s)


def test_footprint_of_a_reading_counts_each_page_of_a_volume_once(tmp_path):
    path = tmp_path / "t.disksim"
    path.write_text("0.5 0 0 16 1\n1.5 0 8 16 1\n2.5 1 0 8 0\n3.5 0 100 1 1\n4.5 0 0 8 0\n")
    means = readings(Source(path))[0].means
    assert means is not None
    assert (means.footprint_bytes, means.median_bytes, means.read_share) == (5 * 4096, 4096, 0.6)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("picture.png", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4, r"looks like a PNG image\); the nearest: "),
        ("notes.json", b'{"requests": [1, 2, 3]}', r"looks like JSON\); the nearest: "),
        ("page.html", b"<!DOCTYPE html><html></html>\n", r"looks like HTML or XML\)"),
        ("a.tar", b"name" + bytes(253) + b"ustar\x0000" + bytes(600), r"looks like a tar archive: unpack it"),
        ("b.zip", b"PK\x03\x04" + bytes(200), r"looks like a ZIP archive: unpack it"),
        ("hm_0.csv", b"1,usr,0,Read,0\n" * 9, r"nearest: msr: needs 7 columns between commas, row 1 has 5; "),
        ("t", b"time,lba,size,op,vol\n5,6,7,0,9\n" * 2, r"tencent: its columns are there, but not its values: "),
        ("t", b"1.5,R,0,4096,soon\n" * 3, r"alibaba: timestamp is 'soon' in row 1, not a whole number|opcode|device"),
        ("people.csv", b"name,town\nAda,London\n", r"Fix: name the columns with --columns"),
        ("noise", bytes(random.Random(1).randbytes(3000)), r"needs .*, and the file begins with the bytes "),
    ],
)
def test_what_is_no_trace_is_refused_with_the_three_nearest_formats(tmp_path, name, content, said):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UnknownTrace, match=rf"{name}: is no trace of a known format.*{said}") as error:
        choose(Source(path), "auto", {})
    assert "\n" not in str(error.value)
    assert str(error.value).partition("the nearest: ")[2].count("; ") >= 2


def test_an_empty_file_is_said_to_be_empty(tmp_path):
    (tmp_path / "t").write_bytes(b"")
    with pytest.raises(TraceError, match="t: the trace is empty"):
        choose(Source(tmp_path / "t"), "auto", {})


FIVE = "".join(f"{20_000 * k + k % 3} {k % 3} {8 * (k * 7919 % 99_991)} 16 {k % 2}\n" for k in range(300))


def test_a_file_of_another_format_than_asked_for_says_what_it_looks_like(tmp_path):
    path = tmp_path / "t.trace"
    path.write_text(FIVE)
    wanted = r"t\.trace: does not look like msr, which needs .*; it looks like mqsim or disksim: give that as --format$"
    for skip in (0, 10):
        with pytest.raises(TraceError, match=wanted):
            read_files(TraceFiles([path], "msr", skip_bad_rows=skip))


def test_a_bad_first_row_of_the_format_asked_for_is_a_bad_row(tmp_path):
    path = tmp_path / "t.trace"
    path.write_text("1 2\n" + FIVE)
    with pytest.raises(TraceError, match="row 1: has 2 fields, not 5"):
        read_files(TraceFiles([path], "mqsim"))


def test_an_unknown_option_names_every_format_that_the_file_may_be(tmp_path):
    path = tmp_path / "t.trace"
    path.write_text(FIVE)
    wanted = r"t\.trace: option bogus: none of the formats that the file may be has it: disksim has .*; mqsim has "
    with pytest.raises(TraceError, match=wanted):
        choose(Source(path), "auto", {"bogus": "1"})
    with pytest.raises(TraceError, match="format mqsim: option bogus: no such option"):
        choose(Source(path), "mqsim", {"bogus": "1"})


@pytest.mark.parametrize(("size", "warned"), [("4096", True), ("700", False)])
def test_numbers_of_sectors_taken_for_bytes_are_warned_of(tmp_path, size, warned):
    path = tmp_path / "t.csv"
    path.write_text("ts,op,at,size\n" + "".join(f"{k},R,{8 * (k * 7919 % 99_991)},{size}\n" for k in range(1000)))
    asked = {"time": "ts:ms", "op": "op", "offset": "at:1", "size": "size:1"}
    found = describe_files(TraceFiles([path], "columns", options=asked))["warnings"]
    said = "hardly any offset is a multiple of 512 bytes, although every size is: where offsets count sectors, read "
    assert found == ([f"{said}the file with --columns offset=…:512"] if warned else [])
    assert describe_files(TraceFiles([path], "columns", options=asked | {"offset": "at:512"}))["warnings"] == []


def records(path: Path, rows: list[tuple[int, int, int]]) -> Path:
    """oracleGeneral of times, ids and sizes, whose next accesses are not said."""
    table = np.array([(at, key, size, -1) for at, key, size in rows], RECORD)
    path.write_bytes(table.tobytes())
    return path


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        # A scan of blocks of 4 KiB: counted in sectors, each would overlap the next seven.
        ([(k // 9, 19_000 + k, 4096) for k in range(600)], {"unit_bytes": "4096"}),
        # Sectors: requests of several sizes go on where others end.
        ([(k // 9, 16 * k, 8192) for k in range(600)], {}),
        # Sizes that are no sectors, and go with the id: objects.
        ([(k // 9, k * k * 7919 % 97, 100 + k * k * 7919 % 97 % 7) for k in range(600)], {"ids": "object"}),
    ],
)
def test_ids_of_a_sure_format_are_doubted(tmp_path, rows, options):
    path = records(tmp_path / "t.oracleGeneral.bin", rows)
    assert choose(Source(path), "auto", {}).options == options
    assert choose(Source(path), "auto", {"ids": "address"}).options == {"ids": "address"}


def test_random_ids_of_equal_sizes_are_asked_for_with_the_figures_of_each_reading(tmp_path):
    rows = [(k // 9, 1 + k * k * 7919 % 1_000_003, 4096) for k in range(600)]
    with pytest.raises(UnclearTrace, match=r"say which: .*(unit_bytes=4096|ids=object).*") as error:
        choose(Source(records(tmp_path / "t", rows)), "auto", {})
    assert len(error.value.rows) == 2


def test_milliseconds_since_1970_are_no_seconds(tmp_path):
    path = tmp_path / "t.csv"
    rows = "".join(f"{1678863569124 + 7 * k},{16 * (k * 7919 % 997)},8192,get\n" for k in range(300))
    path.write_text("timestamp,obj_id,obj_size,op\n" + rows)
    assert choose(Source(path), "auto", {}).options == {"time_unit": "ms"}
    told = TraceFiles([path], "libcachesim_csv", options={"time_unit": "s", "ids": "address"})
    assert any("of the year 55206" in line for line in describe_files(told)["warnings"])


@pytest.mark.parametrize(("per_request_us", "outcome"), [(2_000_000, "asked"), (2_000, ""), (20_000_000_000, "asked")])
def test_a_log_of_fio_that_is_slower_than_disks_may_count_nanoseconds(tmp_path, per_request_us, outcome):
    rows = "".join(f"{k * per_request_us} /dev/sdb read {4096 * k} 4096\n" for k in range(100))
    path = tmp_path / "t.log"
    path.write_text("fio version 3 iolog\n0 /dev/sdb add\n0 /dev/sdb open\n" + rows)
    if outcome:
        with pytest.raises(UnclearTrace, match=r"--format fio .*--option time_unit=ns"):
            choose(Source(path), "auto", {})
        assert choose(Source(path), "fio", {"time_unit": "us"}).options == {"time_unit": "us"}
    else:
        assert choose(Source(path), "auto", {}).options == {}
