import random

import pytest

from cachezoo.errors import TraceError
from tests.trace_data import read, texts

DIGEST = b"56f11b711d91a065a2b6458eca924523"
ROWS = (
    b"89968195792462 20782 gzip 283193184 8 R 6 0 " + DIGEST + b"\n"
    b"89968195793999 20782 kjournald/0 283193192 16 W 6 1 " + DIGEST + b"\n"
)


def made(tmp_path, content):
    path = tmp_path / "homes-110108-112108.1.blkparse"
    path.write_bytes(content)
    return path


def test_known_rows(tmp_path):
    trace = read(made(tmp_path, ROWS))
    assert trace.meta.source_format == "fiu"
    assert trace.time_us.tolist() == [0, 1]
    assert trace.op.tolist() == [0, 1]
    assert (trace.offset.tolist(), trace.size.tolist()) == ([283193184 * 512, 283193192 * 512], [4096, 8192])
    assert (texts(trace.volume), texts(trace.user)) == (["6,0", "6,1"], ["gzip", "kjournald/0"])
    assert trace.flags is None


def test_rows_without_digest_and_with_one_of_every_sector(tmp_path):
    bare = b"".join(row.rpartition(b" ")[0] + b"\n" for row in ROWS.splitlines())
    long = b"89968195795462 7 md5sum 8 2048 R 6 0 " + DIGEST * 2048 + b"\n"
    for content, rows in ((bare, 2), (ROWS + bare, 4), (long, 1), (ROWS + long + bare, 5)):
        trace = read(made(tmp_path, content))
        assert (trace.meta.source_format, len(trace)) == ("fiu", rows)
    assert trace.size.tolist() == [4096, 4096, 8192, 8192, 1 << 20]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (b"89968195795462 7 gzip 8 8 D 6 0 " + DIGEST, "op is 'D'"),
        (b"89968195795462 7 gzip 8 0 R 6 0 " + DIGEST, "size is 0"),
        (b"89968195795462 7 two words 8 8 R 6 0 " + DIGEST, "lba is 'words'"),
        (b"89968195795462 7 gzip 8 8 R 6", "has 7 fields, not 8"),
    ],
)
def test_a_damaged_row_is_named_or_skipped(tmp_path, row, said):
    path = made(tmp_path, ROWS + row + b"\n" + ROWS)
    with pytest.raises(TraceError, match=rf"blkparse: row 3: {said}"):
        read(path)
    assert len(read(path, skip_bad_rows=1)) == 4


def test_random_rows_against_a_loop_over_lines(tmp_path):
    rng = random.Random(5)
    names = ("gzip", "httpd", "nfsd", "[kjournald]", "a-b_c")
    lines, now = [], 89968195792462
    for _ in range(2000):
        now += rng.randint(0, 10**7)
        sectors = rng.randint(1, 16)
        lines.append(
            f"{now} {rng.randint(1, 32768)} {rng.choice(names)} {rng.randint(0, 2**32)} {sectors} {rng.choice('RW')}"
            f" {rng.randint(6, 7)} {rng.randint(0, 2)} {'ab' * 16 * sectors}"
        )
    trace = read(made(tmp_path, "\n".join(lines).encode()))
    rows = [line.split() for line in lines]
    start = int(rows[0][0]) // 1000
    assert trace.time_us.tolist() == [int(row[0]) // 1000 - start for row in rows]
    assert texts(trace.user) == [row[2] for row in rows]
    assert trace.offset.tolist() == [int(row[3]) * 512 for row in rows]
    assert trace.size.tolist() == [int(row[4]) * 512 for row in rows]
    assert trace.op.tolist() == [row[5] == "W" for row in rows]
    assert texts(trace.volume) == [f"{row[6]},{row[7]}" for row in rows]
