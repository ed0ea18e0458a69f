"""Reduced traces from what they are for: a map of which page lies in which slot, and lists of I/Os."""

from collections import deque

SSD, DISK, WRITTEN = 2, 3, 0


def reduce_tiers(page_ids, request_of, write, tier, address, events, fed, slots, first):
    """Disk I/Os as [request, place, span, pages]; SSD reads and batches as [request or access, place, pages]; slots.

    `events` are (access, page, what), those of a feed before their access.
    """
    where, free = {}, deque(range(slots))
    disk, reads, batches, written = [], [], [], []

    def happen(i):
        for _, page, what in [event for event in events if event[0] == i]:
            if what == WRITTEN:
                where[page] = free.popleft()
                written.append(where[page])
                _add(batches, i, where[page], i >= first)
            elif page in where:
                free.append(where.pop(page))

    for i, page in enumerate(page_ids):
        if fed:
            happen(i)
        if write[i] or tier[i] == DISK:
            if i >= first:
                disk.append([request_of[i], address[page]])
        elif tier[i] == SSD:
            _add(reads, request_of[i], where[page], i >= first)
        if not fed:
            happen(i)
    owners = dict.fromkeys(request for request, _ in disk)
    own = {owner: [place for request, place in disk if request == owner] for owner in owners}
    disk = [[owner, min(places), max(places) - min(places) + 1, len(places)] for owner, places in own.items()]
    return disk, reads, batches, written


def _add(ios, owner, place, kept):
    if not kept:
        return
    if ios and ios[-1][0] == owner and ios[-1][1] + ios[-1][2] == place:
        ios[-1][2] += 1
    else:
        ios.append([owner, place, 1])


def waits(request, pages, times, requests, first):
    """Of each request the time of all pages, of its slowest I/O, and how many pages I/Os bring."""
    own = [[k for k, r in enumerate(request) if r == first + i] for i in range(requests)]
    return (
        [sum(pages[k] * times[k] for k in ks) for ks in own],
        [max([times[k] for k in ks], default=0.0) for ks in own],
        [sum(pages[k] for k in ks) for ks in own],
    )
