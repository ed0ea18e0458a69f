import gzip
import random
from decimal import ROUND_HALF_EVEN, Decimal

import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.formats.base import Head
from cachezoo.traces.formats.disksim import time_doubts
from cachezoo.traces.recognise import UnclearTrace
from tests.trace_data import read, sample, texts

FACTORS = {"s": 10**6, "ms": 1000, "us": 1, "ns": Decimal("0.001")}
DISKSIM = b"7961.833 0 20228336 8 0\n8346.2064 1 6397360 496 1\n8348.644 0 6397856 472 12\n8348.644 2 8 8 13\n"
MQSIM = b"4851300 1 524288 16 0\n9851299 0 8 1 1\n"


def made(tmp_path, content):
    path = tmp_path / "t.trace"
    path.write_bytes(content)
    return path


def naive(path, unit):
    """(time, op, offset, size, device, flags) of each line, in whole microseconds."""
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else path.open()
    rows = []
    with opened as lines:
        for line in lines:
            time, device, lba, size, flags = line.split()[:5]
            rounded = int((Decimal(time) * FACTORS[unit]).quantize(Decimal(1), ROUND_HALF_EVEN))
            rows.append((rounded, 1 - (int(flags, 16) & 1), int(lba) * 512, int(size) * 512, device, flags))
    return [(row[0] - rows[0][0], *row[1:]) for row in rows]


def rows_of(trace):
    numbers = (trace.time_us.tolist(), trace.op.tolist(), trace.offset.tolist(), trace.size.tolist())
    return list(zip(*numbers, texts(trace.volume), texts(trace.flags), strict=True))


def test_known_rows(tmp_path):
    trace = read(made(tmp_path, DISKSIM))
    assert (trace.meta.source_format, trace.meta.extra["time_unit"]) == ("disksim", "ms")
    assert trace.time_us.tolist() == [0, 384373, 386811, 386811]
    assert trace.op.tolist() == [1, 0, 1, 0]
    assert trace.offset.tolist() == [20228336 * 512, 6397360 * 512, 6397856 * 512, 4096]
    assert trace.size.tolist() == [4096, 496 * 512, 472 * 512, 4096]
    assert (texts(trace.volume), texts(trace.flags)) == (["0", "1", "0", "2"], ["0", "1", "12", "13"])


def test_mqsim_rows(tmp_path):
    trace = read(made(tmp_path, MQSIM))
    assert (trace.meta.source_format, trace.meta.extra["time_unit"]) == ("mqsim", "ns")
    assert trace.time_us.tolist() == [0, 9851299 // 1000 - 4851]
    assert trace.op.tolist() == [1, 0]
    assert (trace.offset.tolist(), trace.size.tolist()) == ([524288 * 512, 4096], [8192, 512])
    assert texts(trace.volume) == ["1", "0"]


@pytest.mark.parametrize("fmt", ["disksim", "mqsim"])
@pytest.mark.parametrize(("unit", "us"), [("s", 3e6), ("ms", 3000), ("us", 3), ("ns", 0)])
def test_the_unit_can_be_given(tmp_path, fmt, unit, us):
    trace = read(made(tmp_path, b"0 0 8 8 1\n3 0 8 8 1\n"), fmt=fmt, time_unit=unit)
    assert (trace.time_us.tolist(), trace.meta.extra["time_unit"]) == ([0, us], unit)


@pytest.mark.parametrize(("step", "unit"), [(3, "ms"), (3001, "us"), (3_000_000, "ns"), (40_000, "ns"), (31, "ms")])
def test_whole_numbers_take_the_unit_of_the_likeliest_rate(tmp_path, step, unit):
    """40,000 is a whole number of thousands: 25,000 requests a second of nanoseconds rather than 25 of microseconds."""
    content = "".join(f"{k * step} 0 {8 * k} 8 1\n" for k in range(500)).encode()
    path = tmp_path / "t"
    path.write_bytes(content)
    if step == 31:  # 32 requests a second, or 32,000
        with pytest.raises(UnclearTrace, match=r"--option time_unit=ms .*--option time_unit=us "):
            read(path)
        return
    trace = read(path)
    assert (trace.meta.source_format, trace.meta.extra["time_unit"]) == ("mqsim" if unit == "ns" else "disksim", unit)
    assert trace.time_us[-1] == 499 * step * FACTORS[unit]


def doubts(content, mqsim=False, whole=True):
    return time_doubts(Head(content, whole, None), mqsim)


def test_the_rule_passes_over_what_is_no_row():
    found = doubts(b"0 0 8 8 1\nfield\n3000 0 8 8 1\n999999999 0 8", whole=False)
    assert min(found, key=found.get) == "us"
    for content in (b"0 0 8 8 1\n3 0 8 8 1", b"5 0 8 8 1\n5 0 16 8 1\n", b""):
        found = doubts(content)
        assert min(found, key=found.get) == "ms"


def test_rows_of_mqsim_and_whole_thousands_speak_for_nanoseconds():
    rows = [f"{1000 * k * k} 0 8 8 1\n" for k in range(1, 60)]
    plain, thousands = doubts("".join(rows).encode()), doubts("".join(rows).encode(), mqsim=True)
    assert thousands["ns"] == pytest.approx(plain["ns"] - 1.5)
    odd = doubts("".join([*rows, "3600001 0 8 8 1\n"]).encode(), mqsim=True)
    assert odd["ns"] == pytest.approx(plain["ns"] - 0.5, abs=0.01)


def test_seconds_one_a_row(tmp_path):
    content = "".join(f"{k // 400} 0 {8 * k} 8 1\n" for k in range(2000)).encode()
    assert read(made(tmp_path, content)).meta.extra["time_unit"] == "s"


def test_a_batch_column_is_passed_over_and_blanks_may_run(tmp_path):
    trace = read(made(tmp_path, b"  1.5\t0   8 8 1 7\r\n 2.5 0 16 8  1f\n"))
    assert (trace.time_us.tolist(), trace.op.tolist(), texts(trace.flags)) == ([0, 1000], [0, 0], ["1", "1f"])


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (b"9000.1 0 8 8 q", "op is 'q'"),
        (b"9000.1 0 8 0 1", "size is 0"),
        (b"9000.1 0 -8 8 1", "offset is -4096"),
        (b"soon 0 8 8 1", "time is 'soon', not a number"),
        (b"9000.1 0 8 8", "has 4 fields, not 5"),
    ],
)
def test_a_damaged_row_is_named_or_skipped(tmp_path, row, said):
    path = made(tmp_path, DISKSIM + row + b"\n" + b"9001.5 0 8 8 1\n")
    with pytest.raises(TraceError, match=rf"t\.trace: row 5: {said}"):
        read(path)
    assert len(read(path, skip_bad_rows=1)) == 5


def test_an_mqsim_type_is_0_or_1(tmp_path):
    with pytest.raises(TraceError, match=r"row 3: op is '2'"):
        read(made(tmp_path, MQSIM + b"9999999 0 8 1 2\n"), fmt="mqsim")


def test_random_rows_against_a_loop_over_lines(tmp_path):
    rng = random.Random(7)
    lines, now = [], 0
    for _ in range(3000):
        now += rng.randint(0, 10**4)
        flags = f"{rng.randint(0, 255):x}"
        lines.append(f"{now / 1000:.3f} {rng.randint(0, 3)} {rng.randint(0, 2**40)} {rng.randint(1, 512)} {flags}")
    path = made(tmp_path, "\n".join(lines).encode())
    assert rows_of(read(path)) == naive(path, "ms")


@pytest.mark.needs("public_traces")
@pytest.mark.parametrize(
    ("name", "unit", "requests", "reads", "last_us"),
    [("postmark", "ms", 62_257, 51_780, 490_436_763), ("ms_dtrs", "us", 127_043, 113_123, 299_999_516)],
)
def test_samples_against_a_loop_over_lines(name, unit, requests, reads, last_us):
    path = sample(f"block/{name}.disksim.gz")
    trace = read(path)
    assert (trace.meta.source_format, trace.meta.extra["time_unit"]) == ("disksim", unit)
    assert (len(trace), int((trace.op == 0).sum()), trace.time_us[-1]) == (requests, reads, last_us)
    assert rows_of(trace) == naive(path, unit)
