"""The follower, naively: sets of pages, experts stepped access by access, lists instead of linked ones.

`follow` has full shadows. `follow_sampled` has shadows of some pages and makes every leader's cache anew; for both
`Held` is what the follower holds.
"""

from cachezoo.kernels.outcome import (
    ADMITTED,
    AROUND,
    BYPASSED,
    HIT,
    NONE,
    PREFETCH,
    PREFETCHED,
    REFUSED,
    REQUEST,
    UNIT,
)


class Expert:
    """A cache behind a gate that serves one access at a time, and what it holds."""

    def __init__(self, cache, gate):
        self.cache, self.gate, self.pages = cache, gate, set()
        self.answer, self.missed = None, False

    def step(self, i, page, flags):
        """Whether it hit, and the page that left or None."""
        if flags & REQUEST:
            self.missed = False
        if flags & UNIT:
            self.answer = None
        if flags & PREFETCH:
            return False, self.fetch(i, page) if self.missed and page not in self.pages else None
        if page in self.pages:
            self.cache.touch(page, i)
            self.gate.saw(page, i)
            return True, None
        if flags & AROUND:
            return False, None
        if self.answer is None:
            self.answer = self.gate.admit(page, i)
        self.missed = self.missed or self.answer
        return False, self.fetch(i, page) if self.answer else None

    def fetch(self, i, page):
        left = self.cache.insert(page, i)
        if left == REFUSED:
            return None
        self.pages.add(page)
        self.pages.discard(left)
        return left if left != NONE else None


class Held:
    """What a follower holds, in the order in which it would leave."""

    def __init__(self, capacity):
        self.capacity, self.kept, self.strays = capacity, [], []
        self.missed = False

    def lead(self, its):
        """Another leads, whose cache holds the pages in `its`."""
        back = [q for q in self.strays if q in its]
        self.strays = [q for q in self.strays if q not in its] + [q for q in self.kept if q not in its]
        self.kept = [q for q in self.kept if q in its] + back

    def stray(self, left):
        """The leader evicted a page."""
        if left in self.kept:
            self.kept.remove(left)
            self.strays.append(left)

    def serve(self, page, flags, led):
        """Outcome and victim, given whether the leader holds the page after its own step."""
        if flags & REQUEST:
            self.missed = False
        outcome, victim = BYPASSED, NONE
        if page in self.kept or page in self.strays:
            if not flags & PREFETCH:
                outcome = HIT
            if not flags & PREFETCH or led:
                (self.kept if page in self.kept else self.strays).remove(page)
                (self.kept if led else self.strays).append(page)
        elif flags & PREFETCH:
            outcome = PREFETCHED if led and self.missed else BYPASSED
        elif not flags & AROUND:
            self.missed = True
            outcome = ADMITTED if led else BYPASSED
        if outcome in (ADMITTED, PREFETCHED):
            if len(self.kept) + len(self.strays) == self.capacity:
                victim = self.strays.pop(0)
            self.kept.append(page)
        return outcome, victim


class Counts:
    """Decayed hits of shadows of `size` pages, and whom they say to follow."""

    def __init__(self, experts, size, half_life, lead, price, head_start):
        self.experts, self.hits, self.asked = experts, [[] for _ in experts], 0
        self.size, self.half_life, self.lead, self.price, self.head_start = size, half_life, lead, price, head_start

    def step(self, i, page, flags):
        """All shadows serve an access; whether each hit and what left it."""
        self.asked += not flags & PREFETCH
        steps = [expert.step(i, page, flags) for expert in self.experts]
        for own, (hit, _) in zip(self.hits, steps, strict=True):
            own += [self.asked] * hit
        return steps

    def ahead(self, leader, held):
        """Who leads next, with so many pages held."""
        life = self.half_life * self.size
        counts = [sum(0.5 ** ((self.asked - then) / life) for then in own) for own in self.hits]
        counts[0] += self.head_start * self.size * 0.5 ** (self.asked / life)
        lacks = [len(expert.pages - {*held.kept, *held.strays}) for expert in self.experts]
        gains = [
            count - counts[leader] - self.lead * self.size - self.price * lack
            for count, lack in zip(counts, lacks, strict=True)
        ]
        return gains.index(max(gains)) if max(gains) > 0 else leader


def follow(stream, capacity, experts, half_life, lead, price, head_start=0.0):
    """Outcomes, victims and leaders; `half_life` and `lead` over the capacity; experts are `Expert`s."""
    outcomes, victims, leaders = [], [], []
    held, counts, leader = Held(capacity), Counts(experts, capacity, half_life, lead, price, head_start), 0
    for i, (page, flags) in enumerate(zip(stream.page_ids.tolist(), stream.flags.tolist(), strict=True)):
        steps = counts.step(i, page, flags)
        held.stray(steps[leader][1])
        if not steps[leader][0] and any(hit for hit, _ in steps):
            ahead = counts.ahead(leader, held)
            if ahead != leader:
                leader = ahead
                held.lead(experts[leader].pages)
        outcome, victim = held.serve(page, flags, page in experts[leader].pages)
        outcomes.append(outcome)
        victims.append(victim)
        leaders.append(leader)
    return outcomes, victims, leaders


def reflagged(accesses):
    """Accesses (request, unit, row, page, flags), each request's and unit's first flagged as such."""
    request = unit = None
    for own_request, own_unit, row, page, flags in accesses:
        flags &= ~(REQUEST | UNIT)
        flags |= REQUEST if own_request != request else 0
        flags |= UNIT if own_unit != unit else 0
        request, unit = own_request, own_unit
        yield row, page, flags


def sampled(stream, drawn):
    """The accesses to the drawn pages: (row, page, flags)."""
    accesses, request, unit = [], 0, 0
    for row, (page, flags) in enumerate(zip(stream.page_ids.tolist(), stream.flags.tolist(), strict=True)):
        request += bool(flags & REQUEST)
        unit += bool(flags & UNIT)
        accesses.append((request, unit, row, page, flags))
    return list(reflagged(one for one in accesses if drawn[one[3]]))


def follow_sampled(stream, capacity, shadows, full, drawn, size, history, half_life, lead, price, head_start=0.0):
    """As `follow`, where the shadows see drawn pages alone.

    `size` is the capacity times the rate; `full(expert)` makes that expert's empty cache of all pages. A new leader's
    is first asked what was asked in the last `history` capacities of accesses, from a request's first on.
    """
    outcomes, victims, leaders = [], [], []
    held, counts = Held(capacity), Counts(shadows, size, half_life, lead, price, head_start)
    asked = list(zip(stream.page_ids.tolist(), stream.flags.tolist(), strict=True))
    small = {row: (at, page, flags) for at, (row, page, flags) in enumerate(sampled(stream, drawn))}
    leader = ahead = 0
    cache = full(0)
    for i, (page, flags) in enumerate(asked):
        if flags & REQUEST and ahead != leader:
            leader, cache = ahead, full(ahead)
            low = max(0, i - round(history * capacity))
            while not asked[low][1] & REQUEST:
                low += 1
            for k in range(low, i):
                cache.step(k, *asked[k])
            held.lead(cache.pages)
        if i in small:
            steps = counts.step(*small[i])
            if ahead == leader and not steps[leader][0] and any(hit for hit, _ in steps):
                ahead = counts.ahead(leader, held)
        held.stray(cache.step(i, page, flags)[1])
        outcome, victim = held.serve(page, flags, page in cache.pages)
        outcomes.append(outcome)
        victims.append(victim)
        leaders.append(leader)
    return outcomes, victims, leaders
