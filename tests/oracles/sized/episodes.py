"""Episodes of objects and what is known of an object's past, naively, in the words of their documentation."""

FAR = float(1 << 22)


def episodes(requests, age, capacity, around, seconds):
    """Episode and place of each request, and [first, last, held, written, saved] of each episode.

    `seconds` gives a disk head's seconds for an I/O of so many bytes.
    """
    open_, void, of, place, found = {}, {}, [], [], []
    timed = requests.time_us is not None
    for i, (key, size, op) in enumerate(
        zip(requests.ids.tolist(), requests.size.tolist(), requests.op.tolist(), strict=True)
    ):
        if key in open_:
            gap = i - found[open_[key]][1] > age
            if gap or (timed and requests.time_us[i] >= void[key]):
                del open_[key]
        if op == 2 or (op == 1 and around) or size > capacity or (size == 0 and key not in open_):
            open_.pop(key, None)
            of.append(-1)
            place.append(0)
            continue
        new = key not in open_
        if new:
            open_[key] = len(found)
            found.append([i, i, size, 0, 0.0])
        own = found[open_[key]]
        own[1] = i
        if new or op == 1:
            own[3] += size
            void[key] = requests.expires_us[i] if timed else None
        else:
            own[4] += seconds(size)
        place.append(of.count(open_[key]))
        of.append(open_[key])
    return of, place, found


def inputs(requests, width, windows, gaps):
    """A row for each request: op, size, reads, changes, since the first, gaps; reads and changes by window."""
    rows = []
    for i, key in enumerate(requests.ids):
        before = [j for j in range(i) if requests.ids[j] == key]
        reads = [j for j in before if requests.op[j] == 0]
        changes = [j for j in before if requests.op[j] != 0]
        times = [i, *reversed(before)]
        between = [times[k] - times[k + 1] if k + 1 < len(times) else FAR for k in range(gaps)]
        row = [requests.op[i], requests.size[i], len(reads), len(changes), i - before[0] if before else FAR, *between]
        for kind in (reads, changes):
            row += [sum(i // width - j // width < window for j in kind) for window in windows]
        rows.append([float(value) for value in row])
    return rows
