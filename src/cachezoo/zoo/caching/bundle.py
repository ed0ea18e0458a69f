"""Kind `caching`: an LSTM that decides between bypass and a queue, with the cache it runs."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from cachezoo.arrays import F32, I32, U8
from cachezoo.errors import ConfigError
from cachezoo.kernels import manager
from cachezoo.kernels.manager_limits import ByCapacity, Cache, lane_rules, manager_limits
from cachezoo.kernels.sequence import region_slots
from cachezoo.serving import lstm
from cachezoo.serving.kind import BLOCK, LSTM_PRECISIONS, OUTPUT_TOLERANCE, Kind, Recomputed, Session, State
from cachezoo.serving.lstm import Lstm, lstm_cost, sigmoid, softmax
from cachezoo.serving.requests import RequestBatch
from cachezoo.serving.synthetic import GIVEN, READ, WRITE, Script, SyntheticSet, changed, draws_of, widest_gap
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import PAGE_BYTES
from cachezoo.zoo.caching.serve import OUTPUTS, CachingServing, session_infer

KEYS = ("features", "policy", "calibration", "geometry", "encodings")
DECISIONS = ("queue", "page_hits", "replaced_pages", "dirty_evicted_pages")
QUEUES = ("bypass", "soon", "mean", "late")
SIZES = {
    **lstm.SIZES,
    "golden.context.capacity_pages": (1, 1 << 22),
    "policy.demote_capacities": (1, 1 << 20),
    "policy.protected_percent": (0, 100),
    "policy.sequence": (1, 1 << 31),
    "policy.memory.memory_accesses": (1, 1 << 40),
    "policy.memory.window_accesses": (1, 1 << 40),
    "policy.memory.region_bytes": (4096, 1 << 62),
    "policy.memory.region_bits": (1, 24),
}
GOLDEN_SHARES = (0.1, 0.02)
WEIGHTS = "weights.safetensors"
FLOAT_BYTES = 4
REGION_BYTES = 8 + 8  # last access and heat
WINDOW_BYTES = 8  # the page of an access of the recent window
# Last access, uses, gap before, last operation, two heats, newest access; queue, four links, top, dirty, clock; key.
BYTES_OF_PAGE = (4 * 8 + 2 * 8 + 8) + (7 * 4 + 8) + 8


def _serve(manifest: Mapping[str, Any], session: Session) -> CachingServing:
    arch = manifest["arch"]
    infer = session_infer(session.run, int(arch["layers"]), int(arch["units"]))
    return CachingServing(**{key: manifest[key] for key in KEYS}, infer=infer)


def _contexts(manifest: Mapping[str, Any], batch: RequestBatch) -> list[dict[str, Any]]:
    """Caches of a share of the golden rows' pages: as in training, or so small that few rows fill them."""
    pages = batch.pages().n_pages
    return [{"capacity_pages": max(1, int(share * pages))} for share in GOLDEN_SHARES]


def _recompute(serving: CachingServing, batch: RequestBatch, context: Mapping[str, Any]) -> Recomputed:
    found, _, rules = _ran(serving, batch, context)
    queue, hits, replaced, dirty = found.decisions.T
    pages_each = np.diff(batch.pages().request_start)
    branches = {name: int((queue == code).sum()) for code, name in enumerate(QUEUES)}
    branches |= {
        "admitted": int((queue > 0).sum()),
        "hit": int((hits == pages_each).sum()),
        "partial_hit": int(((hits > 0) & (hits < pages_each)).sum()),
        "replaced": int(replaced.sum()),
        "dirty_evicted": int(dirty.sum()),
    }
    return replace(found, branches=branches, steady=certain_rows(found.outputs, queue, rules))


Rules = tuple[F32, U8]
"""Of one cache, as `lane_rules` gives them: thresholds float32[n, 1], and uint8[n, 1] where there is a single queue."""


def _ran(serving: CachingServing, batch: RequestBatch, context: Mapping[str, Any]) -> tuple[Recomputed, Cache, Rules]:
    """What a cache did with requests, no branches yet; and what it decided by."""
    pages, cache = batch.pages(), serving.cache(int(context["capacity_pages"]))
    served = serving.run(batch, pages, [cache], keep=True)
    hits = np.add.reduceat(served.hits(0).astype(np.int32), pages.request_start[:-1])
    table = np.stack([served.decisions[0], hits, served.replaced[0], served.dirty_evicted[0]], axis=1)
    rules = lane_rules([cache], serving.read(batch, pages, [cache.capacity])[1])
    return Recomputed(served.features[0], served.outputs[0], table.astype(np.int32), {}), cache, rules


class WeightsSession:
    """The model's step on numpy."""

    def __init__(self, manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> None:
        """Read the weights; see `Lstm`."""
        try:
            self._lstm = Lstm(manifest, files[WEIGHTS], {"cached": 1, "duration": len(OUTPUTS) - 1})
        except ValueError as error:
            raise ValueError(f"{WEIGHTS}: {error}") from error

    def run(self, outputs: list[str] | None, inputs: Mapping[str, Any]) -> list[Any]:
        """`cached`, `duration`, `h_out`, `c_out` of `features`, `h`, `c`."""
        h, c = self._lstm.step(inputs["features"], inputs["h"], inputs["c"])
        cached, duration = (self._lstm.head(name, h[-1]) for name in ("cached", "duration"))
        return [sigmoid(cached), softmax(duration), h, c]


def _check(manifest: Mapping[str, Any]) -> None:
    """Ends of ranges are in order, sizes rise, and what belongs together is there.

    Raises:
        ConfigError: they are not.
    """
    policy = manifest["policy"]
    ByCapacity.of(manifest["calibration"].get("by_capacity", ()))
    pairs = {f"ranges.{name}": pair for name, pair in policy.get("ranges", {}).items()}
    if "capacity_ratio_log2" in policy:
        pairs["capacity_ratio_log2"] = policy["capacity_ratio_log2"]
    for name, (low, high) in pairs.items():
        if low > high:
            raise ConfigError(f"policy.{name} is {low} to {high}, whose ends are in the wrong order")
    if policy["memory"]["window_accesses"] > policy["memory"]["memory_accesses"]:
        raise ConfigError("policy.memory: window_accesses are more than memory_accesses")


def _state(manifest: Mapping[str, Any]) -> State:
    """The network's state, the table of regions and the recent window; of each page its history, links and number."""
    arch, memory = manifest["arch"], manifest["policy"]["memory"]
    network = 2 * int(arch["layers"]) * int(arch["units"]) * FLOAT_BYTES
    regions = (1 << int(memory["region_bits"])) * REGION_BYTES
    return State(network + regions + int(memory["window_accesses"]) * WINDOW_BYTES, BYTES_OF_PAGE, "page")


Serve = Callable[[Mapping[str, Any]], CachingServing]
THRESHOLD = "calibration.threshold"
BY_CAPACITY = "calibration.by_capacity"
REMEMBERED = "policy.memory.memory_accesses"
MEMORY = {
    REMEMBERED: 48,
    "policy.memory.window_accesses": 12,
    "policy.memory.region_bytes": 4 * PAGE_BYTES,
    "policy.memory.region_bits": 4,
}
RESET = {"policy.state": "reset100", "policy.sequence": 8}
CARRIED = {"policy.state": "carried"}
# on_hit, queues, fill_free, share protected, capacities until demotion, pages
RULES = {
    "stay_three": ("stay", "three", True, 60, 1, 20),
    "stay_three_strict": ("stay", "three", False, 39, 2, 10),
    "stay_late_alone": ("stay", "three", False, 20, 50, 10),
    "requeue_three": ("requeue", "three", True, 50, 1, 10),
    "requeue_three_strict": ("requeue", "three", False, 20, 4, 10),
    "stay_single": ("stay", "single", False, 50, 1, 10),
    "requeue_single": ("requeue", "single", True, 20, 2, 14),
}
# A cache and a memory of more pages than a byte counts; on_hit, share protected, capacities until demotion.
LARGE_PAGES = 300
LARGE = {"large_stay": ("stay", 97, 1), "large_requeue": ("requeue", 39, 1)}
LARGE_REGION = 64 * PAGE_BYTES
LARGE_MEMORY = {
    REMEMBERED: 700, "policy.memory.window_accesses": 150, "policy.memory.region_bytes": LARGE_REGION,
    "policy.memory.region_bits": 3, "policy.memory.clip": 1000.0,
}  # fmt: skip
LARGE_FROM = 1 << 21  # the first page: 8 GiB
# A cache that is now larger, now smaller than what was used of late: sizes between, on and beyond the entries.
SIZED_PAGES = 8
SIZES_OF = [
    {"ratio_log2": -0.5, "threshold": 0.25, "queues": "three"},
    {"ratio_log2": 0.0, "threshold": 0.9375, "queues": "single"},
    {"ratio_log2": 1.0, "threshold": 0.5, "queues": "three"},
    {"ratio_log2": 1.5, "threshold": 0.75, "queues": "single"},
]
DRAWN = 35  # draws in which pages of mean and late run out at once, and the order of their demotion shows later
LATE_ALONE = "stay_late_alone"
FEATURES = (
    "page_forgotten", "region_forgotten", "regions_collide", "left_window", "back_in_window", "same_offset_elsewhere",
    "several_pages", "unaligned", "sequential", "cut_by_clip", "state_reset",
)  # fmt: skip
BRANCHES = (
    "bypass", "soon", "mean", "late", "not_asked", "at_threshold", "tie_of_queues", "hit", "partial_hit", "filled_free",
    "kept_out", "evicted_soon", "evicted_mean", "evicted_late", "dirty_evicted", "write_hit", "demoted_mean",
    "demoted_late", "protected", "lost_protection", "requeued_up", "requeued_down", "requeued_to_tail",
)  # fmt: skip


def _decided(outputs: F32, rules: Rules) -> I32:
    queues = np.zeros((len(outputs), 1), np.int32)
    manager.decide_all(np.ascontiguousarray(outputs[:, None, :]), np.zeros(1, np.int64), *rules, queues)
    return queues


class _Watch:
    """A cache, and what it did."""

    def __init__(self, pages: PageAccesses, limits: Any) -> None:  # noqa: ANN401 - int64[1, N_LIMITS]
        self.lanes = manager.make(pages.n_pages, limits)
        self.outcome = np.zeros((1, len(pages.page_ids)), np.uint8)
        self.tags = np.zeros((1, 4), np.float32)
        self.guarded: set[int] = set()
        self.found = dict.fromkeys(BRANCHES, 0)

    @property
    def queue(self) -> I32:
        """int32[n_pages]: where each page is."""
        queue: I32 = self.lanes.nodes[0, manager.QUEUE, : self.lanes.stamps.shape[1]].copy()
        return queue

    def serve(self, pages: I32, first: int, write: int, decided: I32) -> None:
        """Serve a request and count what happened."""
        counters, wanted = self.lanes.counters[0], int(decided[0])
        before, stamps, counts = self.queue, self.lanes.stamps[0].copy(), counters.copy()
        manager.serve_lanes(self.lanes, pages, write, decided, self.outcome, first, self.tags)
        after, came = self.queue, counters - counts
        self._moved(before, after, stamps, set(pages.tolist()))
        hits, missing = int(came[manager.HITS]), len(pages) - int(came[manager.HITS])
        self.count("not_asked" if decided[0] < 0 else QUEUES[wanted])
        self.count("hit", missing == 0)
        self.count("partial_hit", hits > 0 and missing > 0)
        self.count("filled_free", int(came[manager.ADMISSIONS]) if wanted == manager.ABSENT else 0)
        self.count("kept_out", int(came[manager.BYPASSES]))
        self.count("dirty_evicted", int(came[manager.DIRTY_EVICTIONS]))
        self.count("write_hit", int(came[manager.WRITE_HITS]))
        if self.lanes.limits[0, manager.REQUEUE]:
            held = before[pages] > 0
            self.count("requeued_to_tail", int(held.sum()) if wanted == manager.ABSENT else 0)
            self.count("requeued_up", int((held & (before[pages] < wanted)).sum()))
            self.count("requeued_down", int((held & (before[pages] > wanted) & (wanted > 0)).sum()))

    def count(self, name: str, times: int = 1) -> None:
        """A branch was passed."""
        self.found[name] += int(times)

    def _moved(self, before: I32, after: I32, stamps: Any, asked: set[int]) -> None:  # noqa: ANN401 - int64[n_pages]
        """Pages that left, moved down, or got another period."""
        for page in np.flatnonzero(before).tolist():
            if after[page] == manager.ABSENT:
                self.count(f"evicted_{QUEUES[before[page]]}")
                self.guarded.discard(page)
            elif page in asked:
                self.guarded.discard(page)
            elif after[page] < before[page]:
                self.count(f"demoted_{QUEUES[before[page]]}")
                self.count("lost_protection", page in self.guarded)
                self.guarded.discard(page)
            elif self.lanes.stamps[0, page] != stamps[page]:
                self.count("protected")
                self.guarded.add(page)


def watch(
    batch: RequestBatch, pages: PageAccesses, outputs: F32, cache: Cache, rules: Rules, policy: Mapping[str, Any]
) -> dict[str, int]:
    """Count the branches that a cache passes.

    `outputs` float32[n, 4] are what it acts on by `rules`, `policy` has the set's changes.

    Returns:
        A count for each of `BRANCHES`.
    """
    limits = manager_limits(policy, [cache])
    queues, one, (thresholds, single) = _decided(outputs, rules), _Watch(pages, limits), rules
    for row in range(len(batch)):
        first, end = int(pages.request_start[row]), int(pages.request_start[row + 1])
        stays = np.sort(outputs[row, 1:])
        wanted = int(queues[row, 0])
        one.serve(pages.page_ids[first:end], first, int(batch.op[row]), queues[row])
        asked = queues[row, 0] >= 0
        one.count("at_threshold", asked and outputs[row, 0] == thresholds[row, 0])
        one.count("tie_of_queues", asked and wanted > 0 and not single[row, 0] and stays[-1] == stays[-2])
    return one.found


def certain_rows(outputs: F32, queues: I32, rules: Rules) -> int:
    """Requests before the first decision that another runtime's last digits could turn."""
    thresholds, single = rules[0][:, 0], rules[1][:, 0]
    stays = np.sort(outputs[:, 1:], axis=1)
    at_threshold = np.abs(outputs[:, 0] - thresholds) <= 2 * OUTPUT_TOLERANCE
    near_tie = stays[:, -1] - stays[:, -2] <= 2 * OUTPUT_TOLERANCE
    between_queues = (outputs[:, 0] >= thresholds) & near_tie & (single == 0)
    near = (queues >= 0) & (at_threshold | between_queues)
    return int(np.argmax(near)) if near.any() else len(queues)


def _slots(pages: list[int]) -> list[int]:
    """Slots of the regions of pages in the sets' table."""
    region, bits = MEMORY["policy.memory.region_bytes"], MEMORY["policy.memory.region_bits"]
    return [int(slot) for slot in region_slots(np.array(pages, np.int64) * PAGE_BYTES, region, bits)]


def _far_pages(near: list[int]) -> tuple[list[int], int]:
    """Four pages whose regions meet those of `near` in the table, and one whose region meets none of them."""
    far, used = list(range(100, 740, 4)), set(_slots(near))
    slots = _slots(far)
    meeting = [page for page, slot in zip(far, slots, strict=True) if slot in used][:4]
    return meeting, next(page for page, slot in zip(far, slots, strict=True) if slot not in used)


def _memory_script() -> Script:
    """Requests whose pages and regions come back soon, after the working set's window, and after they are forgotten.

    One page comes back in the last page access for which it is remembered.
    """
    draws, script = draws_of("memory"), Script(("one", "two"))
    near, kept, accesses, again = list(range(0, 40, 4)), MEMORY[REMEMBERED], 0, -1
    far, lone = _far_pages([*range(0, 52, 4)])
    for page in (*near, lone, *near[::2]):
        again = accesses + kept if page == lone else again
        script.add(WRITE if page % 8 else READ, page * PAGE_BYTES, PAGE_BYTES)
        accesses += 1
    for k in range(60):
        if accesses == again:
            script.add(READ, lone * PAGE_BYTES, PAGE_BYTES)
            accesses += 1
        page = int(draws.integers(8)) if k % 3 else int(draws.choice([*near, *far, *range(0, 40, 3)]))
        size = PAGE_BYTES * int(draws.choice([1, 1, 2, 3])) if again - accesses > 4 or accesses > again else 512
        start = page * PAGE_BYTES
        if size > 512 and k % 2:
            start, size = start + int(draws.integers(1, 8)) * 512, size - PAGE_BYTES + 512
        volume = int(draws.random() < 0.2)
        if k % 7 == 6:
            _, name, offset, before, *_ = script.rows[-1]
            start, volume = offset + before, int(name == "two")  # where the one before ended
        script.add(int(draws.random() < 0.35), start, size, volume)
        accesses += (start + size - 1) // PAGE_BYTES - start // PAGE_BYTES + 1
    return script


def _cache_script() -> Script:
    """Requests of one to three of 30 pages, half of them to a few."""
    draws, script = draws_of(f"cache_{DRAWN}"), Script(("one", "two"))
    for _ in range(100):
        page = int(draws.integers(6)) if draws.random() < 0.5 else int(draws.integers(30))
        pages = int(draws.choice([1, 1, 2, 3]))
        script.add(int(draws.random() < 0.35), page * PAGE_BYTES, pages * PAGE_BYTES, int(draws.random() < 0.15))
    return script


def _large_script() -> Script:
    """A page of each of 12 regions, then requests of 1 to 700 of 2,000 pages, from the disk's first and from 8 GiB on.

    The first ones come while the memory is young: a table's slot that nothing has used yet is no region of age 0.
    """
    draws, script = draws_of("large"), Script(("one", "two"))
    for k in range(12):
        script.add(READ, k * LARGE_REGION, PAGE_BYTES)
    for k in range(50):
        pages = int(draws.choice([1, 2, 3, 40, 130, 320, 700], p=[0.2, 0.1, 0.1, 0.2, 0.2, 0.1, 0.1]))
        page = int(draws.integers(200 if draws.random() < 0.5 else 2000)) + LARGE_FROM * (k % 4 > 0)
        volume = int(draws.random() < 0.15)
        script.add(int(draws.random() < 0.35), page * PAGE_BYTES, pages * PAGE_BYTES, volume)
    return script


def _given_outputs(rows: int, late_alone: bool) -> F32:
    """Probabilities: cached on either side of 0.5, and on it; stays with a greatest one, and with ties."""
    draws = draws_of(f"outputs_{DRAWN}")
    every = ((5, 2, 1), (1, 5, 2), (1, 2, 5), (4, 4, 0), (2, 3, 3), (4, 0, 4), (8, 8, 8), (2, 6, 0))
    stays = np.array([(1, 2, 5)] if late_alone else every, np.float32) / 8
    cached = draws.choice([0.25, 0.5, 0.75, 0.9375], (rows, 1), p=[0.3, 0.2, 0.3, 0.2])
    return np.concatenate([cached, stays[draws.integers(len(stays), size=rows)]], axis=1).astype(np.float32)


def _by_the_model(
    name: str, manifest: Mapping[str, Any], serve: Serve, changes: Mapping[str, Any], capacity: int
) -> SyntheticSet:
    """A set that the model's own outputs decide, at a threshold far from all of them, up to the first near tie."""
    batch, context = _memory_script().batch(), {"capacity_pages": capacity}
    one = SyntheticSet(name, batch, dict(changes), context)
    outputs = _recompute_set(manifest, serve, one).outputs
    one = replace(one, changes={**changes, **_one_threshold(manifest, widest_gap(outputs[:, 0]))})
    steady = _recompute_set(manifest, serve, one).steady
    return one if steady is None or steady == len(batch) else replace(one, requests=batch.part(0, max(1, steady)))


def _one_threshold(manifest: Mapping[str, Any], threshold: float) -> dict[str, Any]:
    """Changes to one threshold for every size."""
    changes: dict[str, Any] = {THRESHOLD: threshold}
    return changes | ({BY_CAPACITY: []} if "by_capacity" in manifest["calibration"] else {})


def _narrow(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Ranges that cut every other input that has one, to the half of it about its middle."""
    stated = manifest["policy"].get("ranges")
    if not stated:
        return {}
    names = sorted(stated)[::2]
    cut = {name: [(3 * low + high) / 4, (low + 3 * high) / 4] for name, (low, high) in stated.items() if name in names}
    return {"policy.ranges": {**cut, **({"op": [0.25, 0.75]} if "op" in stated else {})}}


def _sets(manifest: Mapping[str, Any], serve: Serve) -> list[SyntheticSet]:
    cut = {"policy.memory.clip": 0.75, **_narrow(manifest)}
    found = [
        _by_the_model("memory_carried", manifest, serve, {**MEMORY, **CARRIED}, 6),
        _by_the_model("memory_cut_reset", manifest, serve, {**MEMORY, **RESET, **cut}, 12),
    ]
    batch = _cache_script().batch()
    for name, (on_hit, queues, fill, protected, demote, capacity) in RULES.items():
        changes = {
            "policy.on_hit": on_hit, "policy.queues": queues, "policy.fill_free": fill,
            "policy.protected_percent": protected, "policy.demote_capacities": demote, **_one_threshold(manifest, 0.5),
        }  # fmt: skip
        context = {"capacity_pages": capacity, "outputs": GIVEN}
        found.append(SyntheticSet(name, batch, changes, context, _given_outputs(len(batch), name == LATE_ALONE)))
    if manifest["calibration"].get("by_capacity"):
        changes = {**MEMORY, BY_CAPACITY: SIZES_OF, "policy.on_hit": "stay"}
        context = {"capacity_pages": SIZED_PAGES, "outputs": GIVEN}
        found.append(SyntheticSet("by_capacity", batch, changes, context, _given_outputs(len(batch), late_alone=False)))
    return [*found, *_large(manifest)]


def _large(manifest: Mapping[str, Any]) -> list[SyntheticSet]:
    """Sets of many pages; their inputs are not cut."""
    batch = _large_script().batch()
    found, uncut = [], {name: [-1000.0, 1000.0] for name in manifest["policy"].get("ranges", {})}
    for name, (on_hit, protected, demote) in LARGE.items():
        changes: dict[str, Any] = {
            **LARGE_MEMORY, "policy.on_hit": on_hit, "policy.queues": "three", "policy.fill_free": True,
            "policy.protected_percent": protected, "policy.demote_capacities": demote, **_one_threshold(manifest, 0.5),
            **({"policy.ranges": uncut} if uncut else {}),
        }  # fmt: skip
        context = {"capacity_pages": LARGE_PAGES, "outputs": GIVEN}
        found.append(SyntheticSet(name, batch, changes, context, _given_outputs(len(batch), late_alone=False)))
    return found


def _wanted(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    ranges = ("cut_by_range",) if manifest["policy"].get("ranges") else ()
    sized = ("by_capacity",) if manifest["calibration"].get("by_capacity") else ()
    return *FEATURES, *ranges, *BRANCHES, *RULES, *sized, *LARGE


def _page_branches(batch: RequestBatch, pages: PageAccesses, memory: Mapping[str, Any]) -> dict[str, int]:
    """Page accesses by what is remembered of the page and its region."""
    found = dict.fromkeys(FEATURES[:5], 0)
    last: dict[int, int] = {}
    newest: dict[int, tuple[int, int]] = {}
    slots = region_slots(batch.offset, int(memory["region_bytes"]), int(memory["region_bits"]))
    kept, window = int(memory["memory_accesses"]), int(memory["window_accesses"])
    for i, (slot, offset) in enumerate(zip(slots.tolist(), batch.offset.tolist(), strict=True)):
        first, end = int(pages.request_start[i]), int(pages.request_start[i + 1])
        region = offset // int(memory["region_bytes"])
        if slot in newest:
            at, before = newest[slot]
            found["region_forgotten"] += first - at > kept
            found["regions_collide"] += first - at <= kept and before != region
        newest[slot] = first, region
        for p in range(first, end):
            page = int(pages.page_ids[p])
            if page in last:
                found["page_forgotten"] += p - last[page] > kept
                found["back_in_window"] += p - last[page] > window
            found["left_window"] += p >= window and last[int(pages.page_ids[p - window])] == p - window
            last[page] = p
    return found


def _request_branches(batch: RequestBatch) -> dict[str, int]:
    """Requests by their addresses."""
    end = batch.offset + batch.size
    numbers = [set((batch.offset[batch.volume.codes == k] // PAGE_BYTES).tolist()) for k in range(2)]
    return {
        "same_offset_elsewhere": len(numbers[0] & numbers[1]),
        "several_pages": int(((end - 1) // PAGE_BYTES > batch.offset // PAGE_BYTES).sum()),
        "unaligned": int((batch.offset % PAGE_BYTES > 0).sum()),
        "sequential": int((batch.offset[1:] == end[:-1]).sum()),
    }


def _given_infer(given: F32) -> Callable[[F32, Any], tuple[F32, Any]]:
    """A network that gives these outputs, one after the other."""
    rows = iter(given)
    return lambda inputs, state: (next(rows)[None, :], None)


def _cut_by_range(manifest: Mapping[str, Any], serve: Serve, one: SyntheticSet, features: F32) -> int:
    """Inputs that would be others without the ranges."""
    if not manifest["policy"].get("ranges"):
        return 0
    uncut = serve(changed(manifest, {**one.changes, "policy.ranges": {}}))
    rows = uncut.inputs(one.requests, one.requests.pages(), [int(one.context["capacity_pages"])])[:, 0]
    return int((rows != features[:, : rows.shape[1]]).sum())


def _recompute_set(manifest: Mapping[str, Any], serve: Serve, one: SyntheticSet) -> Recomputed:
    document, batch = changed(manifest, one.changes), one.requests
    serving, pages = serve(document), batch.pages()
    if one.given is not None:
        serving.infer, serving.infer_all = _given_infer(one.given), None
    found, cache, rules = _ran(serving, batch, one.context)
    branches = watch(batch, pages, found.outputs, cache, rules, document["policy"])
    branches |= _page_branches(batch, pages, document["policy"]["memory"]) | _request_branches(batch)
    branches |= {
        "cut_by_clip": int((np.abs(found.features) == np.float32(serving.memory.clip)).sum()),
        "cut_by_range": _cut_by_range(manifest, serve, one, found.features),
        "state_reset": (len(batch) - 1) // serving.reset_every if serving.reset_every else 0,
        one.name: len(batch),
    }
    steady = certain_rows(found.outputs, found.decisions[:, 0], rules) if one.given is None else None
    return replace(found, branches=branches, steady=steady)


KIND = Kind(
    outputs=lambda manifest: OUTPUTS,
    sizes=SIZES,
    decisions=DECISIONS,
    wanted=("bypass", "admitted", "hit", "replaced"),
    serve=_serve,
    recompute=_recompute,
    contexts=_contexts,
    open_weights=WeightsSession,
    cost=lambda manifest, files: lstm_cost(files[WEIGHTS]),
    check=_check,
    profile=lambda manifest: BLOCK,
    conformance=lambda manifest: LSTM_PRECISIONS,
    state=_state,
    synthetic=_sets,
    synthetic_wanted=_wanted,
    synthetic_decisions=lambda context: DECISIONS,
    recompute_synthetic=_recompute_set,
)
