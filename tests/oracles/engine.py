"""The engine, naively: one access at a time, in the words of its documentation."""

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


def simulate(stream, cache, gate):
    """Outcomes and victims of `cache` behind `gate`; checks on the way that no step breaks the rules."""
    outcomes, victims = [], []
    resident = set()
    answer, missed = None, False
    for i, (page, flags) in enumerate(zip(stream.page_ids.tolist(), stream.flags.tolist(), strict=True)):
        outcome, victim = BYPASSED, NONE
        if flags & REQUEST:
            missed = False
        if flags & UNIT:
            answer = None
        wanted = False
        if flags & PREFETCH:
            wanted = missed and not cache.has(page)
        elif cache.has(page):
            outcome = HIT
            cache.touch(page, i)
            gate.saw(page, i)
        elif not flags & AROUND:
            if answer is None:
                answer = gate.admit(page, i)
            wanted = answer
            missed = missed or answer
        if wanted:
            left = cache.insert(page, i)
            if left != REFUSED:
                outcome, victim = (PREFETCHED if flags & PREFETCH else ADMITTED), left
                resident.add(page)
                resident.discard(left)
        assert resident == {q for q in range(stream.n_pages) if cache.has(q)}
        outcomes.append(outcome)
        victims.append(victim)
    return outcomes, victims
