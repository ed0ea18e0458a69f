"""The guess at the columns of a file of no known format."""

import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.formats.columns import parsed
from cachezoo.traces.guess import NOTHING, guessed
from cachezoo.traces.read import TraceFiles, read_files
from cachezoo.traces.recognise import choose
from cachezoo.traces.source import Source

FILES = {
    "lba": (
        "when_s;dev;dir;first_lba;blocks\n",
        [f"{1763800000 + k / 8:.6f};vdb;{'RD' if k % 3 else 'WR'};{8 * k};16" for k in range(40)],
        "time=when_s:s,offset=first_lba:512,size=blocks:512,op=dir,volume=dev",
    ),
    "bytes": (
        "Timestamp,Offset,Length,isWrite\n",
        [f"{1763800000000 + 5 * k},{4096 * k},8192,{k % 2}" for k in range(40)],
        "time=Timestamp:ms,offset=Offset:1,size=Length:1,op=isWrite:0/1",
    ),
    "named": (
        "latency_x|time_us|addr|nbytes|op\n",
        [f"x|{k * 7}|0x{4096 * k:x}|512|read" for k in range(40)],
        "time=time_us:us,offset=addr:1,size=nbytes:1,op=op",
    ),
    "one": ("", [str(k * 7919 % 997) for k in range(40)], "time=row:us,offset=#1:4096,size=4096B,op=read"),
    "bare": ("", [f"{k * 1.5};{k * 7919 % 997};w" for k in range(40)], "time=#1:ms,offset=#2:4096,size=4096B,op=#3"),
    "twice": (
        "lba;lba;ms\n",
        [f"{k};5;{k}" for k in range(40)],
        "time=row:us,offset=#1:512,size=4096B,op=read",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_names_and_values_tell_roles_and_units_and_the_guess_reads_the_file(name, tmp_path):
    header, rows, guess = FILES[name]
    assert guessed([*header.splitlines(), *rows]).columns == guess
    path = tmp_path / "t.txt"
    path.write_text(header + "\n".join(rows) + "\n")
    assert len(read_files(TraceFiles([path], "columns", options=parsed(guess)))) == len(rows)


@pytest.mark.parametrize(
    "lines",
    [
        ["Call me Ishmael. Some years ago", "never mind how long precisely,", "having little or no money"] * 9,
        ["only,a,header"],
        ["a;b", "x;y", "z;w", "v;u"],
        [],
    ],
)
def test_what_has_no_addresses_is_not_guessed_at(lines):
    assert guessed(lines) == NOTHING


def test_a_refusal_quotes_the_first_row_and_has_the_guess_ready_to_paste(tmp_path):
    header, rows, guess = FILES["lba"]
    path = tmp_path / "t.csv"
    path.write_text(header + "\n".join(rows))
    with pytest.raises(TraceError) as error:
        choose(Source(path), "auto", {})
    said = str(error.value)
    assert f"(it begins with {header.strip()!r})" in said
    assert said.endswith(f"; a guess to be checked: --columns {guess}")
    path = tmp_path / "t.trace"  # a name that mqsim's files have
    path.write_text("\n".join(FILES["one"][1]) + "\n")
    with pytest.raises(TraceError, match=r"has one.*--columns 'time=row:us,offset=#1:4096,size=4096B,op=read'$"):
        choose(Source(path), "auto", {})


@pytest.mark.parametrize(
    ("header", "row", "said"),
    [
        ("Kind;Bytes;When_ms;Queue;StartSector", "{op};8192;{k}.5;7;{at}",
         "column Kind holds L and S: say which is a read and which a write, op=Kind:L/S or op=Kind:S/L, or"),
        ("when;lba;len;what", "{k};{at};8;{op}", "column what holds L and S: say which is a read and which a write"),
    ],
)  # fmt: skip
def test_ops_in_words_of_its_own_are_asked_for_and_not_taken_for_reads(tmp_path, header, row, said):
    rows = [row.format(op="LS"[k % 3 == 0], k=k, at=k * 7919 % 997) for k in range(40)]
    found = guessed([header, *rows])
    assert "op=" not in found.columns and "time=" in found.columns and said in found.op
    path = tmp_path / "t.csv"
    path.write_text("\n".join([header, *rows]))
    with pytest.raises(TraceError, match=r"column (Kind|what) holds L and S"):
        choose(Source(path), "auto", {})


def test_reads_that_are_only_assumed_are_said():
    header, rows, _ = FILES["twice"]
    assert guessed([*header.splitlines(), *rows]).op == "op=read takes every request for a read"


def test_names_of_two_disks_are_no_ops():
    rows = [f"{k},{'ab'[k % 2]},{k * 7919 % 997},8" for k in range(40)]
    assert guessed(["ts,dev,lba,blocks", *rows]).columns.endswith("op=read,volume=dev")
