"""The guess at the columns of a file of no known format."""

import sys

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


def test_guesses_at_tables_of_known_requests_are_right_or_ask():
    """Columns in any order, unit and spelling, among others, with names or without; benchmarks/guesses.py has more."""
    sys.path.insert(0, "benchmarks")
    import guesses

    counts = guesses.run(60, seed=3)
    assert counts["wrong"] == 0 and counts["right"] >= 25, counts


REQUESTS = [
    (k * 1505 + k % 7, "RW"[k % 3 == 0], 4096 * (k * 7919 % 4099), (4096, 8192, 32768)[k % 5 % 3]) for k in range(120)
]


@pytest.mark.parametrize(
    ("row", "guess"),
    [
        # The action letter of blkparse is no op, and a process number no size.
        ("{s:.9f}, 811, fio, D, {sector}, {sectors}, {op}S", "time=#1:s,offset=#5:512,size=#6:512,op=#7"),
        ("{s:.9f} Q {op}S {sector} {size}", "time=#1:s,offset=#4:512,size=#5:1,op=#3"),
        # A latency is no offset, however it is counted.
        ("{sectors} {late_ns} {s:.6f} {sector} {op}", "time=#3:s,offset=#4:512,size=#1:512,op=#5"),
        ("{op};{late_s:.6f};{offset};{size};{us}", "time=#5:us,offset=#3:1,size=#4:1,op=#1"),
        # Sizes are not dropped, nor taken for addresses; a moment since 1970 tells its unit.
        ("{size},{offset},17,{op},15{us:014d}", "time=#5:us,offset=#2:1,size=#1:1,op=#4"),
        # Sectors against bytes, by what ends where another begins and what lies on pages.
        ("{op}\t{sector}\t{size}\t{us}", "time=#4:us,offset=#2:512,size=#3:1,op=#1"),
    ],
)  # fmt: skip
def test_columns_without_names_are_told_by_what_a_disk_can_have_done(row, guess):
    lines = [
        row.format(
            s=us / 1e6, us=us, op=op, offset=offset, sector=offset // 512, size=size, sectors=size // 512,
            late_ns=100_003 + us * 7919 % 4_000_037, late_s=(us * 7919 % 4093) / 1e6,
        )
        for us, op, offset, size in REQUESTS
    ]  # fmt: skip
    assert guessed(lines).columns == guess


def test_a_clock_that_does_not_move_and_times_of_files_are_no_time():
    header = "c_time,filename,file_offset,disk_time,op_type,disk_io_size_bytes,request_io_size_bytes,start_time"
    rows = [
        f"1700000000.1,f{k % 4},{offset},{(k * 7919 % 4093) / 1e6:.6f},{dict(R='READ', W='WRITE')[op]},{size},{size},"
        f"{1700000000 + us / 1e6:.6f}"
        for k, (us, op, offset, size) in enumerate(REQUESTS)
    ]
    guess = "time=start_time:s,offset=file_offset:1,size=request_io_size_bytes:1,op=op_type,volume=filename"
    assert guessed([header, *rows]) == (guess, "", ())


def test_units_that_are_about_as_likely_are_given_side_by_side():
    rows = [f"{op} {us} {offset} {size}" for us, op, offset, size in REQUESTS]
    found = guessed(rows)
    assert found.columns == "time=#2:us,offset=#3:1,size=#4:1,op=#1"
    slower = guessed([f"{op} {us // 10} {offset} {size}" for us, op, offset, size in REQUESTS])
    assert {slower.columns, *slower.others} >= {f"time=#2:{unit},offset=#3:1,size=#4:1,op=#1" for unit in ("us", "ms")}


def test_numbers_with_a_sign_that_may_say_the_op_are_pointed_at():
    rows = [
        f"0 {us} {'+' if op == 'W' else '-'}{offset // 4096 + 1} {size // 4096}" for us, op, offset, size in REQUESTS
    ]
    found = guessed(rows)
    assert found.columns == "" and found.op.startswith("column #3 has numbers with a plus and numbers with a minus")


def test_ops_in_words_with_a_known_beginning_are_spelled_out():
    words = {"R": "getChunkData.Permanent", "W": "putChunk.Permanent"}
    rows = [f"{us},{words[op]},{offset},{size}" for us, op, offset, size in REQUESTS]
    found = guessed(["op_time_us,op_name,io_offset,io_size", *rows])
    assert found.columns.endswith("op=op_name:getChunkData.Permanent/putChunk.Permanent") and not found.op


def test_an_op_of_one_value_that_says_nothing_is_asked_for():
    rows = [f"{us},1,{offset},{size}" for us, _, offset, size in REQUESTS]
    found = guessed(["time_us,op,offset,size", *rows])
    assert "op=" not in found.columns and found.op.startswith("column op holds 1 alone: say what it means")


OBJECTS = [
    (k // 3, 10_000 + k * k * 7919 % 61, (10, 107, 1000, 30_000, 2_000_000)[k * k * 7919 % 61 % 5]) for k in range(180)
]


def test_ids_with_sizes_of_their_own_are_keys_of_objects():
    """Sizes that are no sectors and go with the id: no address, whose neighbours would overlap."""
    assert guessed([f"{at} {key} {size}" for at, key, size in OBJECTS]).columns.endswith("key=#2,size=#3:1,op=read")
    rows = [f"{at},{key},40,GET,{1 + at % 3},{size},0" for at, key, size in OBJECTS]
    found = guessed(["op_time_s,key,key_size,op,op_count,size,ttl", *rows])
    assert found == ("time=op_time_s:s,key=key,size=size:1,op=op,count=op_count,ttl=ttl", "", ())
    tabs = [f"{at}\t{key}\tpng\t{size}\t{1e-4 + key / 1e9:.6e}" for at, key, size in OBJECTS]
    header = "relative_unix\thashed_path_query\timage_type\tresponse_size\ttime_firstbyte"
    assert guessed([header, *tabs]).columns == "time=relative_unix:s,key=hashed_path_query,size=response_size:1,op=read"


def test_keys_that_are_texts_and_what_is_deleted():
    rows = [f"{('GET', 'SET', 'DELETE')[at % 3]}_KEY,obj{key:05},{size}" for at, key, size in OBJECTS]
    guess = "time=row:us,key=key,size=size:1,op=op:GET_KEY/SET_KEY/DELETE_KEY"
    assert guessed(["op,key,size", *rows]).columns == guess


@pytest.mark.parametrize("turn", range(5))
def test_the_same_objects_by_other_keys_are_guessed_alike(turn):
    renamed = {key: (key * (2 * turn + 3) + 7 * turn) * 7919 % 1_000_003 for _, key, _ in OBJECTS}
    found = guessed([f"{at} {renamed[key]} {size}" for at, key, size in OBJECTS])
    assert found.columns.endswith("key=#2,size=#3:1,op=read") and not any("offset=" in one for one in found.others)


def test_dates_clocks_decimal_commas_and_hexadecimal_digits():
    rows = [
        (f"2024-01-15 10:30:{45 + us / 1e6:09.6f}", f"{us / 1e6:.6f}".replace(".", ","), f"{offset:x}", f"{size:x}", op)
        for us, op, offset, size in REQUESTS
    ]
    assert guessed([f"{date};{op};{REQUESTS[k][2]};{REQUESTS[k][3]}" for k, (date, *_, op) in enumerate(rows)]) == (
        "time=#1:date,offset=#3:1,size=#4:1,op=#2", "", (),
    )  # fmt: skip
    found = guessed(
        ["Zeit;Adresse;Groesse;Vorgang", *(f"{at};{offset};{size};{op}" for _, at, offset, size, op in rows)]
    )
    assert found.columns == "time=Zeit:s,offset=Adresse:hex,size=Groesse:hex,op=Vorgang"
    blanks = guessed([f"{date} {op} {REQUESTS[k][2]} {REQUESTS[k][3]}" for k, (date, *_, op) in enumerate(rows)])
    assert blanks.columns == "time=#2:clock,offset=#4:1,size=#5:1,op=#3"
