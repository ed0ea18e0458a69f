"""A cache of objects, naively: one request at a time, in the words of its documentation."""

from collections import Counter

from cachezoo.kernels.outcome import ADMITTED, BYPASSED, HIT


def simulate(requests, cache, gate, capacity, around=False, resizing=True):
    """Outcomes and counts of `cache` behind `gate`; checks on the way that no step breaks the rules."""
    held, void_at, outcomes, counts = cache.held, {}, [], Counter()

    def drop(key):
        del held[key]
        void_at.pop(key, None)

    def make_room(i, needed, new=None):
        stays = True
        while sum(held.values()) + needed > capacity:
            left = cache.evict(i)
            if left == new:
                stays = False
            else:
                counts["evictions"] += 1
                counts["evicted_bytes"] += held[left]
            drop(left)
        return stays

    times = requests.time_us if requests.time_us is not None else [0] * len(requests)
    expires = requests.expires_us if requests.time_us is not None else [1] * len(requests)
    columns = (requests.ids, requests.size, requests.op, times, expires)
    for i, (key, size, op, now, end) in enumerate(zip(*(map(int, column) for column in columns), strict=True)):
        outcome = BYPASSED
        if key in held and now >= void_at[key]:
            cache.remove(key)
            drop(key)
            counts["expired"] += 1
        if op == 2 or (op == 1 and around):
            if key in held:
                cache.remove(key)
                drop(key)
                counts["deleted"] += 1
        elif key in held and 0 < size != held[key] and resizing and size > capacity:
            counts["resized"] += 1
            counts["too_large"] += 1
            cache.remove(key)
            drop(key)
        elif key in held:
            outcome = HIT
            if 0 < size != held[key] and resizing:
                more = size - held[key]
                held[key] = size
                cache.resize(key, more)
                counts["resized"] += 1
            cache.touch(key, i)
            gate.saw(key, i)
            if op == 1:
                void_at[key] = end
            make_room(i, 0)
        elif size == 0:
            counts["unknown"] += 1
        elif size > capacity:
            counts["too_large"] += 1
        elif cache.wants(key, i, size) and gate.admit(key, i):
            if not cache.competes:
                make_room(i, size)
            held[key] = size
            void_at[key] = end
            cache.insert(key, i)
            outcome = ADMITTED if make_room(i, 0, key) else BYPASSED
        assert sum(held.values()) <= capacity
        outcomes.append(outcome)
    return outcomes, counts


class Always:
    """Admits everything."""

    def admit(self, key, i):
        return True

    def saw(self, key, i):
        pass
