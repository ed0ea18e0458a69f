"""Slots of a page cache's SSD from what they are for: a map of who lies where, and the slots that are free."""

from cachezoo.kernels.outcome import ADMITTED, HIT, PREFETCHED, WRITE


def slots_written(page_ids, flags, outcome, victim):
    where, never_used, found = {}, 0, []
    for i, (page, flag, did, gone) in enumerate(zip(page_ids, flags, outcome, victim, strict=True)):
        if did in (ADMITTED, PREFETCHED):
            if gone in where:
                where[page] = where.pop(gone)
            else:
                where[page], never_used = never_used, never_used + 1
            found.append((where[page], i))
        elif did == HIT and flag & WRITE:
            found.append((where[page], i))
    assert len(set(where.values())) == len(where)
    return found
