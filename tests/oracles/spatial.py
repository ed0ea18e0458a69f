"""Pages drawn by a hash, in plain Python integers, and what they say of a cache."""

from statistics import mean, variance

from tests.oracles.bounds import lru_hits

MASK = 2**64 - 1
T_90 = {7: 1.8945786}  # Student's t, by degrees of freedom, from a table


def mixed(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return (z ^ (z >> 31)) >> 11


def groups(n_pages, rate, count, start):
    """Of each page 0, or the group from 1 on that it is dealt to."""
    out = []
    for page in range(n_pages):
        place = mixed((start + page * 0x9E3779B97F4A7C15) & MASK) / (rate * 2.0**53)
        out.append(1 + int(place * count) if place < 1 else 0)
    return out


def accesses(pages, group):
    """Rows of the accesses to drawn pages, and these pages numbered by their ids."""
    number = {page: k for k, page in enumerate(page for page, own in enumerate(group) if own)}
    rows = [row for row, page in enumerate(pages) if group[page]]
    return rows, [number[pages[row]] for row in rows]


def lru_estimate(pages, chosen, capacities, warmups):
    """LRU's miss ratios on all accesses to the chosen pages, in that part of the capacity, scaled to the whole."""
    rate = len(chosen) / len(set(pages))
    rows = [row for row, page in enumerate(pages) if page in chosen]
    own = [pages[row] for row in rows]
    out = []
    for capacity, warmup in zip(capacities, warmups, strict=True):
        late = sum(row < warmup for row in rows)
        (hits,) = lru_hits(own, [max(1, round(capacity * rate))], [late])
        out.append(min(1.0, (len(own) - late - hits) / rate / (len(pages) - warmup)))
    return out


def lru_sampled(pages, group, capacities, warmups):
    """Hit ratios of LRU, and half their 90 % intervals, from the pages of a group above 0, whose groups are batches."""
    count = max(group)
    parts = [{page for page, own in enumerate(group) if own == k} for k in range(1, count + 1)]
    whole, *each = (lru_estimate(pages, part, capacities, warmups) for part in (set().union(*parts), *parts))
    found = []
    for k, ratio in enumerate(whole):
        values = [batch[k] for batch in each]
        small = (mean(values) - ratio) / (count - 1)
        found.append((1 - ratio, T_90[count - 1] * (variance(values) / count + small**2) ** 0.5))
    return found
