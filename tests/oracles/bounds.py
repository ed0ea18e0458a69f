"""Naive bounds: linear searches and every possible choice."""

from collections import Counter
from itertools import combinations

NEVER = float("inf")


def next_use(pages, i, page):
    return next((j for j in range(i + 1, len(pages)) if pages[j] == page), NEVER)


def last_use(pages, i, page):
    return max(j for j in range(i) if pages[j] == page)


def min_always(pages, capacity, bypass=False):
    """Outcomes and victims of MIN; of pages that are never used again the one used last leaves first."""
    cache, outcomes, victims = set(), [], []
    for i, page in enumerate(pages):
        outcome, victim = 2, -1
        if page not in cache:
            outcome = 1
            if len(cache) == capacity:
                victim = max(cache, key=lambda q: (next_use(pages, i, q), last_use(pages, i, q)))
                here = next_use(pages, i, page)
                if bypass and (here == NEVER or next_use(pages, i, victim) < here):
                    outcome, victim = 0, -1
                else:
                    cache.remove(victim)
            if outcome == 1:
                cache.add(page)
        outcomes.append(outcome)
        victims.append(victim)
    return outcomes, victims


def best_hits(pages, capacity):
    """Most hits that any policy can reach, by trying every choice (bypass included); exponential."""
    return best_worth(pages, [1] * len(pages), capacity)


def best_worth(pages, weights, capacity):
    """The same where a hit at each access has a worth of its own."""
    states = {frozenset(): 0}
    for page, weight in zip(pages, weights, strict=True):
        following = {}
        for cache, worth in states.items():
            if page in cache:
                choices, gained = [cache], worth + weight
            else:
                room = [cache | {page}] if len(cache) < capacity else [(cache - {q}) | {page} for q in cache]
                choices, gained = [cache, *room], worth
            for choice in choices:
                following[choice] = max(following.get(choice, -1), gained)
        states = following
    return max(states.values())


def intervals(pages):
    return [(i, next_use(pages, i, page)) for i, page in enumerate(pages) if next_use(pages, i, page) < NEVER]


def fits(kept, capacity, times):
    return all(sum(a <= t < b for a, b in kept) <= capacity for t in range(times))


def best_intervals(pages, weights, capacity):
    """`best_worth` by trying every set of intervals in which pages are kept."""
    every = intervals(pages)
    sets = (kept for size in range(len(every) + 1) for kept in combinations(every, size))
    return max(sum(weights[b] for _, b in kept) for kept in sets if fits(kept, capacity, len(pages)))


def pfoo(pages, weights, capacity):
    """(lower, upper): intervals by length per worth, those that fit, and until the room is spent."""
    order = [(i, j) for i, j in intervals(pages) if weights[j] > 0]
    order.sort(key=lambda pair: ((pair[1] - pair[0]) / weights[pair[1]], pair[0]))
    kept, lower, upper = [], 0, 0
    room = sum(min(capacity, sum(a <= t < b for a, b in order)) for t in range(len(pages)))
    for a, b in order:
        if fits([*kept, (a, b)], capacity, len(pages)):
            kept.append((a, b))
            lower += weights[b]
        upper += weights[b] * min(1, room / (b - a))
        room -= min(room, b - a)
    return lower, upper


def static_hindsight(pages, capacity):
    order = sorted(set(pages), key=lambda page: (-Counter(pages)[page], page))[:capacity]
    return [0 if page not in order else 2 if page in pages[:i] else 1 for i, page in enumerate(pages)]


def ahead(pages, victims):
    """How far ahead the next use of each page evicted is."""
    return [None if v < 0 else next_use(pages, i, v) - i for i, v in enumerate(victims)]


def boundary(pages, capacity):
    """The Belady boundary: the least time to the next request of what MIN evicts."""
    return min((d for d in ahead(pages, min_always(pages, capacity)[1]) if d is not None), default=NEVER)


def relaxed_belady(pages, capacity, limit):
    cache, outcomes, victims = set(), [], []
    for i, page in enumerate(pages):
        victim = -1
        outcomes.append(2 if page in cache else 1)
        if page not in cache:
            if len(cache) == capacity:
                beyond = [q for q in cache if next_use(pages, i, q) - i >= limit]
                if beyond:
                    victim = min(beyond, key=lambda q: last_use(pages, i, q))
                else:
                    victim = max(cache, key=lambda q: next_use(pages, i, q))
                cache.remove(victim)
            cache.add(page)
        victims.append(victim)
    return outcomes, victims


def stack_distances(pages):
    out = []
    for i, page in enumerate(pages):
        out.append(len(set(pages[last_use(pages, i, page) + 1 : i])) if page in pages[:i] else -1)
    return out


def lru_hits(pages, capacities, warmups):
    distances = stack_distances(pages)
    return [
        sum(0 <= distance < capacity for distance in distances[warmup:])
        for capacity, warmup in zip(capacities, warmups, strict=True)
    ]
