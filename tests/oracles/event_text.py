"""Events of blkparse's and the kernel's text, line by line with regular expressions."""

import re

BLKPARSE = re.compile(
    r"\s*(\d+),(\d+)\s+\d+\s+\d+\s+(\d+)\.(\d{9})\s+\d+\s+([DCRQ])\s+(\w+) (?:(\d+) \+ (\d+) (?:\(.*\) )?)?(.*)\[(.*)\]"
)
TRACEFS = re.compile(
    r".*?\s(\d+)\.(\d+): +(?:block:)?block_(?:rq|bio)_(issue|complete|requeue|queue): +(\d+),(\d+) (\w+) (?:\d+ )?"
    r"(?:\(.*?\) )?(\d+) \+ (\d+)(.*?)\[(.*)\]"
)
KINDS = {"issue": 0, "D": 0, "complete": 1, "C": 1, "requeue": 2, "R": 2, "queue": 3, "Q": 3}


def blkparse_events(text: str) -> list[tuple[int, int, str, int, int, str, str]]:
    """(ns, kind, device, sector, sectors, rwbs, bracket) of the lines that are events with sectors."""
    rows = []
    for line in text.splitlines():
        found = BLKPARSE.fullmatch(line)
        if found is None or found[7] is None:
            continue
        major, minor, s, ns, action, rwbs, sector, sectors, _, tail = found.groups()
        time_ns = int(s) * 10**9 + int(ns)
        rows.append((time_ns, KINDS[action], f"{major},{minor}", int(sector), int(sectors), rwbs, tail))
    return rows


def tracefs_events(text: str) -> list[tuple[int, int, str, int, int, str, str]]:
    """As `blkparse_events`, of the kernel's text."""
    rows = []
    for line in text.splitlines():
        found = TRACEFS.fullmatch(line)
        if found is None:
            continue
        s, part, kind, major, minor, rwbs, sector, sectors, _, tail = found.groups()
        time_ns = int(s) * 10**9 + int(part.ljust(9, "0"))
        rows.append((time_ns, KINDS[kind], f"{major},{minor}", int(sector), int(sectors), rwbs, tail))
    return rows


def naive_requests(rows: list[tuple[int, int, str, int, int, str, str]]) -> list[tuple[int, str, int, int, int, str]]:
    """(microsecond, device, sector, sectors, latency, rwbs) of the issues of such events, reads and writes in order."""
    from tests.oracles.match import naive_join

    data = [row for row in rows if row[1] != 3 and row[4] and row[5].removeprefix("F")[0] in "RW"]
    devices = sorted({row[2] for row in data})
    steps = [(kind, devices.index(device), sector, sectors, 0) for _, kind, device, sector, sectors, _, _ in data]
    first, last, _ = naive_join(steps)
    return [
        (
            data[i][0] // 1000,
            *data[i][2:5],
            data[j][0] // 1000 - data[i][0] // 1000 if j >= 0 else -1,
            data[i][5],
        )
        for i, j in zip(first, last, strict=True)
    ]
