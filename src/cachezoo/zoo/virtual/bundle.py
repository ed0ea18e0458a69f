"""Kind `virtual`: a virtual I/O cache, from its settings and the profile of a warm start; its synthetic sets.

These are short queues of every order, which fill up, and caches of several runs. Longer queues have requests of many
pages, so that thousands of page accesses are few rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cachezoo.arrays import F32, F64, I64
from cachezoo.errors import ConfigError
from cachezoo.kernels.virtual.mapping import MOST_RUNS, allocate, make_work
from cachezoo.kernels.virtual.queues import Moves
from cachezoo.kernels.virtual.vrm import memory
from cachezoo.serving.kind import BLOCK, EXACT_FOREST, Cost, Kind, Recomputed, State
from cachezoo.serving.requests import RequestBatch
from cachezoo.serving.synthetic import READ, WRITE, Script, SyntheticSet, changed, draws_of
from cachezoo.traces.table import PAGE_BYTES
from cachezoo.zoo.virtual.serve import (
    COLD,
    DOUBLE,
    FILE,
    WARM,
    ProfileSession,
    Ran,
    VirtualServing,
    check_queue,
    fitted_to,
    from_bytes,
)

Serve = Callable[[Mapping[str, Any]], VirtualServing]
SIZES = {
    "golden.context.capacity_pages": (1, 1 << 22), "arch.pages": (1, 1 << 26), "arch.fragment": (1, 1 << 16),
    "arch.runs": (1, MOST_RUNS), "arch.quantum": (1, 1 << 40),
}  # fmt: skip
GOLDEN_SHARES = (0.1, 0.25)  # of the golden rows' pages
RUN_BYTES = 2 * DOUBLE  # its first and its last fragment
PAGE_STATE = DOUBLE + 4 * 4  # key; its last access, its place in that order, and of LFU its count
DECISIONS = ("position", "hit", "moved")
WANTED = ("hit", "unmapped", "new_page", "quantum")
SHOWN = ("several_runs", "far_hit", "fragmentation", "allocation", "forgotten", "passed_by")
BRANCHES = (
    *("hit", "far_hit", "unmapped", "new_page", "forgotten", "passed_by", "fragmentation", "allocation", "quantum"),
    *("several_runs", "head_unmapped", "dropped_run", "tie", "left_over", "left_over_before", "whole_queue", "single"),
    *("cold", "warm", "head_chosen", "runs_chosen", "no_memory", "all_memory"),
    # Of one order of the queue.
    *("lru_moves", "lfu_moves", "lfu_inner", "lfu_new_inner", "arc_moves", "arc_ghost", "arc_new_inner"),
    *("arc_not_last", "arc_shrinks"),
)
# A queue of 24 fragments of 4 pages, a cache of 6 and two pages more.
PAGES, FRAGMENT, CAPACITY, LOOP = 96, 4, 26, 40
SMALL = {
    "queue": "lru", "pages": PAGES, "fragment": FRAGMENT, "runs": 2, "decay": 0.5, "quantum": 24, "cost": 0,
}  # fmt: skip

MANY, FEW = (1, 3, 8, 17, 40, 60), (1, 2, 3, 5, 8)  # pages of requests


def _script(name: str, requests: int) -> RequestBatch:
    """Hot pages, a loop longer than the cache, a scan longer than the queue, and pages that come back, in turns."""
    draws, script = draws_of(f"virtual_{name}"), Script(("one", "two"))
    for k in range(requests):
        phase, page = k // 30 % 4, int(draws.integers(10))
        if phase == 1 or (phase == 3 and draws.random() < 0.5):
            page = 20 + 2 * (k % 30)
        if phase == 2 and draws.random() < 0.8:
            page = 300 + 3 * k
        pages, volume = int(draws.choice([1, 2, 3, 5])), int(draws.random() < 0.1)
        start = page * PAGE_BYTES + (512 if draws.random() < 0.1 else 0)
        script.add(WRITE if draws.random() < 0.3 else READ, start, pages * PAGE_BYTES, volume)
    return script.batch()


def _loop() -> RequestBatch:
    """As many pages as the queue has positions, in turns: each comes back when it is last."""
    script = Script(("one",))
    for k in range(3 * LOOP):
        script.add(READ, k % LOOP * PAGE_BYTES, PAGE_BYTES)
    return script.batch()


def _many(
    draw: str, accesses: int, span: int, sizes: Sequence[int], twice: float, new: int, often: int
) -> RequestBatch:
    """Hot ranges, a loop of `span` pages, and new ones, in turns, in requests of several pages.

    First come requests that access some pages more often than others, so that none of the lower classes of lfu begins
    at the head of the queue, and new pages, which arc keeps in T1 alone. Some pages have numbers that differ above
    their 19th or 32nd bit alone.

    Args:
        draw: name that seeds the draws.
        accesses: of pages, or a few more.
        span: pages of the loop, and accesses of a turn.
        sizes: pages of a request.
        twice: share of the requests that are made twice.
        new: pages of the scan at the beginning.
        often: how often the first page is accessed at the beginning; each one after it once less.
    """
    draws, script, seen, turned, fresh = draws_of(f"virtual_{draw}"), Script(("one", "two")), 0, 0, 4 * span
    for count in range(often, 0, -1):
        script.add(READ, 0, count * PAGE_BYTES)
        seen += count
    for at in range(0, new, max(sizes)):
        count = min(max(sizes), new - at)
        script.add(READ, fresh * PAGE_BYTES, count * PAGE_BYTES)
        seen, fresh = seen + count, fresh + count
    while seen < accesses:
        phase, count, page = seen // span % 3, int(draws.choice(sizes)), int(draws.integers(span // 4))
        if phase == 1:
            page, turned = span // 4 + turned % span, turned + count
        if phase == 2 and draws.random() < 0.5:
            page, fresh = fresh, fresh + count
        if draws.random() < 0.1:
            page += int(draws.choice([1 << 19, 1 << 32]))
        volume = int(draws.random() < 0.1)
        for _ in range(1 + int(draws.random() < twice)):
            script.add(WRITE if draws.random() < 0.3 else READ, page * PAGE_BYTES, count * PAGE_BYTES, volume)
            seen += count
    return script.batch()


def _set(name: str, requests: int, capacity: int = CAPACITY, start: str = COLD, **arch: object) -> SyntheticSet:
    """A set of a small cache; `arch` are values other than those of `SMALL`."""
    return _of(name, _script(name, requests), capacity, start, **arch)


def _of(name: str, batch: RequestBatch, capacity: int, start: str = COLD, **arch: object) -> SyntheticSet:
    changes = {f"arch.{key}": value for key, value in {**SMALL, **arch}.items()}
    return SyntheticSet(name, batch, {**changes, "policy.start": start}, {"capacity_pages": capacity})


def _sets(manifest: Mapping[str, Any], serve: Serve) -> list[SyntheticSet]:
    """The sets of a manifest; see `Kind.synthetic`."""
    # The last six were chosen for the wrong runtimes that no other catches: tests/mutants/search.py.
    lfu = _many("many_lfu", 4350, 600, MANY, twice=0, new=2800, often=6)
    arc = _many("many_arc_0", 1250, 128, MANY, twice=0.4, new=260, often=0)
    lru = _many("many_lru_1", 1300, 250, MANY, twice=0.3, new=0, often=0)
    few_lfu = _many("few_lfu_0", 330, 60, FEW, twice=0.5, new=66, often=0)
    few_arc = _many("few_arc_7", 250, 30, FEW, twice=0.5, new=0, often=0)
    few_lru = _many("few_lru_0", 150, 30, FEW, twice=0.5, new=0, often=0)
    return [
        _set("lru", 120),
        _set("lfu", 120, queue="lfu"),
        _set("arc", 150, queue="arc", pages=40, capacity=13, decay=0.9),
        _set("cost", 90, cost=1, decay=0.75, runs=3),
        _set("no_memory", 90, queue="lfu", decay=0, quantum=7, runs=1),
        _set("all_memory", 90, decay=1, quantum=50, runs=16, fragment=1, pages=PAGES, capacity=17),
        _set("warm", 90, start=WARM, decay=0.95),
        _set("whole", 60, capacity=PAGES, queue="arc", fragment=6),
        _of("loop", _loop(), CAPACITY, pages=LOOP, runs=1, cost=0.25),
        _of("many_lfu", lfu, 900, queue="lfu", pages=1860, fragment=2, runs=3, decay=1, quantum=290, cost=0.02),
        _of("many_arc", arc, 67, queue="arc", pages=256, fragment=2, runs=4, decay=0.75, quantum=50, cost=0.1),
        _of("many_lru", lru, 100, pages=320, fragment=2, runs=3, decay=1, quantum=300, cost=0.1),
        _of("few_lfu", few_lfu, 20, queue="lfu", pages=64, quantum=11, cost=0.25),
        _of("few_arc", few_arc, 16, queue="arc", pages=40, decay=0, quantum=11, cost=0.25),
        _of("few_lru", few_lru, 40, pages=8192, fragment=16, quantum=11, cost=0.25),
    ]


def _quanta(serving: VirtualServing, moved: Moves, capacity: int) -> tuple[F64, F64, list[I64]]:
    """What was mapped, from the start on: one entry at the start, and one for each quantum.

    Returns:
        float64[quanta + 1, fragments] the values that each mapping was made by, not decayed since; the same of
        crossings; and the runs of fragments of each mapping, int64[runs, 2].
    """
    own, fragments = serving.settings, serving.pages // serving.settings.fragment
    value, crossings, k = np.zeros(fragments), np.zeros(fragments), capacity // own.fragment
    runs = [np.array([[0, k]])]
    if serving.start == WARM:
        value[:] = fitted_to(serving.profile, fragments) * memory(own)
        runs = [_runs(value, crossings, k, serving)]
    values, crossed = [value.copy()], [crossings.copy()]
    edges = np.arange(fragments) * own.fragment
    for end in range(own.q, len(moved.position) + 1, own.q):
        part = slice(end - own.q, end)
        position, filled, vacated = moved.position[part], moved.filled[part], moved.vacated[part]
        value += np.bincount(position[position >= 0] // own.fragment, minlength=fragments)
        crossings += ((filled[:, None] < edges) & (edges <= vacated[:, None])).sum(axis=0)
        values.append(value.copy())
        crossed.append(crossings.copy())
        runs.append(_runs(value, crossings, k, serving))
        value *= own.alpha
        crossings *= own.alpha
    return np.array(values), np.array(crossed), runs


def _runs(value: F64, crossings: F64, k: int, serving: VirtualServing, cost: float | None = None) -> I64:
    found, own = np.zeros((MOST_RUNS, 2), np.int64), serving.settings
    count, _ = allocate(value, crossings, k, own.f, own.cost if cost is None else cost, 0, make_work(len(value)), found)
    return found[:count]


def _is_head(runs: I64) -> bool:
    return len(runs) == 1 and runs[0, 0] == 0


def _branches(serving: VirtualServing, ran: Ran, capacity: int) -> dict[str, int]:
    """How often each branch is passed."""
    own, moved, hit = serving.settings, ran.moves, ran.hit
    (values, crossings, runs), k, m = _quanta(serving, moved, capacity), capacity // own.fragment, len(hit)
    fragments = len(values[0])
    known, moves = moved.position >= 0, moved.filled < moved.vacated
    lru, lfu, arc = (serving.queue == queue for queue in ("lru", "lfu", "arc"))
    longest = np.maximum.accumulate(np.append(-1, moved.vacated))[:-1]
    grown = np.cumsum(~known & (moved.vacated >= np.maximum.accumulate(np.append(0, moved.vacated[:-1] + 1))))
    first = np.array([run[0, 1] if run[0, 0] == 0 else 0 for run in runs])  # fragments mapped at the head
    at, last = np.arange(m) // own.q, np.arange(1, m + 1) % own.q == 0
    near = own.fragment * first[np.minimum(at, len(first) - 1)] + capacity % own.fragment
    kept = np.zeros(m, bool)
    for which, run in enumerate(runs):
        part = at == which
        inside = moved.filled[part][:, None] // own.fragment
        kept[part] = ((run[:, 0] <= inside) & (inside < run[:, 1])).any(axis=1)
    ordered = np.sort(values[1:], axis=1)[:, ::-1]
    best = [np.sort(np.argsort(-value, kind="stable")[:k]) for value in values[1:]]
    heads = [_is_head(run) for run in runs[1:]]
    free = [_runs(value, crossed, k, serving, 0.0) for value, crossed in zip(values[1:], crossings[1:], strict=True)]
    rest = capacity % own.fragment > 0
    found = {
        "hit": hit,
        "far_hit": hit & (moved.position >= near),
        "unmapped": known & ~hit,
        "new_page": ~known,
        "forgotten": ~known & (moved.vacated == serving.pages - 1) & (grown >= 1),
        "passed_by": ~hit & ~kept,
        "fragmentation": (ran.moved > 0) & ~last,
        "allocation": (ran.moved > own.f) & last,
        "quantum": last,
        "several_runs": np.array([len(run) > 1 for run in runs]),
        "head_unmapped": first == 0,
        "dropped_run": np.array([np.count_nonzero(np.diff(one) > 1) >= own.f for one in best]),
        "tie": np.array([k < fragments and bool(row[k - 1] == row[k] > 0) for row in ordered]),
        "left_over": np.array([rest] * len(runs)),
        "left_over_before": np.array([rest and run[0, 1] == fragments for run in runs]),
        "whole_queue": np.array([capacity == serving.pages]),
        "single": np.array([own.f == 1]),
        "cold": np.array([serving.start == COLD]),
        "warm": np.array([serving.start == WARM]),
        "head_chosen": np.array(
            [own.cost > 0 and one and not _is_head(run) for one, run in zip(heads, free, strict=True)]
        ),
        "runs_chosen": np.array([own.cost > 0 and not one for one in heads]),
        "no_memory": np.array([own.alpha == 0]),
        "all_memory": np.array([own.alpha == 1]),
        # Of one order of the queue.
        "lru_moves": moves & lru,
        "lfu_moves": moves & lfu,
        "lfu_inner": known & (moved.filled > 0) & lfu,
        "lfu_new_inner": ~known & (moved.filled > 0) & lfu,
        "arc_moves": moves & arc,
        "arc_ghost": ~known & (moved.filled == 0) & (moved.vacated > 0) & arc,
        "arc_new_inner": ~known & (moved.filled > 0) & arc,
        "arc_not_last": ~known & (moved.vacated < longest) & arc,
        "arc_shrinks": ~known & (moved.vacated == moved.filled) & (longest > moved.vacated) & arc,
    }
    return {name: int(np.count_nonzero(passed)) for name, passed in found.items()}


def _run(serving: VirtualServing, batch: RequestBatch, capacity: int) -> Recomputed:
    ran = serving.run(batch.pages(), capacity)
    table = np.stack([ran.moves.position, ran.hit.astype(np.int32), ran.moved], axis=1).astype(np.int32)
    outputs: F32 = ran.moves.position.astype(np.float32)[:, None]
    features = (batch.offset // PAGE_BYTES).astype(np.float32)[:, None]
    return Recomputed(features, outputs, table, _branches(serving, ran, capacity))


def _recompute_synthetic(manifest: Mapping[str, Any], serve: Serve, one: SyntheticSet) -> Recomputed:
    """Run a set through a fresh serving object; see `Kind.recompute_synthetic`."""
    return _run(serve(changed(manifest, one.changes)), one.requests, int(one.context["capacity_pages"]))


def _recompute(serving: VirtualServing, batch: RequestBatch, context: Mapping[str, Any]) -> Recomputed:
    found = _run(serving, batch, int(context["capacity_pages"]))
    return replace(found, branches={name: found.branches[name] for name in (*WANTED, *SHOWN)})


def _fragments(arch: Mapping[str, Any]) -> int:
    return int(arch["pages"]) // int(arch["fragment"])


def _open(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> ProfileSession:
    profile, wanted = from_bytes(files[FILE]), _fragments(manifest["arch"])
    if len(profile) != wanted:
        raise ConfigError(f"{FILE} has {len(profile)} numbers, arch makes {wanted} fragments")
    return ProfileSession(profile)


def _serve(manifest: Mapping[str, Any], session: Any) -> VirtualServing:  # noqa: ANN401 - a ProfileSession
    return VirtualServing(arch=manifest["arch"], policy=manifest["policy"], profile=session.profile)


def _contexts(manifest: Mapping[str, Any], batch: RequestBatch) -> list[dict[str, Any]]:
    """Caches of a share of the golden rows' pages, but no smaller than the runs and no longer than the queue."""
    arch, pages = manifest["arch"], batch.pages().n_pages
    least, most = arch["runs"] * arch["fragment"], arch["pages"]
    return [{"capacity_pages": min(most, max(least, int(share * pages)))} for share in GOLDEN_SHARES]


def _cost(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> Cost:
    """A look-up of the place in the queue, and of the runs; the mapping of a quantum is shared by its references."""
    arch = manifest["arch"]
    return Cost(0, (arch["pages"] - 1).bit_length() + arch["runs"], _fragments(arch), len(files[FILE]))


def _state(manifest: Mapping[str, Any]) -> State:
    """A value and the crossings of each fragment, and the runs; of each page that the queue holds, where it is."""
    arch = manifest["arch"]
    return State(2 * DOUBLE * _fragments(arch) + RUN_BYTES * arch["runs"], PAGE_STATE, "page")


KIND = Kind(
    outputs=lambda manifest: ("position",),
    decisions=DECISIONS,
    sizes=SIZES,
    wanted=WANTED,
    serve=_serve,
    recompute=_recompute,
    contexts=_contexts,
    open_weights=_open,
    check=lambda manifest: check_queue(manifest["arch"]),
    profile=lambda manifest: BLOCK,
    conformance=lambda manifest: EXACT_FOREST,
    state=_state,
    synthetic=_sets,
    synthetic_wanted=lambda manifest: BRANCHES,
    synthetic_decisions=lambda context: DECISIONS,
    recompute_synthetic=_recompute_synthetic,
    cost=_cost,
)
