"""A run's figures, naively: sets of what is dirty and what was fetched unasked, one access at a time."""

from cachezoo.kernels.outcome import ADMITTED, HIT, PREFETCH, PREFETCHED, REQUEST, WRITE


def account(stream, outcome, victim, first):
    names = (
        "requests", "request_hits", "page_accesses", "hits", "bytes", "byte_hits", "ssd_writes", "prefetched",
        "prefetch_hits", "replacements", "dirty_evictions", "disk_writes",
    )  # fmt: skip
    total = dict.fromkeys(names, 0)
    dirty, fresh, requests = set(), set(), []
    for i, flags in enumerate(stream.flags.tolist()):
        page, size = int(stream.page_ids[i]), int(stream.page_bytes[i])
        found = dict.fromkeys(names, 0)
        write = bool(flags & WRITE)
        if flags & REQUEST:
            requests.append([i >= first, []])
        left = int(victim[i])
        if left >= 0:
            found["replacements"] = 1
            found["dirty_evictions"] = found["disk_writes"] = int(left in dirty)
            dirty.discard(left)
            fresh.discard(left)
        if flags & PREFETCH:
            if outcome[i] == PREFETCHED:
                found["prefetched"] = found["ssd_writes"] = 1
                fresh.add(page)
                dirty.discard(page)
        else:
            found["page_accesses"], found["bytes"] = 1, size
            requests[-1][1].append((size, outcome[i] != HIT))
            if outcome[i] == HIT:
                found["hits"], found["byte_hits"] = 1, size
                found["prefetch_hits"] = int(page in fresh)
                fresh.discard(page)
                found["ssd_writes"] = int(write)
            else:
                found["ssd_writes"] = int(outcome[i] == ADMITTED)
            if write and outcome[i] in (ADMITTED, HIT) and stream.writes == "back":
                dirty.add(page)
            elif write:
                found["disk_writes"] += 1
        if i >= first:
            for name in names:
                total[name] += found[name]
    total["requests"] = sum(counted for counted, _ in requests)
    missing = [span(pages) for _, pages in requests]
    total["request_hits"] = sum(counted and lacks == 0 for (counted, _), lacks in zip(requests, missing, strict=True))
    return total, missing


def span(pages):
    """Bytes from the first missing page to the last, of (bytes, missing) pages in order."""
    missed = [k for k, (_, missing) in enumerate(pages) if missing]
    return sum(size for size, _ in pages[missed[0] : missed[-1] + 1]) if missed else 0
