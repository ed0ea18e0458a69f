"""Naive episodes: dictionaries of (block, segment), straight from byte ranges."""

from dataclasses import dataclass, field


@dataclass
class NaiveEpisode:
    """One episode, by its definition."""

    first: int
    last: int
    accesses: int = 0
    touched: int = 0
    written: int = 0
    misses: int = 0
    segments: set[int] = field(default_factory=set)


def naive_episodes(
    volume: list[int],
    op: list[int],
    offset: list[int],
    size: list[int],
    block_bytes: int,
    segment_bytes: int,
    age: int,
    before: int = 0,
) -> tuple[list[int], list[int], list[int], list[NaiveEpisode]]:
    """Episode, index within it and fetched segments of each request, and the episodes.

    The first `before` reads of each episode take part in nothing but its place in the trace.
    """
    seen: list[int] = []  # reads of each episode so far
    lasts: list[int] = []  # row of the last of them
    episodes: list[NaiveEpisode] = []
    current: dict[tuple[int, int], int] = {}
    touched: dict[tuple[int, int, int], int] = {}
    wrote: dict[tuple[int, int], int] = {}
    of, index, fetched = [], [], []
    for i in range(len(op)):
        segments = range(offset[i] // segment_bytes, (offset[i] + size[i] - 1) // segment_bytes + 1)
        if op[i] == 1:
            for s in segments:
                wrote[volume[i], s] = i
            of.append(-1)
            index.append(-1)
            fetched.append(0)
            continue
        block = (volume[i], offset[i] // block_bytes)
        if block not in current or i - lasts[current[block]] > age:
            current[block] = len(episodes)
            episodes.append(NaiveEpisode(0, 0))
            seen.append(0)
            lasts.append(i)
        number = current[block]
        episode, lasts[number] = episodes[number], i
        index.append(seen[number])
        seen[number] += 1
        if seen[number] <= before:
            of.append(-1)
            fetched.append(0)
            continue
        episode.first = i if episode.accesses == 0 else episode.first
        missing = 0
        for s in segments:
            key = (*block, s)
            known = s in episode.segments
            expired = known and i - touched[key] > age
            overwritten = known and wrote.get((volume[i], s), -1) > touched[key]
            if not known or expired or overwritten:
                missing += 1
            episode.segments.add(s)
            touched[key] = i
        of.append(number)
        fetched.append(missing)
        episode.last = i
        episode.accesses += 1
        episode.touched += len(segments)
        episode.written += missing
        episode.misses += missing > 0
    return of, index, fetched, episodes


def naive_range_costs(
    volume: list[int],
    op: list[int],
    offset: list[int],
    size: list[int],
    block_bytes: int,
    segment_bytes: int,
    age: int,
    before: int = 0,
) -> tuple[list[int], list[int]]:
    """Segments written and missing reads of each episode, where a miss fetches all segments of the episode's range."""
    of, _, _, episodes = naive_episodes(volume, op, offset, size, block_bytes, segment_bytes, age, before)
    resident: list[dict[int, int]] = [{} for _ in episodes]  # segment -> row of its last use
    written, misses = [0] * len(episodes), [0] * len(episodes)
    for i, e in enumerate(of):
        segments = set(range(offset[i] // segment_bytes, (offset[i] + size[i] - 1) // segment_bytes + 1))
        if op[i] == 0 and e < 0:
            continue
        if e < 0:
            for k, episode in enumerate(resident):
                if volume[episodes[k].first] == volume[i]:
                    for s in segments:
                        episode.pop(s, None)
            continue
        cache = resident[e]
        for s in [s for s, last in cache.items() if i - last > age]:
            del cache[s]
        if not segments <= cache.keys():
            block = offset[i] // block_bytes
            inside = range(min(episodes[e].segments), max(episodes[e].segments) + 1)
            wanted = segments | {s for s in inside if s * segment_bytes // block_bytes == block}
            written[e] += len(wanted - cache.keys())
            misses[e] += 1
            cache.update({s: i for s in wanted - cache.keys()})
        cache.update(dict.fromkeys(segments, i))
    return written, misses
