"""The next-use forest's inputs, its hazards and its cache, by lists and loops."""

import math
from dataclasses import dataclass

import numpy as np

from cachezoo.kernels.admit.draws import draw, scaled
from cachezoo.kernels.reuse.past import Asked

NEVER, UNKNOWN = 10.0, -1.0
BINS = 24


@dataclass(frozen=True)
class Access:
    """One page access of the past."""

    page: int
    region: int
    stretch: int
    write: int
    request: int


def decayed(past: list[tuple[int, Access]], now: int, half_life: float) -> float:
    """What earlier accesses count for at access number `now`."""
    return sum(2.0 ** ((i - now) / half_life) for i, _ in past)


def of(past: list[tuple[int, Access]], name: str, value: int) -> list[tuple[int, Access]]:
    """Those of one page, region or stretch."""
    return [(i, one) for i, one in past if getattr(one, name) == value]


def rate(keys: list[tuple[int, ...]], again: list[int], key: int, kind: int, now: int, horizon: int) -> float:
    """The part of earlier accesses of a context that were used again within the horizon; the latest weigh more."""
    memory = (2000.0, 1000.0, 4000.0)[kind]
    found, counted = 0.3, 0
    for j in range(len(keys)):
        if j + horizon < now and keys[j][kind] == key:
            counted += 1
            used = 1.0 if 0 < again[j] <= horizon else 0.0
            found += (used - found) / min(counted, memory)
    return found


def input_rows(asked: Asked, capacity: int) -> np.ndarray:
    """float64[m, 26] inputs of every access."""
    rows: list[list[float]] = []
    past: list[tuple[int, Access]] = []
    keys: list[tuple[int, ...]] = []
    again = [0] * len(asked.page_ids)
    run = 0
    for r in range(len(asked.op)):
        first, end = int(asked.start[r]), int(asked.start[r + 1])
        size, write = end - first, int(asked.op[r])
        run = run + size if asked.follows[r] else size
        before = list(past)
        fours = [decayed(of(before, "page", int(asked.page_ids[i])), i, 4 * capacity) for i in range(first, end)]
        fresh = []
        for i in range(first, end):
            page = int(asked.page_ids[i])
            region, stretch = int(asked.region[page]), int(asked.stretch[page])
            own, near = of(before, "page", page), of(before, "region", region)
            wide = of(before, "stretch", stretch)
            times = [j for j, _ in own]
            interval = math.log2((i - times[-1]) / capacity) if own else NEVER
            earlier = math.log2((times[-1] - times[-2]) / capacity) if len(own) > 1 else NEVER
            share = 0.0
            for k, (_, one) in enumerate(own):
                share = one.write if k == 0 else 0.7 * share + 0.3 * one.write
            key = (
                int(asked.process[r]),
                ((write * 8 + min(7, int(math.log2(size)))) * 8 + min(7, int(math.log2(run)))) * 2 + bool(own),
                min(7, len(own)) * 2 + write,
            )
            flags = int(asked.flags[r])
            rates = [
                rate(keys, again, key[kind], kind, first, horizon * capacity) for kind in range(3) for horizon in (1, 4)
            ]
            rows.append([
                interval, earlier, interval - earlier if len(own) > 1 else 0.0,
                *(decayed(own, i, half * capacity) for half in (0.25, 1, 4)),
                write, own[-1][1].write if own else UNKNOWN, 0.7 * share + 0.3 * write if own else write,
                math.log2(size), (i - first) / size, math.log2(run),
                math.log2((i - near[-1][0]) / capacity) if near else NEVER,
                decayed(near, i, capacity), decayed(near, i, 4 * capacity), decayed(wide, i, 4 * capacity),
                (sum(fours) - fours[i - first]) / (size - 1) if size > 1 else UNKNOWN,
                *(UNKNOWN if flags & 8 else flags >> k & 1 for k in range(3)), *rates,
            ])  # fmt: skip
            fresh.append((i, Access(page, region, stretch, write, r), key))
        for i, access, key in fresh:
            last = [j for j, one in past if one.page == access.page]
            if last:
                again[last[-1]] = i - last[-1]
            past.append((i, access))
            keys.append(key)
    return np.array(rows)


def bin_of(age: int, capacity: int) -> int:
    """The half-octave of an age, from C/64 on."""
    b = 0
    while b < BINS - 1 and age > capacity / 64 * 2 ** (b / 2):
        b += 1
    return b


class Cache:
    """The page worth least leaves."""

    def __init__(
        self, page_ids: list[int], classes: list[int], capacity: int, prior: tuple[np.ndarray, np.ndarray],
        candidates: int, seed: int,
    ) -> None:  # fmt: skip
        """Take the stream and what counts start from."""
        self.page_ids, self.classes, self.capacity = page_ids, classes, capacity
        self.events, self.risks = (counts.copy() for counts in prior)
        ends = [max(1, math.floor(capacity / 64 * 2 ** (b / 2))) for b in range(BINS)]
        self.edges = [0, *ends]
        self.candidates, self.seed, self.draws = candidates, seed, 0
        self.ranked, self.residents = 0, []
        self.last: dict[int, int] = {}
        self.counted: set[tuple[int, int]] = set()  # access and bin that it has been counted at risk in
        self.rank()

    def rank(self) -> None:
        """What each class and age is worth."""
        self.worth = np.zeros_like(self.events)
        for k, b in np.ndindex(*self.events.shape):
            alive, held = 1.0, 0.0
            for later in range(b, BINS):
                risk = self.risks[k, later]
                hazard = min(1.0, self.events[k, later] / risk) if risk > 0 else 0.0
                held += alive * max(1, self.edges[later + 1] - self.edges[later]) * (1 - 0.5 * hazard)
                alive *= 1 - hazard
                self.worth[k, b] = max(self.worth[k, b], (1 - alive) / held)

    def refresh(self, i: int) -> None:
        """Count what left a bin unused, rank, fade."""
        for j in range(i):
            unused = self.last[self.page_ids[j]] == j
            for b in range(BINS - 1):
                if unused and j + self.edges[b + 1] < i and (j, b) not in self.counted:
                    self.counted.add((j, b))
                    self.risks[self.classes[j], b] += 1
        self.rank()
        fade = 0.5 ** ((i - self.ranked) / (32 * self.capacity))
        self.events *= fade
        self.risks *= fade
        self.ranked = i

    def saw(self, page: int, i: int) -> None:
        """Access number i."""
        if i - self.ranked >= max(1, self.capacity // 8):
            self.refresh(i)
        if page in self.last:
            before = self.last[page]
            b, k = bin_of(i - before, self.capacity), self.classes[before]
            self.events[k, b] += 1
            for reached in range(b + 1):
                if (before, reached) not in self.counted:
                    self.risks[k, reached] += 1
        self.last[page] = i

    def value(self, page: int, i: int) -> float:
        """What a page is worth now."""
        last = self.last[page]
        return float(self.worth[self.classes[last], bin_of(i - last, self.capacity)])

    def serve(self, page: int, i: int) -> tuple[int, int]:
        """Outcome and victim of an access, as the engine codes them."""
        self.saw(page, i)
        if page in self.residents:
            return 2, -1
        if len(self.residents) < self.capacity:
            self.residents.append(page)
            return 1, -1
        every = self.candidates >= self.capacity
        places = []
        for k in range(self.capacity if every else self.candidates):
            places.append(k if every else scaled(draw(self.seed, self.draws), self.capacity))
            self.draws += 1
        least = min(places, key=lambda place: (self.value(self.residents[place], i), self.last[self.residents[place]]))
        other = self.residents[least]
        if (self.value(other, i), self.last[other]) >= (self.value(page, i), i):
            return 0, -1
        self.residents[least] = page
        return 1, other


class Own:
    """The forest of a trace's own past, by lists and loops; predictions of all accesses."""

    def __init__(self, rows: np.ndarray, target: np.ndarray, trees: int, sample: int) -> None:
        self.rows, self.target, self.trees, self.sample = rows, target, trees, sample

    def drawn(self, settled: int, seed: int) -> list[int]:
        """Vitter's algorithm R over all settled accesses."""
        found = list(range(min(self.sample, settled)))
        for i in range(self.sample, settled):
            place = scaled(draw(seed, i), i + 1)
            if place < self.sample:
                found[place] = i
        return found

    def tree(self, places: list[int], rest: dict[int, float], cuts: list[list[float]], depth: int) -> dict:
        """A tree below a node that these rows reach; `rest` by the row's position among the drawn."""
        best, most = None, 1e-6
        if depth < 4:
            whole = sum(rest[i] for i in places)
            for f in range(self.rows.shape[1]):
                for k, cut in enumerate(cuts[f]):
                    low = [i for i in places if self.rows[self.picked[i], f] <= cut]
                    high = len(places) - len(low)
                    if len(low) < 20 or high < 20:
                        continue
                    below = sum(rest[i] for i in low)
                    gain = below**2 / len(low) + (whole - below) ** 2 / high - whole**2 / len(places)
                    if gain > most * (1 + 1e-9):
                        best, most = (f, k), gain
        if best is None:
            return {"leaf": 0.2 * sum(rest[i] for i in places) / (len(places) + 1)}
        f, k = best
        low = [i for i in places if self.rows[self.picked[i], f] <= cuts[f][k]]
        high = [i for i in places if i not in set(low)]
        return {
            "input": f, "cut": cuts[f][k],
            "low": self.tree(low, rest, cuts, depth + 1), "high": self.tree(high, rest, cuts, depth + 1),
        }  # fmt: skip

    def value(self, tree: dict, row: np.ndarray) -> float:
        while "leaf" not in tree:
            tree = tree["high"] if row[tree["input"]] > tree["cut"] else tree["low"]
        return tree["leaf"]

    def grow(self, settled: int, seed: int) -> tuple[float, list[dict]]:
        self.picked = self.drawn(settled, seed)
        n = len(self.picked)
        cuts = []
        for f in range(self.rows.shape[1]):
            values = sorted(float(self.rows[i, f]) for i in self.picked)
            cuts.append([values[(k + 1) * n // 32] for k in range(31)])
        base = sum(float(self.target[i]) for i in self.picked) / n
        rest = {i: float(self.target[self.picked[i]]) - base for i in range(n)}
        forest = []
        for _ in range(self.trees):
            tree = self.tree(list(range(n)), rest, cuts, 0)
            rest = {i: value - self.value(tree, self.rows[self.picked[i]]) for i, value in rest.items()}
            forest.append(tree)
        return base, forest

    def scores(self, delay: int, capacity: int, seed: int, pace: int) -> list[float]:
        found = [math.nan] * len(self.rows)
        settled = max(40, math.ceil(1.5 * capacity))
        while settled + delay < len(self.rows):
            base, forest = self.grow(settled, seed)
            later = math.ceil(settled * 1.3)
            work = min(self.sample, settled) * self.trees
            waits = min(math.ceil(work / pace), (later - settled) // 2) - 1 if pace else 0
            for i in range(settled + delay + max(waits, 0), len(self.rows)):  # until the next one predicts
                found[i] = base + sum(self.value(tree, self.rows[i]) for tree in forest)
            settled = later
        return found


def believed(scores: np.ndarray, own: np.ndarray, target: np.ndarray, delay: int, capacity: int) -> list[float]:
    """Scores moved towards the own ones by the share that did best on what was settled."""
    used = []
    for i in range(len(scores)):
        settled = [j for j in range(i) if j + delay < i and not math.isnan(own[j])]
        # The latest weighs 1, the one before 2 ** (-1 / half-life), and so on.
        weight = {j: 0.5 ** (k / (2 * capacity)) for k, j in enumerate(reversed(settled))}
        gained = sum(w * (own[j] - scores[j]) * (target[j] - scores[j]) for j, w in weight.items())
        apart = sum(w * (own[j] - scores[j]) ** 2 for j, w in weight.items())
        share = min(1.0, max(0.0, gained / (apart + 0.1 * capacity)))
        used.append(float(scores[i]) if math.isnan(own[i]) else scores[i] + share * (own[i] - scores[i]))
    return used
