"""Naive bounds of caches of objects with sizes: every possible choice, and linear searches."""

from tests.oracles.bounds import intervals


def best_worth(ids, sizes, weights, capacity):
    """Most that hits can be worth, by trying every choice (bypass included); exponential.

    An object has one size throughout here.
    """
    states = {frozenset(): 0}
    for i, (own, weight) in enumerate(zip(ids, weights, strict=True)):
        following = {}
        for cache, worth in states.items():
            gained = worth + weight * (own in cache)
            for choice in _choices(cache | {own}, {k: sizes[ids.index(k)] for k in ids[: i + 1]}, capacity):
                following[choice] = max(following.get(choice, -1), gained)
        states = following
    return max(states.values())


def _choices(held, sizes, capacity):
    """All that a cache may hold on to."""
    every = [frozenset()]
    for k in held:
        every += [choice | {k} for choice in every]
    return [choice for choice in every if sum(sizes[k] for k in choice) <= capacity]


def fits(kept, sizes, capacity, times):
    return all(sum(sizes[a] for a, b in kept if a <= t < b) <= capacity for t in range(times))


def pfoo(ids, sizes, weights, capacity):
    """(lower, upper): intervals by room per worth, those that fit, and until the room is spent."""
    order = [(i, j) for i, j in intervals(ids) if weights[j] > 0 and sizes[i] <= capacity]
    order.sort(key=lambda pair: ((pair[1] - pair[0]) * sizes[pair[0]] / weights[pair[1]], pair[0]))
    kept, lower, upper = [], 0, 0
    room = sum(min(capacity, sum(sizes[a] for a, b in order if a <= t < b)) for t in range(len(ids)))
    for a, b in order:
        if fits([*kept, (a, b)], sizes, capacity, len(ids)):
            kept.append((a, b))
            lower += weights[b]
        cost = (b - a) * sizes[a]
        upper += weights[b] * (min(1, room / cost) if cost else 1)
        room -= min(room, cost)
    return lower, upper


def best_run(requests, capacity, around, worth):
    """Most that the hits of a cache of objects can be worth, by trying all that it may hold on to; exponential.

    A held object is (key, bytes, time from which on it is void).
    """
    timed = requests.time_us is not None
    states = {frozenset(): 0}
    for i, (key, size, op) in enumerate(zip(requests.ids, requests.size, requests.op, strict=True)):
        now, until = (int(requests.time_us[i]), int(requests.expires_us[i])) if timed else (0, 1)
        following = {}
        for state, gained in states.items():
            held = {name: rest for name, *rest in state if now < rest[1]}
            hit = False
            if op == 2 or (op == 1 and around) or size > capacity:
                held.pop(key, None)
            elif key in held:
                hit = True
                held[key] = [size or held[key][0], until if op == 1 else held[key][1]]
            elif size:
                held[key] = [size, until]
            every = [()]
            for name, (own, end) in held.items():
                every += [(*choice, (name, int(own), end)) for choice in every]
            for choice in every:
                if sum(own for _, own, _ in choice) <= capacity:
                    kept = frozenset(choice)
                    following[kept] = max(following.get(kept, -1), gained + worth[i] * hit)
        states = following
    return max(states.values())
