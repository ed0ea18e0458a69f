"""The follower, naively: sets of pages, experts stepped access by access, lists instead of linked ones."""

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


def follow(stream, capacity, experts, half_life, lead, price, head_start=0.0):
    """Outcomes, victims and leaders; `half_life` and `lead` over the capacity; experts are `Expert`s."""
    outcomes, victims, leaders = [], [], []
    hits = [[] for _ in experts]  # for each expert the accesses asked that it hit
    kept, strays = [], []  # what leaves first stands first
    leader, asked, missed = 0, 0, False
    for i, (page, flags) in enumerate(zip(stream.page_ids.tolist(), stream.flags.tolist(), strict=True)):
        if flags & REQUEST:
            missed = False
        asked += not flags & PREFETCH
        steps = [expert.step(i, page, flags) for expert in experts]
        left = steps[leader][1]
        if left in kept:
            kept.remove(left)
            strays.append(left)
        for own, (hit, _) in zip(hits, steps, strict=True):
            own += [asked] * hit
        if not steps[leader][0] and any(hit for hit, _ in steps):
            counts = [sum(0.5 ** ((asked - then) / (half_life * capacity)) for then in own) for own in hits]
            counts[0] += head_start * capacity * 0.5 ** (asked / (half_life * capacity))
            lacks = [len(expert.pages - {*kept, *strays}) for expert in experts]
            gains = [
                count - counts[leader] - lead * capacity - price * lack
                for count, lack in zip(counts, lacks, strict=True)
            ]
            if max(gains) > 0:
                leader = gains.index(max(gains))
                its = experts[leader].pages
                back = [q for q in strays if q in its]
                strays = [q for q in strays if q not in its] + [q for q in kept if q not in its]
                kept = [q for q in kept if q in its] + back
        held = page in experts[leader].pages
        outcome, victim = BYPASSED, NONE
        if page in kept or page in strays:
            if not flags & PREFETCH:
                outcome = HIT
            if not flags & PREFETCH or held:
                (kept if page in kept else strays).remove(page)
                (kept if held else strays).append(page)
        elif flags & PREFETCH:
            outcome = PREFETCHED if held and missed else BYPASSED
        elif not flags & AROUND:
            missed = True
            outcome = ADMITTED if held else BYPASSED
        if outcome in (ADMITTED, PREFETCHED):
            if len(kept) + len(strays) == capacity:
                victim = strays.pop(0)
            kept.append(page)
        outcomes.append(outcome)
        victims.append(victim)
        leaders.append(leader)
    return outcomes, victims, leaders
