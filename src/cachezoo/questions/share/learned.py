"""Splits that are learned from the references before those that count, with a policy for each part.

Each policy's misses are counted at a grid of sizes, on an application's references before those. The best policy at
each size makes its curve; the split takes from these curves as much as it can. Misses are whole numbers, sizes whole
steps of the grid, and ties are decided, so that whoever counts the same misses finds the same split.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cachezoo.arrays import I64, Bool
from cachezoo.contest.counting import ALL, Count
from cachezoo.curves.measure import curves
from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import ADMITTED, HIT
from cachezoo.kernels.partition import hull, led, lookahead, optimum
from cachezoo.kernels.spatial import accesses_of, drawn_groups
from cachezoo.policies.registry import classics, in_sample, policy
from cachezoo.policies.sampling import page_seed
from cachezoo.policies.spec import parse as parse_policy
from cachezoo.policies.stream import Stream
from cachezoo.questions.share.mix import Application, Mix
from cachezoo.questions.share.partition import Hull, Shared, Task
from cachezoo.traces.pages import PageAccesses

AUTO = "auto"
OR = "|"
MOST_LEARNED = 500_000
"""References of an application above which its curves come from a sample of its pages; LRU's stays exact."""
LEAST_STEPS = 4
"""Steps of the grid for each application, where the cache has so many fragments."""
BEYOND = (6, 8, 12, 16, 24, 32)
"""Quarters of the cache at which a curve is measured beyond it, so that a hull knows of cliffs that lie there."""
START = np.zeros(1, np.int64)


def whole_cache(text: str) -> str:
    """The canonical text of a policy that a cache of page references can have.

    Raises:
        ConfigError: none, a bound, or one that prefetches, for which page references are too little.
    """
    spec = parse_policy(text)
    if spec.prefetch.id != "none":
        raise ConfigError(f"policy={text} prefetches, which takes requests: leave +{spec.prefetch} out")
    if spec.is_bound:
        raise ConfigError(f"policy={text} is a bound, which no cache can be; hindsight is one for partitions")
    return str(spec)


def part_of(text: str) -> str:
    """The canonical text of a policy that a part can have.

    Raises:
        ConfigError: as `whole_cache`, or a virtual I/O cache.
    """
    if parse_policy(text).is_virtual:
        raise ConfigError(f"policy={text} reads pages besides those missed: as parts of a cache these are gvpa's")
    return policy(whole_cache(text)).id


def choice_of(text: str) -> str:
    """Policies to choose from, with |, or `auto` for all classics of the registry.

    Raises:
        ConfigError: one cannot be.
    """
    return AUTO if text.strip() == AUTO else OR.join(dict.fromkeys(part_of(one) for one in text.split(OR)))


def policies_of(text: str) -> list[str]:
    """The policies of a choice; LRU first, so that it is taken where it is as good as another."""
    return sorted(classics() if text == AUTO else text.split(OR), key=lambda one: one != "lru")


def grid(total: int, steps: int, count: int) -> I64:
    """int64[k + 1]: fragments after 0 to k steps, evenly apart, as many steps as there are fragments at most."""
    most = min(total, max(steps, LEAST_STEPS * count))
    return np.arange(most + 1, dtype=np.int64) * total // most


def misses_at(task: Task, one: Application, policies: Sequence[str], sizes: I64) -> I64:
    """int64[P, k]: misses of an application's references before those that count.

    Args:
        task: the mix and what counts.
        one: an application of the mix.
        policies: canonical texts.
        sizes: int64[k] pages, rising from 0.
    """
    length, measured = task.earlier[task.mix.names.index(one.name)], task.mix.measured
    found, ids = np.zeros((len(policies), len(sizes)), np.int64), one.page_ids[:length]
    if not length:
        return found
    pages = PageAccesses(np.arange(length + 1, dtype=np.int64), ids, int(ids.max()) + 1)
    for name, row in zip(policies, found, strict=True):
        keys = [(one.name, length, name, size) for size in sizes.tolist()]
        missing = [key[3] for key in keys if key[3] and key not in measured]
        if missing:
            (own,) = curves(pages, [name], missing, most_accesses=MOST_LEARNED, count=Count(ALL))
            misses = np.rint((1 - own.hit_ratio) * length).astype(np.int64).tolist()
            measured.update({(one.name, length, name, size): own for size, own in zip(missing, misses, strict=True)})
        row[:] = [measured[key] if key[3] else length for key in keys]
    return found


@dataclass(frozen=True)
class Learned:
    """What each application's part would have missed."""

    policies: tuple[str, ...]
    sizes: I64  # int64[k + 1] pages of each step of the grid
    misses: I64  # int64[A, k + 1] of the best policy at each step
    best: I64  # int64[A, k + 1] which that is; of equals the first

    @classmethod
    def of(cls, task: Task, text: str, sizes: I64) -> "Learned":
        """From the references before those that count.

        Args:
            task: the mix and what counts.
            text: of `choice_of`.
            sizes: int64[k + 1] pages, rising from 0.

        Raises:
            Unfit: there are none.
        """
        names = policies_of(text)
        each = np.stack([misses_at(task, one, names, sizes) for one in task.mix.applications])
        return cls(tuple(names), sizes, each.min(axis=1), each.argmin(axis=1))

    def policy(self, a: int, step: int) -> str:
        """The best policy of an application's part."""
        return self.policies[int(self.best[a, step])]


def best_policy(task: Task, text: str, pages: int) -> str:
    """The policy of one cache for all that misses least before what counts; of equals the first, LRU before others."""
    names = policies_of(text)
    if len(names) == 1:
        return names[0]
    _ = task.earlier
    first = int(np.argmax(task.counted)) if task.counted.any() else len(task.mix)
    ids = task.mix.page_ids[:first]
    own = PageAccesses(np.arange(first + 1, dtype=np.int64), *_numbered(ids))
    most = MOST_LEARNED * task.mix.count
    found = curves(own, names, [pages], most_accesses=most, count=Count(ALL))
    return names[int(np.argmax([curve.hit_ratio[0] for curve in found]))]


def _numbered(ids: np.ndarray) -> tuple[np.ndarray, int]:
    """Pages by first appearance, and how many."""
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return rank[inverse], len(first)


def hits_of(name: str, one: Application, pages: int, rate: float) -> Bool:
    """bool[m]: which references of an application hit in a part of its own; none does in one without a page.

    Args:
        name: of the part's policy.
        one: the application.
        pages: of the part here.
        rate: of the sample that it is in, 1 where it is whole.

    Raises:
        ConfigError: the part is too small for the policy.
    """
    if pages < 1 or not len(one):
        return np.zeros(len(one), np.bool_)
    with in_sample(name, round(pages / rate)):
        found: Bool = policy(name).hits(one.page_ids, one.n_pages, pages) == HIT
    return found


def run_parts(mix: Mix, pages: Sequence[int], policies: Sequence[str], hulls: Sequence[Hull] = ()) -> Shared:
    """Fixed parts, each with its policy, or between two corners of a hull as `shadowed` has it."""
    hit, names = np.empty(len(mix), np.bool_), list[str]()
    given: Sequence[Hull | None] = hulls or [None] * mix.count
    for one, places, size, name, own in zip(mix.applications, mix.at, pages, policies, given, strict=True):
        if own is not None and own.parts(size):
            hit[places] = shadowed(one, size, own.ends, own.policies)
            first, last = own.ends
            part, (few, many) = 100 * (last - size) / (last - first), own.policies
            names.append(f"{part:.0f} % of its pages {few}, else {many}")
        else:
            hit[places] = hits_of(name, one, size, mix.rate)
            names.append(name)
    found = Shared.of_hits(hit, START, np.array([pages], np.int64), names)
    return replace(found, hulls=tuple(hulls))


def shadowed(one: Application, pages: int, ends: tuple[int, int], names: tuple[str, str]) -> Bool:
    """bool[m]: an application whose pages a hash deals out to two caches, by Talus' rule.

    Of a part of s pages between corners at i and j pages, a part (j - s) / (j - i) of the application's pages goes to a
    cache of that part of i pages, and the others to one with what is left of the s.

    Args:
        one: the application.
        pages: s, above i and below j.
        ends: i and j.
        names: the policy of each corner.

    Source: Beckmann, Sanchez, "Talus: A simple way to remove cliffs in cache performance", HPCA 2015, Sec. IV.
    """
    i, j = ends
    drawn = drawn_groups(one.n_pages, (j - pages) / (j - i), 1, page_seed(0)) > 0
    first = i * (j - pages) // (j - i)
    hit = np.zeros(len(one), np.bool_)
    for groups, size, name in ((drawn, first, names[0]), (~drawn, pages - first, names[1])):
        rows, ids = accesses_of(one.page_ids, groups.astype(np.uint8))
        if size > 0 and len(rows):
            hit[rows] = policy(name).hits(ids, int(groups.sum()), size) == HIT
    return hit


def split_of(task: Task, misses: I64, by: str, fragments: I64, least: I64) -> I64:
    """int64[A]: steps of each application, by int64[A, k + 1] misses at each of int64[k + 1] fragments."""
    steps = np.searchsorted(fragments, least)  # the first step of so many fragments
    steps = steps if steps.sum() < len(fragments) else np.ones(task.mix.count, np.int64)
    steps = task.served(misses, task.earlier, steps)
    return (lookahead if by == "lookahead" else optimum)(misses, len(fragments) - 1, steps)


def learned_split(task: Task, text: str, by: str, steps: int, fragment: int, convex: bool) -> Shared:
    """The fixed split of fewest misses before what counts, with the best policy in each part.

    Args:
        task: the mix, the cache, what counts, floors.
        text: policies, of `choice_of`.
        by: `optimum`, by dynamic programming, or `lookahead`, UCP's.
        steps: of the grid.
        fragment: pages of one.
        convex: deal the pages of a part out to two caches where its curve lies above its convex hull.

    Raises:
        Unfit: the cache is too small, or there is nothing to learn from.
    """
    mix, total = task.mix, task.total(fragment)
    fragments = grid(total, steps, mix.count)
    beyond = np.array([total * own // 4 for own in BEYOND] if convex else [], np.int64)
    known = Learned.of(task, text, np.append(fragments, beyond) * fragment)
    hulls = [hull(known.sizes, own) for own in known.misses] if convex else []
    below = np.stack([own for own, _, _ in hulls]) if convex else known.misses
    split = split_of(task, below[:, : len(fragments)], by, fragments, task.least(fragment, total))
    pages = fragments[split] * fragment
    pages[: (total * fragment - int(pages.sum())) // fragment] += fragment  # of steps that are no whole fragments
    names = [known.policy(a, step) for a, step in enumerate(split.tolist())]
    if not convex:
        return run_parts(mix, pages.tolist(), names)
    corners = []
    for a, (step, (_, low, high)) in enumerate(zip(split.tolist(), hulls, strict=True)):
        i, j = int(low[step]), int(high[step])
        corners.append(Hull((int(known.sizes[i]), int(known.sizes[j])), (known.policy(a, i), known.policy(a, j))))
    return run_parts(mix, pages.tolist(), names, corners)


def online_split(task: Task, text: str, window: int, steps: int, fragment: int) -> Shared:
    """UCP with any policy's curve: after each window the split, and each part's policy, by what shadows missed.

    A shadow is a cache of ids of each policy at each size of the grid. Misses are halved after each window. A part
    follows the shadow of its size and policy (`cachezoo.kernels.partition.led`). Simulation only: a daemon would keep
    sampled shadows.

    Args:
        task: the mix, the cache, floors.
        text: policies, of `choice_of`.
        window: references of an application, on average.
        steps: of the grid.
        fragment: pages of one.

    Raises:
        Unfit: the cache is too small.

    Source: Qureshi, Patt, MICRO 2006 (the split); the curves of other policies than LRU are ours.
    """
    mix, names = task.mix, policies_of(text)
    total = task.total(fragment)
    fragments = grid(total, steps, mix.count)
    sizes, least = fragments * fragment, np.searchsorted(fragments, task.least(fragment, total))
    begins = np.arange(0, len(mix), window * mix.count, dtype=np.int64)
    own = [np.searchsorted(places, begins) for places in mix.at]  # an application's first reference of each window
    each = [_by_window(one, names, sizes, first, mix.rate) for one, first in zip(mix.applications, own, strict=True)]
    asked = np.stack([np.diff(first, append=len(one)) for one, first in zip(mix.applications, own, strict=True)])
    splits, best = (np.zeros((len(begins), mix.count), np.int64) for _ in range(2))
    misses, references = np.zeros((mix.count, len(names), len(fragments)), np.int64), np.zeros(mix.count, np.int64)
    splits[0] = lookahead(misses[:, 0], len(fragments) - 1, least)  # nothing is known: what floors leave, in turn
    for turn in range(1, len(begins)):
        misses = misses // 2 + np.stack([one[turn - 1] for one in each])
        references = references // 2 + asked[:, turn - 1]
        curve = misses.min(axis=1)
        splits[turn] = lookahead(curve, len(fragments) - 1, task.served(curve, references.tolist(), least))
        best[turn] = misses.argmin(axis=1)[np.arange(mix.count), splits[turn]]
    hit = np.empty(len(mix), np.bool_)
    for a, (one, places) in enumerate(zip(mix.applications, mix.at, strict=True)):
        hit[places] = _following(one, names, sizes, own[a], best[:, a], splits[:, a])
    return Shared.of_hits(hit, begins, sizes[splits])


def _by_window(one: Application, names: Sequence[str], sizes: I64, first: I64, rate: float) -> I64:
    """int64[W, P, k + 1]: misses of an application in each window."""
    found = np.zeros((len(first), len(names), len(sizes)), np.int64)
    for p, name in enumerate(names):
        for k, pages in enumerate(sizes.tolist()):
            missed = np.append(0, np.cumsum(~hits_of(name, one, pages, rate)))
            found[:, p, k] = np.diff(missed[np.append(first, len(one))])
    return found


def _following(one: Application, names: Sequence[str], sizes: I64, first: I64, best: I64, steps: I64) -> Bool:
    """bool[m]: an application whose part follows the shadow of its policy and size in each window."""
    hit = np.zeros(len(one), np.bool_)
    if not len(one):
        return hit
    pairs, leader = np.unique(np.stack([best, steps], axis=1), axis=0, return_inverse=True)
    stream = Stream.of_pages(one.page_ids, one.n_pages)
    runs = [policy(names[p]).simulate(stream, int(sizes[k])) for p, k in pairs.tolist()]
    entered = np.stack([run.outcome == ADMITTED for run in runs])
    led(one.page_ids, entered, np.stack([run.victim for run in runs]), first, leader.reshape(-1), one.n_pages, hit)
    return hit
