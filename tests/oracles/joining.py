"""Joining of contiguous requests, by looking at every access for every request."""


def naive_join(rows, within_us, max_bytes):
    """Join rows (time, device, op, offset, size, latency or -1), which are in the order of time.

    Returns:
        One such row an access, in the order of their first pieces.
    """
    accesses: list[list[int]] = []
    for row, (time, device, op, offset, size, _) in enumerate(rows):
        best = None
        for pieces in accesses:
            last = rows[pieces[-1]]
            if (last[1], last[2], last[3] + last[4]) == (device, op, offset) and (
                best is None or pieces[-1] > best[-1]
            ):
                best = pieces
        fits = (
            best is not None
            and time - rows[best[-1]][0] <= within_us
            and sum(rows[piece][4] for piece in best) + size <= max_bytes
        )
        if fits:
            best.append(row)
        else:
            accesses.append([row])
    joined = []
    for pieces in accesses:
        first = rows[pieces[0]]
        ends = [rows[piece][0] + rows[piece][5] for piece in pieces]
        known = all(rows[piece][5] >= 0 for piece in pieces)
        size = sum(rows[piece][4] for piece in pieces)
        joined.append((*first[:4], size, max(ends) - first[0] if known else -1))
    return joined
