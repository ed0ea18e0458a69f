"""Naive oracle by request: a dictionary of (worth, last use), sorted for each request; and what a next use saves."""

from tests.oracles.oracle_cache import NaiveRun


def naive_time_saved(requests: list[list[int]], t_hdd: list[float], t_ssd: list[float], reach: int) -> list[float]:
    """(T_HDD - T_SSD of the next use's request, at least 0) / its pages / accesses until then; 0 beyond `reach`."""
    ids = [page for request in requests for page in request]
    row = [i for i, request in enumerate(requests) for _ in request]
    saved = []
    for p, page in enumerate(ids):
        later = [q for q in range(p + 1, min(len(ids), p + reach + 1)) if ids[q] == page]
        if not later:
            saved.append(0.0)
            continue
        i = row[later[0]]
        saved.append(max(t_hdd[i] - t_ssd[i], 0.0) / len(requests[i]) / (later[0] - p))
    return saved


def _total(values: list[float]) -> float:
    """Added one by one: `sum` rounds otherwise."""
    total = 0.0
    for value in values:
        total += value
    return total


def naive_request_oracle(requests: list[list[int]], value: list[float], capacity: int) -> NaiveRun:
    """All missing pages of a request enter if they are worth more than the least worthy that would have to leave."""
    run = NaiveRun()
    cache: dict[int, tuple[float, int]] = {}
    began: dict[int, int] = {}
    left: dict[int, int] = {}
    entries: list[int | None] = []
    low = 0
    for request in requests:
        high = low + len(request)
        if len(cache) == capacity:
            run.contested = high - 1
        here = dict(zip(request, range(low, high), strict=True))
        missing = [page for page in request if page not in cache]
        for page in request:
            if page in cache:
                cache[page] = (value[here[page]], here[page])
        leaving = sorted(cache, key=lambda page: cache[page])[: max(0, len(missing) - (capacity - len(cache)))]
        room = len(missing) <= capacity - len(cache)
        gain, loss = _total([value[here[page]] for page in missing]), _total([cache[page][0] for page in leaving])
        enters = len(missing) <= capacity and (room or gain > loss)
        for page in request:
            if page not in missing:
                run.outcome.append("hit")
                entries.append(began[page])
            elif enters:
                run.outcome.append("free" if room else "admitted")
                entries.append(here[page])
            else:
                run.outcome.append("bypassed")
                entries.append(None)
        if enters:
            for page in leaving:
                del cache[page]
                left[began[page]] = high - 1
            for page in missing:
                cache[page] = (value[here[page]], here[page])
                began[page] = here[page]
        low = high
    run.stays = [None if e is None else (e, left.get(e, low)) for e in entries]
    ids = [page for request in requests for page in request]
    for p, page in enumerate(ids):
        later = [q for q in range(p + 1, len(ids)) if ids[q] == page]
        again = bool(later) and run.outcome[later[0]] == "hit"
        run.reuse.append(later[0] - p if again else 0)
    return run


def naive_fates_settled(requests: list[list[int]], run: NaiveRun, end: int) -> list[bool]:
    """Requests before `end` each of whose pages is used again before `end`, or not in the cache by then."""
    found, low = [], 0
    for request in requests:
        high = low + len(request)
        sure = [
            p < end and (0 < run.reuse[p] < end - p or run.stays[p] is None or (run.stays[p] or (0, 0))[1] < end)
            for p in range(low, high)
        ]
        found.append(all(sure))
        low = high
    return found
