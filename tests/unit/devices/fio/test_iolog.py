import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.devices.fio.iolog import Rules, clean, framed, write_iolog
from cachezoo.errors import DeviceError
from tests.oracles.fio import naive_clean

ROWS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 60_000), st.integers(0, 9_000)), min_size=1, max_size=30)
MIB = 1 << 20


def columns(rows):
    op, offset, size = (np.array(one, np.int64) for one in zip(*rows, strict=True))
    return np.arange(len(rows)) * 10, op.astype(np.uint8), offset, size


@given(
    rows=ROWS,
    block=st.sampled_from([512, 4096]),
    data_offset=st.sampled_from([0, MIB]),
    data_bytes=st.integers(4096, 70_000),
    fold=st.booleans(),
    writes=st.sampled_from(["refuse", "as_reads", "replay"]),
)
def test_cleaning_is_the_naive_one_and_every_change_is_counted(rows, block, data_offset, data_bytes, fold, writes):
    rules = Rules(block, data_offset, data_bytes, fold, writes, "/dev/x")
    expected = naive_clean(rows, block, data_offset, data_bytes, fold, writes)
    if expected is None:
        with pytest.raises(DeviceError, match=r"^/dev/x: "):
            clean(*columns(rows), rules)
        return
    requests, cleaning = clean(*columns(rows), rules)
    got = [requests.row, requests.op, requests.offset, requests.size]
    assert list(zip(*(one.tolist() for one in got), strict=True)) == expected[0]
    assert cleaning.counts() == expected[1]
    assert requests.time_us.tolist() == [10 * row for row in requests.row]
    assert (requests.offset % block == 0).all() and (requests.size % block == 0).all() and (requests.size > 0).all()
    assert (requests.offset >= data_offset).all()
    assert (requests.offset + requests.size <= data_offset + data_bytes).all()


@pytest.mark.parametrize(
    ("rows", "rules", "said"),
    [
        ([(0, 0, 512), (1, 0, 512)], {}, "row 2 is a write, one of 1"),
        ([(0, 0, 512), (0, 8192, 4096)], {"data_bytes": 8192}, "row 2 ends at byte 12288, .* set device.fold"),
        (
            [(0, 0, 8193)],
            {"data_bytes": 8192, "fold": True},
            "row 1 is a request of 8704 bytes, and the target has 8192",
        ),
        ([(0, 0, 0)], {}, "nothing to replay"),
    ],
)
def test_refusals_name_the_row_and_the_mend(rows, rules, said):
    given_rules = {"data_bytes": MIB, "fold": False} | rules
    with pytest.raises(DeviceError, match=said):
        clean(*columns(rows), Rules(512, 0, writes="refuse", label="/dev/x", **given_rules))


def test_addresses_up_to_the_largest_of_a_trace_are_folded():
    requests, cleaning = clean(*columns([(0, 2**62 - 2**30, 2**30)]), Rules(4096, MIB, 2**31, True, "refuse", "x"))
    assert cleaning.folded == 1
    assert requests.offset.tolist() == [(2**62 - 2**30) % 2**31 + MIB]


def test_reads_of_the_replays_own_stand_around_the_trace_inside_the_data():
    rules = Rules(512, MIB, MIB + 100, False, "replay", "x")
    requests, _ = clean(*columns([(1, 0, 700), (0, 4096, 512)]), rules)
    script = framed(requests, rules, lead_in=3, sentinels=64)
    assert len(script) == 3 + 2 + 64
    assert script.row.tolist() == [-1] * 3 + [0, 1] + [-1] * 64
    assert script.op.tolist() == [0] * 3 + [1, 0] + [0] * 64
    assert (script.offset % 512 == 0).all()
    assert script.offset.min() == MIB
    assert (script.offset + script.size).max() <= MIB + rules.capacity
    assert len(set(script.offset[5:].tolist())) == 64
    assert (np.diff(script.time_us) >= 0).all()
    assert script.where(3) == f"row 1 (write of 1024 bytes at {MIB})"
    assert script.where(0).startswith("a read of the replay's own")


def test_version_2_is_fios_form(tmp_path):
    rules = Rules(512, MIB, MIB, False, "replay", "x")
    requests, _ = clean(*columns([(1, 0, 512), (0, 4096, 1024)]), rules)
    write_iolog(requests, tmp_path / "log", timed=False)
    assert (tmp_path / "log").read_text().splitlines() == [
        "fio version 2 iolog",
        "disk add",
        "disk open",
        "disk write 1048576 512",
        "disk read 1052672 1024",
        "disk close",
    ]


def test_version_3_has_microseconds_from_1_on(tmp_path):
    # fio drops the wait before a line that follows one at time 0.
    times = np.array([5_000_000, 5_000_250, 6_000_000])
    rules = Rules(512, 0, MIB, False, "refuse", "x")
    zeros = np.zeros(3, np.int64)
    requests, _ = clean(times, zeros.astype(np.uint8), zeros, zeros + 512, rules)
    write_iolog(requests, tmp_path / "log", timed=True)
    assert (tmp_path / "log").read_text().splitlines() == [
        "fio version 3 iolog",
        "1 disk add",
        "1 disk open",
        "1 disk read 0 512",
        "251 disk read 0 512",
        "1000001 disk read 0 512",
        "1000001 disk close",
    ]


def test_long_logs_are_written_in_parts(tmp_path):
    n = 600_000
    zeros = np.zeros(n, np.int64)
    rules = Rules(512, 0, 1 << 40, False, "refuse", "x")
    requests, _ = clean(zeros, zeros.astype(np.uint8), np.arange(n) * 512, zeros + 512, rules)
    write_iolog(requests, tmp_path / "log", timed=False)
    with (tmp_path / "log").open() as file:
        for index, line in enumerate(file):
            if 3 <= index < 3 + n:
                assert line == f"disk read {(index - 3) * 512} 512\n"
    assert index == 3 + n
