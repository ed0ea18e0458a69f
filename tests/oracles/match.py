"""Naive join of block events: for every request, look through all later events."""

from cachezoo.traces.capture.events import COMPLETE, ISSUE, Events


def naive_latencies(events: Events) -> list[tuple[int, int, int, int]]:
    """(time, sector, sectors, latency) of each issue, for events whose completions come whole and never requeued.

    The i-th issue of an address and length is completed by the i-th later completion of the same address and
    length that no earlier issue took; -1 without one. Quadratic.
    """
    taken: set[int] = set()
    rows = []
    for i in range(len(events)):
        if events.kind[i] != ISSUE or events.sectors[i] == 0 or events.rwbs[i][0] not in "RW":
            continue
        key = (events.sector[i], events.sectors[i])
        latency = -1
        for j in range(i + 1, len(events)):
            if events.kind[j] == COMPLETE and j not in taken and (events.sector[j], events.sectors[j]) == key:
                taken.add(j)
                latency = int(events.time_us[j] - events.time_us[i])
                break
        rows.append((int(events.time_us[i]), int(key[0]), int(key[1]), latency))
    return rows
