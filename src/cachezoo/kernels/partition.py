"""Parts of one cache: which references hit in them, and who gets how much.

LRU in parts comes from stack distances: a pass serves every split, without any list (Mattson et al. 1970, as in
`cachezoo.kernels.stack_distance`). An application's part holds the most recent `resident` pages of its own stack. A
miss enters at the front, so that one page more is resident, up to the part's size; where that shrinks, the least recent
leave; where it grows nothing is fetched. Parts of other policies are `led` by caches of fixed sizes.

All that decides who gets how much is arithmetic of 64-bit integers, so that a runtime gives the same split.
"""

import numpy as np

from cachezoo.arrays import I32, I64, Bool
from cachezoo.kernels.jit import njit


@njit
def partitioned(app: I32, distance: I32, begins: I64, splits: I64, hit: Bool) -> None:
    """Which references hit.

    Args:
        app: int32[M] whose each reference is, in [0, A).
        distance: int32[M] other pages of that application since the page's last reference; -1 at its first.
        begins: int64[W], rising from 0: the reference from which on each split holds.
        splits: int64[W, A] pages of each application.
        hit: bool[M], written.
    """
    resident = np.zeros(splits.shape[1], np.int64)
    window = -1
    for i in range(app.size):
        while window + 1 < begins.size and begins[window + 1] <= i:
            window += 1
            for a in range(resident.size):
                resident[a] = min(resident[a], splits[window, a])
        a = app[i]
        hit[i] = 0 <= distance[i] < resident[a]
        if not hit[i]:
            resident[a] = min(splits[window, a], resident[a] + 1)


@njit
def add_misses(app: I32, distance: I32, counted: Bool, first: int, stop: int, fragment: int, misses: I64) -> None:
    """Add, for references [first, stop) that count, each application's misses by the size of its partition.

    Args:
        app: as of `partitioned`.
        distance: as there.
        counted: bool[M].
        first: reference to begin with.
        stop: past the last.
        fragment: pages of a fragment.
        misses: int64[A, k + 1] with 0 to k fragments, all of whose pages are resident; added to.
    """
    most = misses.shape[1] - 1
    new = np.zeros(misses.shape, np.int64)  # references that miss with so many fragments, and hit with one more
    for i in range(first, stop):
        if counted[i]:
            least = distance[i] // fragment if distance[i] >= 0 else most
            new[app[i], min(least, most)] += 1
    for a in range(misses.shape[0]):
        total = 0
        for size in range(most, -1, -1):
            total += new[a, size]
            misses[a, size] += total


@njit
def optimum(misses: I64, total: int, least: I64) -> I64:
    """The split of least misses, by dynamic programming over applications: O(A · total²) steps.

    Args:
        misses: int64[A, k + 1] with 0 to k fragments, k at least `total`.
        total: fragments to be given, at least the sum of `least`.
        least: int64[A] fragments that each gets at least.

    Returns:
        int64[A]; of equal splits the one that gives the last application least, then the one before it, and so on.
    """
    count = misses.shape[0]
    best = np.full((count + 1, total + 1), np.iinfo(np.int64).max // 2, np.int64)
    given = np.zeros((count + 1, total + 1), np.int64)
    best[0, 0] = 0
    before, after = 0, least.sum()  # fragments that those before, and those from this one on, get at least
    for a in range(count):
        for room in range(before + least[a], total - after + least[a] + 1):
            for size in range(least[a], room - before + 1):
                found = best[a, room - size] + misses[a, size]
                if found < best[a + 1, room]:
                    best[a + 1, room] = found
                    given[a + 1, room] = size
        before += least[a]
        after -= least[a]
    split = np.zeros(count, np.int64)
    room = total
    for a in range(count - 1, -1, -1):
        split[a] = given[a + 1, room]
        room -= split[a]
    return split


@njit
def _steepest(misses: I64, a: int, have: int, room: int) -> tuple[int, int]:
    """Misses saved, and fragments taken, where an application saves most a fragment; of equals the fewest fragments."""
    saved = 0
    taken = 1
    for more in range(1, room + 1):
        own = misses[a, have] - misses[a, have + more]
        if own * taken > saved * more:
            saved = own
            taken = more
    return saved, taken


@njit
def lookahead(misses: I64, total: int, least: I64) -> I64:
    """UCP's split: again and again the application that saves most misses a fragment gets the fragments for it.

    Where nothing saves a miss any more, what is left is given out in turn, one fragment each.

    Args:
        misses: int64[A, k + 1] with 0 to k fragments, k at least `total`.
        total: fragments to be given, at least the sum of `least`.
        least: int64[A] fragments that each gets before.

    Source: Qureshi, Patt, "Utility-based cache partitioning", MICRO 2006, algorithm 2.

    Returns:
        int64[A]; of equals the application of the lowest index goes first.
    """
    count = misses.shape[0]
    split = least.copy()
    room = total - least.sum()
    saved = np.zeros(count, np.int64)
    taken = np.full(count, total + 1, np.int64)
    while room > 0:
        winner = 0
        for a in range(count):
            if taken[a] > room:
                saved[a], taken[a] = _steepest(misses, a, split[a], room)
            if saved[a] * taken[winner] > saved[winner] * taken[a]:
                winner = a
        if saved[winner] == 0:
            break
        split[winner] += taken[winner]
        room -= taken[winner]
        taken[winner] = total + 1
    for turn in range(room):
        split[turn % count] += 1
    return split


@njit
def hull(sizes: I64, misses: I64) -> tuple[I64, I64, I64]:
    """The lower convex hull of a curve, in whole misses.

    A part of a size between two corners of the hull gets what lies on the line between them, where its pages are dealt
    out by a hash to two caches (Beckmann, Sanchez, "Talus", HPCA 2015, Sec. IV).

    Args:
        sizes: int64[n], rising, below 2**31.
        misses: int64[n] of one application at these sizes, below 2**31.

    Returns:
        int64[n] each: the hull, rounded down; and which points are the corners before and behind each size, equal at a
        corner.
    """
    count = sizes.size
    corners = np.empty(count, np.int64)
    used = 0
    for k in range(count):
        while used > 1:
            i, j = corners[used - 2], corners[used - 1]
            if (misses[j] - misses[i]) * (sizes[k] - sizes[i]) < (misses[k] - misses[i]) * (sizes[j] - sizes[i]):
                break
            used -= 1
        corners[used] = k
        used += 1
    below = np.empty(count, np.int64)
    low, high = np.empty(count, np.int64), np.empty(count, np.int64)
    for c in range(used - 1):
        i, j = corners[c], corners[c + 1]
        for k in range(i, j):
            rest = misses[i] * (sizes[j] - sizes[k]) + misses[j] * (sizes[k] - sizes[i])
            below[k] = rest // (sizes[j] - sizes[i])
            low[k], high[k] = i, i if k == i else j
    last = count - 1
    below[last], low[last], high[last] = misses[last], last, last
    return below, low, high


@njit
def led(page_ids: I32, entered: Bool, victim: I32, begins: I64, leader: I64, n_pages: int, hit: Bool) -> None:
    """A part of a cache whose size and policy change: it holds what it has of the pages of the cache that leads.

    K caches of fixed sizes keep ids alone, and run all along. The part takes in what its leader takes in and lets go
    of what its leader lets go of; where the leader changes it keeps the pages that the new one has too, and fetches
    none. So it is never larger than its leader. With caches of LRU it is `partitioned`.

    Args:
        page_ids: int32[m] of one application, in [0, n_pages).
        entered: bool[K, m] whether the page entered each cache.
        victim: int32[K, m] the page that left each for it, below 0 where none did.
        begins: int64[S], rising from 0: the reference from which on each leader leads.
        leader: int64[S] in [0, K).
        n_pages: distinct pages.
        hit: bool[m], written.

    Source: the way in which adaptive caches imitate the best of several, as `cachezoo.kernels.follow` does; its use
    for a size is ours.
    """
    caches = entered.shape[0]
    inside = np.zeros((caches, n_pages), np.bool_)
    held = np.zeros(n_pages, np.bool_)
    segment = -1
    for i in range(page_ids.size):
        while segment + 1 < begins.size and begins[segment + 1] <= i:
            segment += 1
            if segment > 0 and leader[segment] != leader[segment - 1]:
                for page in range(n_pages):
                    held[page] &= inside[leader[segment], page]
        page = page_ids[i]
        hit[i] = held[page]
        for k in range(caches):
            if entered[k, i]:
                inside[k, page] = True
            if victim[k, i] >= 0:
                inside[k, victim[k, i]] = False
        own = leader[segment]
        held[page] = inside[own, page]
        if victim[own, i] >= 0:
            held[victim[own, i]] = False


MIX, FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
U27, U30, U31, U32 = (np.uint64(k) for k in (27, 30, 31, 32))


@njit
def climb(
    app: I32, distance: I32, first: I64, least: I64, shadow: int, credit: int, seed: int, looks: I64, sizes: I64,
    hit: Bool,
) -> None:  # fmt: skip
    """LRU in parts that grow at each hit in their shadow queue, at the cost of another one drawn at random.

    A shadow queue has the ids of the `shadow` pages that follow those of a part of full size. Others that cannot give
    `credit` pages without falling below their least are passed over, upwards and from the last to the first; where
    nobody can, nothing moves.

    Args:
        app: as of `partitioned`.
        distance: as there.
        first: int64[A] pages of each part at the beginning; at the end what they are then.
        least: int64[A] pages that each keeps, at most `first`.
        shadow: pages of a shadow queue, at least 1.
        credit: pages that a hit in it moves, at least 1.
        seed: of SplitMix64, 64 bits without a sign.
        looks: int64[L], rising: references before which sizes are noted.
        sizes: int64[L, A], written.
        hit: bool[M], written.

    Source: Cidon et al., "Cliffhanger", NSDI 2016, algorithm 1 (hill climbing); a least for each as the reserved
    memory of Cidon et al., "Memshare", USENIX ATC 2017. The passing over is ours, as the paper leaves it open.
    """
    count = first.size
    resident = np.zeros(count, np.int64)
    state = np.uint64(seed)
    look = 0
    for i in range(app.size):
        if look < looks.size and looks[look] == i:
            sizes[look] = first
            look += 1
        a, d = app[i], distance[i]
        hit[i] = 0 <= d < resident[a]
        if first[a] <= d < first[a] + shadow and count > 1:
            state += MIX
            z = (state ^ (state >> U30)) * FIRST
            z = (z ^ (z >> U27)) * SECOND
            z ^= z >> U31
            b = int(((z >> U32) * np.uint64(count - 1)) >> U32)
            b += b >= a
            for _ in range(count):
                if b != a and first[b] - credit >= least[b]:
                    first[a] += credit
                    first[b] -= credit
                    resident[b] = min(resident[b], first[b])
                    break
                b = (b + 1) % count
        if not hit[i]:
            resident[a] = min(first[a], resident[a] + 1)
