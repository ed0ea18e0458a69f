"""What cleaning and joining of a fio replay do, one row at a time."""

from collections import defaultdict, deque


def naive_clean(rows, block, data_offset, data_bytes, fold, writes):
    """Clean rows (op, offset, size) for a target.

    Returns:
        ([(row, op, offset, size)], counts), or None where the trace is refused.
    """
    capacity = data_bytes - data_bytes % block
    kept = []
    counts = {"requests": len(rows), "zero_length": 0, "rounded": 0, "folded": 0, "writes_as_reads": 0}
    for row, (op, offset, size) in enumerate(rows):
        if size == 0:
            counts["zero_length"] += 1
            continue
        if op == 1:
            if writes == "refuse":
                return None
            if writes == "as_reads":
                op = 0
                counts["writes_as_reads"] += 1
        first = offset
        while first % block:
            first -= 1
        end = offset + size
        while end % block:
            end += 1
        counts["rounded"] += (first, end) != (offset, offset + size)
        length = end - first
        if length > capacity:
            return None
        if end > capacity:
            if not fold:
                return None
            moved = first % capacity
            while moved + length > capacity:
                moved -= block
            counts["folded"] += moved != first
            first = moved
        kept.append((row, op, first + data_offset, length))
    return (kept, counts) if kept else None


def naive_join(requests, lines):
    """For each request (op, size, offset) the index of its line, or None; None in all if a line is of no request."""
    waiting = defaultdict(deque)
    for index, request in enumerate(requests):
        waiting[request].append(index)
    found = [None] * len(requests)
    for number, line in enumerate(lines):
        if not waiting[line]:
            return None
        found[waiting[line].popleft()] = number
    return found
