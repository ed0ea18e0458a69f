"""Naive policies: dictionaries, lists and linear searches, one access at a time. 0 bypassed, 1 admitted, 2 hit."""

from collections import Counter, OrderedDict


def fifo(pages, capacity):
    cache, out = [], []
    for page in pages:
        if page in cache:
            out.append(2)
            continue
        out.append(1)
        cache.append(page)
        if len(cache) > capacity:
            cache.pop(0)
    return out


def lru(pages, capacity):
    cache, out = [], []
    for page in pages:
        if page in cache:
            cache.remove(page)
            out.append(2)
        else:
            out.append(1)
            if len(cache) == capacity:
                cache.pop(0)
        cache.append(page)
    return out


def rejectx(pages, capacity, window):
    cache, out, missed = [], [], {}
    for i, page in enumerate(pages):
        if page in cache:
            cache.remove(page)
            cache.append(page)
            out.append(2)
            continue
        if page in missed and i - missed[page] <= window:
            out.append(1)
            if len(cache) == capacity:
                cache.pop(0)
            cache.append(page)
        else:
            out.append(0)
        missed[page] = i
    return out


def larc(pages, capacity):
    cache, ghost, out = OrderedDict(), OrderedDict(), []
    size = 0.1 * capacity
    for page in pages:
        if page in cache:
            cache.move_to_end(page)
            size = max(0.1 * capacity, size - capacity / (capacity - size))
            out.append(2)
            continue
        size = min(0.9 * capacity, size + capacity / size)
        if page in ghost:
            del ghost[page]
            if len(cache) == capacity:
                cache.popitem(last=False)
            cache[page] = True
            out.append(1)
        else:
            ghost[page] = True
            if len(ghost) > max(1, size):
                ghost.popitem(last=False)
            out.append(0)
    return out


def arc(pages, capacity):
    t1, t2, b1, b2 = OrderedDict(), OrderedDict(), OrderedDict(), OrderedDict()
    p, out = 0.0, []

    def replace(in_b2):
        if t1 and (len(t1) > p or (in_b2 and len(t1) == p)):
            b1[t1.popitem(last=False)[0]] = True
        else:
            b2[t2.popitem(last=False)[0]] = True

    for page in pages:
        if page in t1 or page in t2:
            t1.pop(page, None)
            t2.pop(page, None)
            t2[page] = True
            out.append(2)
            continue
        out.append(1)
        if page in b1:
            p = min(float(capacity), p + max(1.0, len(b2) / len(b1)))
            replace(False)
            del b1[page]
            t2[page] = True
        elif page in b2:
            p = max(0.0, p - max(1.0, len(b1) / len(b2)))
            replace(True)
            del b2[page]
            t2[page] = True
        else:
            if len(t1) + len(b1) == capacity:
                if len(t1) < capacity:
                    b1.popitem(last=False)
                    replace(False)
                else:
                    t1.popitem(last=False)
            elif len(t1) + len(t2) + len(b1) + len(b2) >= capacity:
                if len(t1) + len(t2) + len(b1) + len(b2) == 2 * capacity:
                    b2.popitem(last=False)
                replace(False)
            t1[page] = True
    return out


def lfu(pages, capacity):
    count, last, cache, out = Counter(), {}, set(), []
    for i, page in enumerate(pages):
        count[page] += 1
        last[page] = i
        if page in cache:
            out.append(2)
            continue
        if len(cache) == capacity:
            victim = min(cache, key=lambda q: (count[q], last[q]))
            if (count[victim], last[victim]) > (count[page], i):
                out.append(0)
                continue
            cache.remove(victim)
        cache.add(page)
        out.append(1)
    return out


def _next(pages, i, page):
    return next((j for j in range(i + 1, len(pages)) if pages[j] == page), len(pages) + pages.index(page))


def min_always(pages, capacity, bypass=False):
    cache, out = set(), []
    for i, page in enumerate(pages):
        if page in cache:
            out.append(2)
            continue
        if len(cache) == capacity:
            farthest = max(
                cache, key=lambda q: (_next(pages, i, q), max(j for j in range(i) if pages[j] == q))
            )
            if bypass and _next(pages, i, farthest) < _next(pages, i, page):
                out.append(0)
                continue
            cache.remove(farthest)
        cache.add(page)
        out.append(1)
    return out


def best_hits(pages, capacity):
    """Most hits that any policy can reach, by trying every choice (bypass included); exponential."""
    states = {frozenset(): 0}
    for page in pages:
        following = {}
        for cache, hits in states.items():
            if page in cache:
                choices, gained = [cache], hits + 1
            else:
                room = [cache | {page}] if len(cache) < capacity else [(cache - {q}) | {page} for q in cache]
                choices, gained = [cache, *room], hits
            for choice in choices:
                following[choice] = max(following.get(choice, -1), gained)
        states = following
    return max(states.values())


def lru_admission(pages, capacity, admit):
    cache, out = [], []
    for page, wanted in zip(pages, admit, strict=True):
        if page in cache:
            cache.remove(page)
            out.append(2)
        elif wanted:
            out.append(1)
            if len(cache) == capacity:
                cache.pop(0)
        else:
            out.append(0)
            continue
        cache.append(page)
    return out
