"""Kind `policy`: a page cache by a classic rule, from a composition's values; its golden rows are all generated.

There are no weights and no trained traces. The real rows are a generated stream too, the same for every composition;
the synthetic sets run the composition in caches of other sizes, and its eviction with admissions and a prefetch of
their own, so that every bundle passes every branch.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cachezoo.arrays import Bool
from cachezoo.kernels.outcome import ADMITTED, BYPASSED, HIT, PREFETCHED, WRITE
from cachezoo.policies.mounted import mounted
from cachezoo.serving.kind import BLOCK, EXACT_TABLE, Cost, Kind, Recomputed, Session, State
from cachezoo.serving.requests import RequestBatch
from cachezoo.serving.synthetic import READ, Script, SyntheticSet, changed, draws_of
from cachezoo.serving.synthetic import WRITE as WRITES
from cachezoo.traces.table import PAGE_BYTES
from cachezoo.zoo.policy.serve import PARTS, PolicyServing, Served, spec_of, values_of

Serve = Callable[[Mapping[str, Any]], PolicyServing]
DECISIONS = ("outcome", "victim_page", "victim_dirty")
OUTPUTS = ("resident",)
SIZES = {"golden.context.capacity_pages": (1, 1 << 22)}
WANTED = ("hit", "admitted", "evicted", "dirty_evicted")
BRANCHES = (*WANTED, "bypassed", "prefetched", "prefetch_hit", "prefetch_evicts")
GOLDEN_SHARES = (0.1, 0.02)  # of the golden rows' pages
PAGE_STATE, MISS = (
    24,
    8,
)  # bytes of a page that is held or remembered: key, links, slot, marks; and of each of its misses
FURTHER = {
    "inlfu": 8,
    "lirs": 8,
    "wtinylfu": 8,
}  # count and place in a heap; links of the stack; its part of the sketch
CAPACITY, FEW, GHOSTS, WIDE = 8, 3, 40, 264
FAR = 1 << 20  # pages: 4 GiB
REALS, FETCHED = 400, 12_800  # golden requests; and pages that they fetch ahead, about
MOST_AHEAD = 5  # pages that a synthetic set fetches ahead with each read


def _script(name: str, accesses: int, capacity: int, most: int) -> RequestBatch:
    """Hot pages, a loop longer than the cache, scans, and runs that go on from the last request, in turns.

    Args:
        name: that its draws depend on.
        accesses: pages, or a few more.
        capacity: pages of the cache that it is for.
        most: pages of a request.
    """
    draws, script, seen, looped = draws_of(f"policy_{name}"), Script(("one", "two")), 0, 0
    while seen < accesses:
        phase, pages = seen // (2 * capacity + 12) % 4, int(draws.integers(1, most + 1))
        page, volume = int(draws.integers(max(2, capacity * 2 // 3))), int(draws.random() < 0.1)
        if phase == 1 and draws.random() < 0.8:
            page, looped = 100 + looped % (capacity + capacity // 2 + 1), looped + pages
        elif phase == 2 and draws.random() < 0.7:
            page = FAR + 2 * seen
        elif phase == 3 and draws.random() < 0.6 and script.rows:
            page = (script.rows[-1][2] + script.rows[-1][3]) // PAGE_BYTES
        start = page * PAGE_BYTES + (512 if draws.random() < 0.1 else 0)
        script.add(WRITES if draws.random() < 0.3 else READ, start, pages * PAGE_BYTES, volume)
        seen += pages
    return script.batch()


def golden_stream(policy: Mapping[str, Any]) -> RequestBatch:
    """The requests of the real rows; fewer where each fetches many pages ahead.

    Args:
        policy: section `policy` of a bundle.
    """
    batch, ahead = _script("golden", 2 * REALS, GHOSTS, 4), int(policy["prefetch"].get("n", 0))
    return batch.part(0, min(len(batch), REALS, max(8, FETCHED // max(1, ahead))))


def _changes(text: str) -> dict[str, Any]:
    """Another composition in place of a bundle's."""
    own = values_of(mounted(text))
    return {f"policy.{name}": own[name] for name in ("text", *PARTS)}


def _sets(manifest: Mapping[str, Any], serve: Serve) -> list[SyntheticSet]:
    spec = mounted(manifest["policy"]["text"])
    own = "+".join(str(part) for part in (spec.admission, spec.eviction))
    plan = dict(spec.prefetch.values).get("n", 8) if spec.prefetch.id == "next" else 0
    usual = _changes(f"{own}+next(n={int(min(plan, MOST_AHEAD))})" if plan else own)
    sizes = {"one": (1, 60, 2), "few": (FEW, 160, 3), "small": (CAPACITY, 320, 4), "ghosts": (GHOSTS, 900, 4),
             "wide": (WIDE, 1200, 24)}  # fmt: skip
    others = {
        "rejectx": f"rejectx(window_capacities=6)+{spec.eviction}",
        "coinflip": f"coinflip(p=0.6, seed=3)+{spec.eviction}",
        "next": f"{spec.eviction}+next(n=3)",
    }
    return [
        *(
            SyntheticSet(name, _script(name, accesses, capacity, most), usual, {"capacity_pages": capacity})
            for name, (capacity, accesses, most) in sizes.items()
        ),
        *(
            SyntheticSet(name, _script(name, 240, CAPACITY, 4), _changes(text), {"capacity_pages": CAPACITY})
            for name, text in others.items()
        ),
    ]


def _marks(served: Served) -> tuple[Bool, Bool]:
    """bool[m] each: the access evicted a page that was written while it was cached; it hit one fetched ahead."""
    stream, run = served.stream, served.run
    dirty, fresh = np.zeros(stream.n_pages, np.bool_), np.zeros(stream.n_pages, np.bool_)
    left_dirty, used = np.zeros(len(stream), np.bool_), np.zeros(len(stream), np.bool_)
    for i in range(len(stream)):
        page, what, left = stream.page_ids[i], run.outcome[i], run.victim[i]
        if left >= 0:
            left_dirty[i] = dirty[left]
            dirty[left] = fresh[left] = False
        used[i] = what == HIT and fresh[page]
        if what in (HIT, ADMITTED):
            dirty[page] |= stream.flags[i] & WRITE != 0
        if what != BYPASSED:
            fresh[page] = what == PREFETCHED
    return left_dirty, used


def _run(serving: PolicyServing, batch: RequestBatch, capacity: int) -> Recomputed:
    served = serving.run(batch, capacity)
    outcome, left = served.run.outcome, served.run.victim
    left_dirty, used = _marks(served)
    entered, evicted = (outcome == ADMITTED) | (outcome == PREFETCHED), left >= 0
    found = {
        "hit": outcome == HIT,
        "admitted": outcome == ADMITTED,
        "evicted": evicted,
        "dirty_evicted": left_dirty,
        "bypassed": served.stream.asked & (outcome == BYPASSED),
        "prefetched": outcome == PREFETCHED,
        "prefetch_hit": used,
        "prefetch_evicts": evicted & (outcome == PREFETCHED),
    }
    return Recomputed(
        (batch.offset // PAGE_BYTES).astype(np.float32)[:, None],
        np.cumsum(entered.astype(np.int32) - evicted).astype(np.float32)[:, None],
        np.stack([outcome.astype(np.int32), left, left_dirty.astype(np.int32)], axis=1).astype(np.int32),
        {name: int(np.count_nonzero(passed)) for name, passed in found.items()},
    )


def _recompute_synthetic(manifest: Mapping[str, Any], serve: Serve, one: SyntheticSet) -> Recomputed:
    """Run a set through a fresh serving object; see `Kind.recompute_synthetic`."""
    return _run(serve(changed(manifest, one.changes)), one.requests, int(one.context["capacity_pages"]))


def _contexts(manifest: Mapping[str, Any], batch: RequestBatch) -> list[dict[str, Any]]:
    """Caches of a share of the golden rows' pages."""
    pages = batch.pages().n_pages
    return [{"capacity_pages": max(1, int(share * pages))} for share in GOLDEN_SHARES]


def _cost(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> Cost:
    """No inference; the values of the composition."""
    return Cost(0, 0, sum(len(manifest["policy"][part]) - 1 for part in PARTS), 0)


def _state(manifest: Mapping[str, Any]) -> State:
    """Nothing but what is kept of pages."""
    policy = manifest["policy"]
    return State(
        0, PAGE_STATE + FURTHER.get(policy["eviction"]["name"], 0) + MISS * policy["admission"].get("x", 0), "page"
    )


class NoSession:
    """The engine of a bundle that has no weights."""

    def run(self, outputs: list[str] | None, inputs: dict[str, Any]) -> list[Any]:
        """No outputs."""
        return []


def _check(manifest: Mapping[str, Any]) -> None:
    """Raises ConfigError: text and values are not one composition that a runtime runs."""
    spec_of(manifest["policy"])


def _serve(manifest: Mapping[str, Any], session: Session) -> PolicyServing:
    return PolicyServing(policy=manifest["policy"])


KIND = Kind(
    outputs=lambda manifest: OUTPUTS,
    decisions=DECISIONS,
    sizes=SIZES,
    wanted=WANTED,
    serve=_serve,
    recompute=lambda serving, batch, context: _run(serving, batch, int(context["capacity_pages"])),
    contexts=_contexts,
    open_weights=lambda manifest, files: NoSession(),
    check=_check,
    profile=lambda manifest: BLOCK,
    conformance=lambda manifest: EXACT_TABLE,
    state=_state,
    synthetic=_sets,
    synthetic_wanted=lambda manifest: BRANCHES,
    synthetic_decisions=lambda context: DECISIONS,
    recompute_synthetic=_recompute_synthetic,
    cost=_cost,
)
