"""Kind `reuse`: a whole page cache, of a next-use forest, its tables, and the classics that stand beside it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from cachezoo.arrays import F32
from cachezoo.errors import ConfigError
from cachezoo.features.reuse import asked_of
from cachezoo.kernels.outcome import ADMITTED, HIT
from cachezoo.kernels.reuse import hazards, own, past
from cachezoo.kernels.reuse.hazards import BINS
from cachezoo.kernels.reuse.past import CONTEXTS, SEEN_KINDS, WIDTH
from cachezoo.policies.engine import simulate
from cachezoo.policies.registry import policy
from cachezoo.policies.spec import parse
from cachezoo.serving.forest import forests_cost
from cachezoo.serving.history import open_forests
from cachezoo.serving.kind import EXACT_FOREST, FULL, Kind, Recomputed, Session, State
from cachezoo.serving.ranges import LARGEST, integer, number
from cachezoo.serving.requests import RequestBatch
from cachezoo.serving.synthetic import GIVEN, READ, WRITE, Script, SyntheticSet, changed, draws_of, widest_gap
from cachezoo.traces.table import PAGE_BYTES
from cachezoo.zoo.reuse.cache import FOLLOWING, forest_cache
from cachezoo.zoo.reuse.serve import KEYS, ReuseServing, Served

DECISIONS = ("outcome", "victim_page", "leader")
LEAST = {"half_life": 1e-3}
MOST_PACE = 10**9
LISTS = {"shadows": (0, 3), "experts": (1, 7)}
SIZES = {
    "golden.context.capacity_pages": (1, 1 << 19), "policy.candidates": (1, 4096), "policy.seed": (0, 1 << 31),
    "policy.own_trees": (0, 1000), "policy.own_rows": (1, 1_000_000),
}  # fmt: skip
GOLDEN_SHARES = (0.1, 0.02)
FILES = ("model.lgb.txt",)
FLOAT, DOUBLE = 4, 8
OWN_TREE = own.INNER * (DOUBLE + FLOAT) + own.LEAVES * DOUBLE
COUNTS = 3 * hazards.BINS * DOUBLE  # events, risks and worth of a class
RATES = 2 * 2 * (CONTEXTS + SEEN_KINDS + 1) * DOUBLE  # rates and their counts at both horizons, one process
# Last access and three counts; interval, wrote, share; seen, class, latest access; links of two caches; key.
PAGE = 4 * DOUBLE + 3 * DOUBLE + (4 + 1 + 4) + 2 * 4 * 4 + DOUBLE
# Its region's and its stretch's counts and keys, where each page has its own.
AROUND = (3 * DOUBLE + DOUBLE) + (2 * DOUBLE + DOUBLE)
# Accesses are settled after 4 capacities: of each, inputs, three rows of rates, next use, score, number of the page.
UNSETTLED = 4 * ((WIDTH + 3 + 3) * FLOAT)


def _check_values(manifest: Mapping[str, Any]) -> None:
    """Raises ConfigError: something else than numbers, of which numpy makes some, or lists too long to serve."""
    for name in ("quantiles", "events", "risks"):
        for row in manifest["calibration"][name]:
            for value in row if isinstance(row, list) else [row]:
                number(value, f"calibration.{name}", -LARGEST, LARGEST)
    for name in FOLLOWING:
        number(manifest["policy"][name], f"policy.{name}", LEAST.get(name, 0.0), 1e6)
    for name, (least, most) in LISTS.items():
        given = manifest["policy"][name]
        if not isinstance(given, list) or not least <= len(given) <= most:
            raise ConfigError(f"policy.{name} is no list of {least} to {most} names")
    integer(manifest["policy"].get("own_pace", 0), "policy.own_pace", 0, MOST_PACE)
    integer(manifest["geometry"]["page_bytes"], "geometry.page_bytes", 4096, 4096)


def _serve(manifest: Mapping[str, Any], session: Session) -> ReuseServing:
    _check_values(manifest)
    return ReuseServing(
        **{key: manifest[key] for key in KEYS}, infer=lambda rows: session.run(["score"], {"features": rows})[0]
    )


def _contexts(manifest: Mapping[str, Any], batch: RequestBatch) -> list[dict[str, Any]]:
    """Caches of a share of the golden rows' pages: as in training, or so small that few rows fill them."""
    pages = batch.pages().n_pages
    return [{"capacity_pages": max(1, int(share * pages))} for share in GOLDEN_SHARES]


def _recompute(serving: ReuseServing, batch: RequestBatch, context: Mapping[str, Any]) -> Recomputed:
    return _decided(serving, batch, context)[0]


def _decided(serving: ReuseServing, batch: RequestBatch, context: Mapping[str, Any]) -> tuple[Recomputed, Served]:
    """What a cache did with requests."""
    served = serving.run(batch, batch.pages(), int(context["capacity_pages"]))
    run, leader = served.followed.run, served.followed.leader
    decisions = np.stack([run.outcome.astype(np.int32), run.victim, leader.astype(np.int32)], axis=1)
    branches = {
        "hit": int((run.outcome == HIT).sum()),
        "admitted": int((run.outcome == ADMITTED).sum()),
        "bypass": int(((run.outcome != HIT) & (run.outcome != ADMITTED)).sum()),
        "replaced": int((run.victim >= 0).sum()),
        "forest_led": int((leader == 0).sum()),
        "classic_led": int((leader != 0).sum()),
        "corrected": int((served.seen.corrected(served.scores) != served.scores).sum()),
    }
    return Recomputed(served.seen.inputs, served.scores[:, None], decisions.astype(np.int32), branches), served


def _state(manifest: Mapping[str, Any]) -> State:
    """The own forest, its reservoir, the classes' counts and the rates; of each page its past and that around it."""
    policy = manifest["policy"]
    classes = len(manifest["calibration"]["events"])
    kept = policy["own_trees"] * OWN_TREE + policy["own_rows"] * (WIDTH + 1) * FLOAT
    return State(kept + classes * COUNTS + RATES, PAGE + AROUND + UNSETTLED, "page")


Serve = Callable[[Mapping[str, Any]], ReuseServing]
CAPACITY = 16  # pages
SHADOWS = ("azor", "lirs", "s3fifo")
OUTSIDE = "wtinylfu"
FLAGS = ("R", "WS", "RA", "WSM", "RM")
USERS = ("one", "two/1", "three")
# Names of the sets, and what they pass that no other does.
MODEL, FOLLOW, OWN, BARE = "model", "follow", "own", "bare"
LONG, GROWN, LARGE, EXPERTS = "long", "grown", "large", "experts"
WIDE, CLASSICS, DOUBTED = "wide", "classics", "doubted"
# Names that their draws hang on: of those tried, they tell most wrong runtimes from the right one.
DRAWS = {
    LONG: "light16_1", GROWN: "own4_0", LARGE: "l1_2", EXPERTS: "x30_1_las", WIDE: "wide_1", CLASSICS: "classics_44",
    DOUBTED: "doubted_10",
}  # fmt: skip
# A leader that stays, and one that changes.
STAYS = {"half_life": 8.0, "lead": 50.0, "price": 0.0, "head_start": 50.0}
EAGER = {"half_life": 0.5, "lead": 0.0, "price": 0.02, "head_start": 0.1}
SLOWEST = 1  # rows by trees that an access grows, so that half of the accesses between two forests decides
WIDE_CAPACITY = 264  # more than a byte counts to
FAR = 1 << 20  # pages: 4 GiB
DENSE_CUTS = [round(-2 + 0.25 * k, 2) for k in range(24)]
FINE_CUTS = [round(-3.5 + 0.5 * k, 1) for k in range(15)]
BRANCHES = (
    "hit", "admitted", "bypass", "replaced", "forest_led", "classic_led", "led_back", "corrected", "own_forest",
    "reservoir_full", "forest_evicts", "forest_refuses", "classic_evicts", *(f"{name}_evicts" for name in SHADOWS),
    *(f"{name}_told_apart" for name in SHADOWS), "sampled_candidates", "every_candidate", "metadata", "readahead",
    "sync", "flags_unknown", "processes", "process_unknown", "run_goes_on", "region_back", "same_offset_elsewhere",
    "settled_soon", "settled_reused", "write_after_read", "context_changes",
)  # fmt: skip


def _next_to_last(script: Script) -> tuple[int, int]:
    """Where the last request ends: offset, and place of its volume."""
    _, where, offset, size, *_ = script.rows[-1]
    return offset + size, script.volumes.index(where)


def _script(name: str, requests: int, users: tuple[str, ...], flags: tuple[str, ...]) -> Script:
    """Hot pages, a loop a little longer than the cache, and a scan, in turns; some requests go on from the last."""
    draws, script = draws_of(f"reuse_{name}"), Script(("one", "two"), users=users, flags=flags)
    for k in range(requests):
        phase = k // 24 % 3
        page = int(draws.integers(8))
        if phase == 1 and draws.random() < 0.7:
            page = 10 + k % (CAPACITY + 5)
        if phase == 2 and draws.random() < 0.6:
            page = 200 + 2 * k
        pages, volume = int(draws.choice([1, 1, 2, 4])), int(draws.random() < 0.15)
        start = page * PAGE_BYTES
        if draws.random() < 0.15 and script.rows:
            start, volume = _next_to_last(script)
        kind = WRITE if draws.random() < 0.3 else READ
        script.add(kind, start, pages * PAGE_BYTES, volume, turn=int(draws.integers(60)))
    return script


def _long_script(name: str, accesses: int, capacity: int, most: int) -> RequestBatch:
    """The same mixture over some hundreds of pages, so long that rings turn and counts of own accesses decide."""
    draws, script, seen = draws_of(f"reuse_{name}"), Script(("one", "two"), users=USERS, flags=FLAGS), 0
    while seen < accesses:
        k = len(script.rows)
        phase, page = k // (3 * capacity // 2 + 8) % 3, int(draws.integers(max(2, capacity * 2 // 3)))
        if phase == 1 and draws.random() < 0.7:
            page = 60 + k % (capacity + capacity // 4 + 2)
        if phase == 2 and draws.random() < 0.6:
            page = 500 + 2 * k
        pages, volume = int(draws.choice([1, 1, 1, 2, 3])), int(draws.random() < 0.1)
        if draws.random() < 0.02:
            pages = most
        start = page * PAGE_BYTES
        if draws.random() < 0.15 and script.rows:
            start, volume = _next_to_last(script)
        kind = WRITE if draws.random() < 0.3 else READ
        script.add(kind, start, pages * PAGE_BYTES, volume, turn=int(draws.integers(60)))
        seen += pages
    return script.batch()


def _large_script(name: str) -> RequestBatch:
    """A write of more pages than any step of size has, over the ends of regions and a stretch; what goes on from it."""
    draws, script, at = draws_of(f"reuse_{name}"), Script(("one", "two"), users=USERS, flags=FLAGS), 480
    for k in range(6):
        script.add(READ, k % 4 * PAGE_BYTES, PAGE_BYTES, turn=k)
    script.add(WRITE, at * PAGE_BYTES, 260 * PAGE_BYTES, turn=1)
    at += 260
    for _ in range(45):
        if draws.random() < 0.4:
            pages, goes_on = int(draws.choice([1, 1, 2])), True
            kind = WRITE if draws.random() < 0.3 else READ
            page, turn = at, int(draws.integers(60))
            at += pages
        else:
            page, goes_on = int(draws.choice([0, 1, 2, 3, 510, 511, 512, 513, 730, 739])), False
            kind = WRITE if draws.random() < 0.4 else READ
            pages, turn = int(draws.choice([1, 1, 2])), int(draws.integers(60))
        script.add(kind, page * PAGE_BYTES, pages * PAGE_BYTES, turn=turn)
        if not goes_on and draws.random() < 0.5:
            at = page + int(draws.integers(1, 3))
    return script.batch()


def _wide_script(name: str, accesses: int, capacity: int) -> RequestBatch:
    """Requests of many pages that fill a cache of hundreds, then hot stretches beside a far loop that is longer."""
    draws, script, seen, looped = draws_of(f"reuse_{name}"), Script(("one", "two"), users=USERS, flags=FLAGS), 0, 0
    while seen < accesses:
        part, pages = draws.random(), int(draws.integers(1, 25))
        if seen < capacity:
            page = seen
        elif part < 0.4:
            page = int(draws.integers(2 * capacity // 3))
        elif part < 0.85:
            page, looped = FAR + looped % (capacity + capacity // 8), looped + pages
        else:
            page, pages = int(draws.integers(capacity)), 1
        kind = WRITE if draws.random() < 0.3 else READ
        script.add(kind, page * PAGE_BYTES, pages * PAGE_BYTES, turn=int(draws.integers(60)))
        seen += pages
    return script.batch()


def _counts(cuts: int, shadows: int) -> dict[str, Any]:
    """Events and risks of so many classes, each of another rate, and so many that those of the set do not hide them."""
    classes = (cuts + 1) << shadows
    risks = [round(400 * 0.9**b, 3) for b in range(BINS)]
    rates = [0.01 + (5 * k + 3) % classes / (2 * classes) for k in range(classes)]
    events = [[round(risk * rate, 3) for risk in risks] for rate in rates]
    return {"calibration.events": events, "calibration.risks": [risks] * classes}


def _changes(
    cuts: list[float], shadows: tuple[str, ...], own_trees: int, values: Mapping[str, float], pace: int = 0
) -> dict[str, Any]:
    """A small cache under a plan of its own; `values` are those of its policy that the sets do not share."""
    return {
        "policy.shadows": list(shadows), "policy.experts": [OUTSIDE], "policy.own_trees": own_trees,
        "policy.own_rows": 48, "policy.own_pace": pace, **{f"policy.{name}": value for name, value in values.items()},
        "calibration.quantiles": cuts, **_counts(len(cuts), len(shadows)),
    }  # fmt: skip


def _weighed(changes: dict[str, Any], weight: float) -> dict[str, Any]:
    """The same with lighter counts, which those of the set hide, or heavier ones."""
    weighed = {
        name: [[round(value * weight, 4) for value in row] for row in changes[name]]
        for name in ("calibration.events", "calibration.risks")
    }
    return {**changes, **weighed}


def _searched() -> list[SyntheticSet]:
    """Sets that were chosen for the wrong runtimes that no other catches: longer ones, of larger requests."""
    context, among = {"outputs": GIVEN}, (-2.0, -0.5, 0.5, 1.75, 3.0)
    long, grown = _long_script(DRAWS[LONG], 500, CAPACITY, 10), _long_script(DRAWS[GROWN], 450, 4, 6)
    large, beside = _large_script(DRAWS[LARGE]), _long_script(DRAWS[EXPERTS], 450, 30, 10)
    wide, small = _wide_script(DRAWS[WIDE], 850, WIDE_CAPACITY), _long_script(DRAWS[CLASSICS], 200, 6, 4)
    doubted = _long_script(DRAWS[DOUBTED], 400, 3, 4)
    cuts = [-1.0, 0.0, 1.5]
    steady, eager = {"candidates": 64, **STAYS}, {"candidates": 64, **EAGER}
    return [
        SyntheticSet(
            LONG, long, _weighed(_changes(cuts, SHADOWS, 3, steady, SLOWEST), 0.01),
            {**context, "capacity_pages": CAPACITY}, _given_scores(DRAWS[LONG], long, among),
        ),
        SyntheticSet(
            GROWN, grown, {**_changes(FINE_CUTS, (), 12, steady, 90), "policy.own_rows": 1000},
            {**context, "capacity_pages": 4}, _given_scores(DRAWS[GROWN], grown, (4.5, 5.5)),
        ),
        SyntheticSet(
            LARGE, large, _weighed(_changes(cuts, SHADOWS, 3, eager), 0.01), {**context, "capacity_pages": 1},
            _given_scores(DRAWS[LARGE], large, among),
        ),
        SyntheticSet(
            EXPERTS, beside,
            {**_weighed(_changes(cuts, SHADOWS, 2, eager), 0.01), "policy.experts": ["lirs", "azor", "s3fifo"]},
            {**context, "capacity_pages": 30}, _given_scores(DRAWS[EXPERTS], beside, among),
        ),
        SyntheticSet(
            WIDE, wide,
            {
                **_weighed(_changes(cuts, SHADOWS, 0, {**eager, "candidates": 250}), 0.01),
                "policy.experts": ["lfu", "lirs", "azor", "s3fifo", OUTSIDE, "lru"],
            },
            {**context, "capacity_pages": WIDE_CAPACITY}, _given_scores(DRAWS[WIDE], wide, among),
        ),
        SyntheticSet(
            CLASSICS, small,
            {
                **_weighed(_changes(cuts, (), 0, {**eager, "half_life": 1.5, "price": 0.1}), 0.01),
                "policy.experts": ["azor", "lirs", "lru", "s3fifo"],
            },
            {**context, "capacity_pages": 6}, _given_scores(DRAWS[CLASSICS], small, among),
        ),
        SyntheticSet(
            DOUBTED, doubted, {**_weighed(_changes(DENSE_CUTS, (), 12, steady), 8), "policy.own_rows": 1000},
            {**context, "capacity_pages": 3},
            _given_scores(DRAWS[DOUBTED], doubted, (-2.0, 1.0, 3.0)),
        ),
    ]  # fmt: skip


def _given_scores(name: str, batch: RequestBatch, among: tuple[float, ...]) -> F32:
    """A score for each page access."""
    count = int(batch.pages().request_start[-1])
    return draws_of(name).choice(among, (count, 1)).astype(np.float32)


def _by_the_model(manifest: Mapping[str, Any], serve: Serve) -> SyntheticSet:
    """A set whose scores are the model's, cut where they are far apart; the forest's cache leads throughout."""
    batch, context = _script(MODEL, 90, USERS, FLAGS).batch(), {"capacity_pages": CAPACITY}
    changes = _changes([0.0], SHADOWS, 3, {"candidates": 64, **STAYS})
    served = serve(changed(manifest, changes)).run(batch, batch.pages(), CAPACITY)
    cut = widest_gap(served.seen.corrected(served.scores))
    return SyntheticSet(MODEL, batch, {**changes, "calibration.quantiles": [cut]}, context)


def _sets(manifest: Mapping[str, Any], serve: Serve) -> list[SyntheticSet]:
    context = {"capacity_pages": CAPACITY, "outputs": GIVEN}
    follow, bare = _script(FOLLOW, 110, USERS, FLAGS).batch(), _script(BARE, 60, (), ()).batch()
    own = _script(OWN, 110, USERS, FLAGS).batch()
    eager, apart = {"candidates": 5, **EAGER}, (-1.0, 0.5, 1.5, 2.0, 3.0)
    return [
        _by_the_model(manifest, serve),
        SyntheticSet(
            FOLLOW, follow, _changes([1.5], SHADOWS, 2, eager), context, _given_scores(FOLLOW, follow, apart)
        ),
        SyntheticSet(
            OWN, own, _changes(FINE_CUTS, (), 3, {"candidates": 64, **STAYS}, 30),
            {**context, "capacity_pages": CAPACITY // 2}, _given_scores(OWN, own, (4.5, 5.5)),
        ),
        SyntheticSet(
            BARE, bare, _changes([0.0, 1.5, 2.0], (), 0, {**eager, "candidates": 64}), context,
            _given_scores(BARE, bare, apart),
        ),
        *_searched(),
    ]  # fmt: skip


def _cache_branches(serving: ReuseServing, served: Served) -> dict[str, int]:
    """What the follower and the caches beside it did."""
    seen, leader = served.seen, served.followed.leader
    forest = simulate(forest_cache(seen.classes(served.scores, serving.plan), serving.plan), seen.stream, seen.capacity)
    experts = [simulate(parse(text).composition(), seen.stream, seen.capacity) for text in serving.plan.experts]
    changes = np.flatnonzero(np.diff(leader.astype(np.int64))) + 1
    every = serving.plan.candidates >= seen.capacity
    found = {
        "led_back": int((leader[changes] == 0).sum()),
        "own_forest": int((~np.isnan(seen.own)).sum()),
        "forest_evicts": int((forest.victim >= 0).sum()),
        "forest_refuses": int(((forest.outcome != HIT) & (forest.outcome != ADMITTED)).sum()),
        "classic_evicts": sum(int((one.victim >= 0).sum()) for one in experts),
        "every_candidate": int((forest.victim >= 0).sum()) * every,
        "sampled_candidates": int((forest.victim >= 0).sum()) * (not every),
    }
    for k, name in enumerate(serving.plan.shadows):
        bit = seen.bits >> np.uint8(k) & 1
        others = [seen.bits >> np.uint8(j) & 1 for j in range(len(serving.plan.shadows)) if j != k]
        found[f"{name}_evicts"] = int((policy(name).simulate(seen.stream, seen.capacity).victim >= 0).sum())
        found[f"{name}_told_apart"] = int(np.all([bit != other for other in others], axis=0).sum())
    return found


def _input_branches(batch: RequestBatch, served: Served) -> dict[str, int]:
    """What of the requests the inputs are made of."""
    asked, inputs, capacity = asked_of(batch, batch.pages()), served.seen.inputs, served.seen.capacity
    flags, m = asked.flags, len(inputs)
    numbers = [set((batch.offset[batch.volume.codes == k] // PAGE_BYTES).tolist()) for k in range(2)]
    return {
        "metadata": int((flags & past.FLAG_METADATA > 0).sum()),
        "readahead": int((flags & past.FLAG_READAHEAD > 0).sum()),
        "sync": int((flags & past.FLAG_SYNC > 0).sum()),
        "flags_unknown": int((flags == past.FLAG_UNKNOWN).sum()),
        "processes": len(set(asked.process.tolist())) - 1,
        "process_unknown": len(batch) * (batch.user is None),
        "run_goes_on": int(asked.follows.sum()),
        "region_back": int((inputs[:, past.REGION] != past.NEVER).sum()),
        "same_offset_elsewhere": len(numbers[0] & numbers[1]),
        "settled_soon": max(0, m - past.HORIZONS[0] * capacity),
        "settled_reused": max(0, m - past.HORIZONS[1] * capacity),
        "write_after_read": int(((inputs[:, past.WRITE] == 1) & (inputs[:, past.WROTE] == 0)).sum()),
        "context_changes": len(np.unique(inputs[:, past.CONTEXT])) - 1,
    }


def _recompute_set(manifest: Mapping[str, Any], serve: Serve, one: SyntheticSet) -> Recomputed:
    document = changed(manifest, one.changes)
    serving, given = serve(document), one.given
    if given is not None:
        serving._infer = lambda rows: given
    found, served = _decided(serving, one.requests, one.context)
    branches = found.branches | _cache_branches(serving, served) | _input_branches(one.requests, served)
    kept = int(document["policy"]["own_rows"])
    branches["reservoir_full"] = branches["own_forest"] * (len(served.scores) - 4 * served.seen.capacity > kept)
    return replace(found, branches=branches)


KIND = Kind(
    outputs=lambda manifest: ("score",),
    decisions=DECISIONS,
    sizes=SIZES,
    wanted=("hit", "admitted", "bypass", "replaced", "forest_led", "corrected"),
    serve=_serve,
    recompute=_recompute,
    contexts=_contexts,
    synthetic=_sets,
    synthetic_wanted=lambda manifest: BRANCHES,
    synthetic_decisions=lambda context: DECISIONS,
    recompute_synthetic=_recompute_set,
    reads_flags=True,
    open_weights=lambda manifest, files: open_forests(manifest, files, FILES),
    cost=lambda manifest, files: forests_cost([files[name] for name in FILES], len(manifest["features"])),
    profile=lambda manifest: FULL,
    conformance=lambda manifest: EXACT_FOREST,
    state=_state,
)
