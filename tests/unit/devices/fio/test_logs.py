import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.devices.fio.iolog import ReplayRows
from cachezoo.devices.fio.logs import Log, check_order, check_times, join, queued_us, read_log, service_us
from cachezoo.errors import DeviceError
from tests.oracles.fio import naive_join

GOLDEN = Path(__file__).parents[3] / "golden" / "fio"
OPS = {"read": 0, "write": 1}


def requests_of(rows):
    """Requests of (op, size, offset)."""
    op, size, offset = (np.array(one, np.int64) for one in zip(*rows, strict=True))
    return ReplayRows(np.arange(len(rows)), op.astype(np.uint8), offset, size, np.arange(len(rows)))


def log_of(rows, ns=None):
    columns = [np.array(one, np.int64) for one in zip(*rows, strict=True)] if rows else [np.zeros(0, np.int64)] * 3
    op, size, offset = columns
    return Log(Path("times_lat.log"), np.array(range(1, len(rows) + 1) if ns is None else ns), op, size, offset)


def recorded():
    lines = [line.split() for line in (GOLDEN / "requests.iolog").read_text().splitlines()]
    return [(OPS[line[1]], int(line[3]), int(line[2])) for line in lines if len(line) == 4 and line[1] in OPS]


def fields(name):
    return [tuple(int(one) for one in line.split(", ")) for line in (GOLDEN / name).read_text().splitlines()]


def test_a_recorded_log_at_depth_1_is_in_the_order_of_the_requests():
    requests = requests_of(recorded())
    times = service_us(read_log(GOLDEN / "depth1_lat.log"), requests, "x")
    assert times.tolist() == [line[1] / 1000 for line in fields("depth1_lat.log")]


def test_a_recorded_log_at_depth_4_is_joined_and_the_last_three_are_lost():
    rows = recorded()
    times = queued_us(read_log(GOLDEN / "depth4_lat.log"), read_log(GOLDEN / "depth4_slat.log"), requests_of(rows), "x")
    lines = fields("depth4_lat.log")
    expected = naive_join(rows, [(line[2], line[3], line[4]) for line in lines])
    assert [None if np.isnan(one) else one for one in times] == [
        None if line is None else lines[line][1] / 1000 for line in expected
    ]
    assert np.isnan(times).sum() == 3
    assert not np.isnan(times[:60]).any()


ROW = st.tuples(st.integers(0, 1), st.sampled_from([512, 1024]), st.sampled_from([0, 512, 1024]))


@given(
    rows=st.lists(ROW, min_size=1, max_size=40), seed=st.integers(0, 2**32), lost=st.integers(0, 5), extra=st.booleans()
)
def test_join_is_first_in_first_out_for_any_order_of_completion(rows, seed, lost, extra):
    rng = random.Random(seed)
    lines = rows.copy()
    rng.shuffle(lines)
    lines = lines[: len(lines) - lost] if lost else lines
    if extra:
        lines.insert(rng.randrange(len(lines) + 1), rng.choice([(0, 512, 0), (1, 2048, 0)]))
    expected = naive_join(rows, lines)
    if expected is None:
        with pytest.raises(DeviceError, match="was not asked for"):
            join(log_of(lines), requests_of(rows), "x")
        return
    got = join(log_of(lines), requests_of(rows), "x")
    assert got.tolist() == [-1 if line is None else line for line in expected]


def test_join_names_the_first_line_of_no_request():
    rows = [(0, 512, 0), (0, 512, 512)]
    with pytest.raises(DeviceError, match="line 2 of fio's log is a write of 512 bytes at 7, which was not asked for"):
        join(log_of([rows[1], (1, 512, 7), (1, 9, 9)]), requests_of(rows), "x")


ROWS = [(0, 512, 0), (1, 4096, 8192), (0, 512, 512)]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (ROWS[:2], r"logged 2 of 3 requests; row 3 \(read of 512 bytes at 512\) is the first without"),
        ([*ROWS, (0, 1, 2)], "logged 4 requests of 3"),
        ([ROWS[0], (0, 4096, 8192), ROWS[2]], r"line 2 .* is a read of 4096 bytes at 8192 where row 2 \(write of"),
        ([ROWS[0], ROWS[1], (0, 0, 512)], "line 3 .* is a read of 0 bytes at 512 where row 3"),
        ([(0, 512, 512), ROWS[1], ROWS[2]], "line 1 .* at 512 where row 1 .* at 0"),
        ([ROWS[0], (2, 4096, 8192), ROWS[2]], "line 2 .* is a direction 2"),
        ([], "logged 0 of 3"),
    ],
)
def test_a_log_that_answers_other_requests_is_refused(lines, said):
    with pytest.raises(DeviceError, match=f"^/dev/x: .*{said}"):
        check_order(log_of(lines), requests_of(ROWS), "/dev/x")


def test_times_longer_than_the_replay_are_refused():
    log = log_of(ROWS, ns=[5, 3_000_000_001, 7])
    check_times(log, 3.1, "x")
    with pytest.raises(DeviceError, match="line 2 of fio's log gives 3000000001 ns for a write"):
        check_times(log, 3.0, "x")


def test_no_time_is_0():
    assert service_us(log_of(ROWS, ns=[0, 1500, 1]), requests_of(ROWS), "x").tolist() == [0.001, 1.5, 0.001]


@pytest.mark.parametrize("text", ["1, 2, 0, 512\n", "1, x, 0, 512, 0, 0\n", "1, 2, 0, 512, 0, 0\n1, 2\n", "fio: no\n"])
def test_other_text_is_no_log(tmp_path, text):
    (tmp_path / "times_lat.log").write_text(text)
    with pytest.raises(DeviceError, match=r"^times_lat\.log: not a latency log of fio") as caught:
        read_log(tmp_path / "times_lat.log")
    assert "\n" not in str(caught.value)


def test_newer_fios_further_columns_are_left_alone(tmp_path):
    (tmp_path / "log").write_text("1, 2, 0, 512, 1024, 0, 77, 0x0\n")
    log = read_log(tmp_path / "log")
    assert (log.ns[0], log.op[0], log.size[0], log.offset[0]) == (2, 0, 512, 1024)


def test_no_log_at_all_is_said(tmp_path):
    with pytest.raises(DeviceError, match="fio wrote no latency log"):
        read_log(tmp_path / "log")
    (tmp_path / "log").touch()
    assert len(read_log(tmp_path / "log")) == 0
