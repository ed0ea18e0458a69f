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
) -> tuple[list[int], list[int], list[int], list[NaiveEpisode]]:
    """Episode, index within it and fetched segments of each request, and the episodes."""
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
        if block not in current or i - episodes[current[block]].last > age:
            current[block] = len(episodes)
            episodes.append(NaiveEpisode(i, i))
        episode = episodes[current[block]]
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
        of.append(current[block])
        index.append(episode.accesses)
        fetched.append(missing)
        episode.last = i
        episode.accesses += 1
        episode.touched += len(segments)
        episode.written += missing
        episode.misses += missing > 0
    return of, index, fetched, episodes


def naive_range_costs(
    volume: list[int], op: list[int], offset: list[int], size: list[int], block_bytes: int, segment_bytes: int, age: int
) -> tuple[list[int], list[int]]:
    """Segments written and missing reads of each episode, where a miss fetches all segments of the episode's range."""
    of, _, _, episodes = naive_episodes(volume, op, offset, size, block_bytes, segment_bytes, age)
    resident: list[dict[int, int]] = [{} for _ in episodes]  # segment -> row of its last use
    written, misses = [0] * len(episodes), [0] * len(episodes)
    for i, e in enumerate(of):
        segments = set(range(offset[i] // segment_bytes, (offset[i] + size[i] - 1) // segment_bytes + 1))
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
