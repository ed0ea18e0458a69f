from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from cachezoo.errors import ConfigError
from cachezoo.features.sequence import FEEDBACK_WIDTH, OPEN_FORMULAS, Memory, fit_features, raw_columns
from cachezoo.kernels.outcome import ADMITTED, HIT
from cachezoo.serving.requests import batch_of
from cachezoo.traces.pages import expand_pages
from cachezoo.zoo.caching.serve import CachingServing
from cachezoo.zoo.caching.switching import ALL_ENTER, ALL_PASS, REQUEUES, SwitchingCache, Takeover
from tests.oracles.manager import NaiveManager
from tests.page_data import lists_of, seeded_trace

MEMORY = {"memory_accesses": 300, "window_accesses": 100, "region_bytes": 65536, "region_bits": 8, "clip": 6.0}
POLICY = {
    "state": "carried", "sequence": 100, "memory": MEMORY, "demote_capacities": 5, "protected_percent": 20,
    "fill_free": True, "on_hit": "stay", "queues": "three",
}  # fmt: skip
TRACE = seeded_trace(450, 60, 11)
PAGES = expand_pages(TRACE)
BATCH = batch_of(TRACE)
CAPACITY = 12
UNITS = 6


def features(fed_back: bool = False) -> list[dict[str, Any]]:
    train = seeded_trace(300, 60, 12)
    return fit_features(
        [raw_columns(batch_of(train), expand_pages(train), [CAPACITY], Memory.of(MEMORY))], OPEN_FORMULAS, fed_back
    )


FEATURES = features()


def toy(seed: int) -> Any:
    """A small recurrent network, lane by lane, so that a lane's sums do not depend on how many there are."""
    rng = np.random.default_rng(seed)
    inner = rng.normal(0, 0.5, (UNITS, len(FEATURES))).astype(np.float32)
    again = rng.normal(0, 0.5, (UNITS, UNITS)).astype(np.float32)
    head = rng.normal(0, 1, (4, UNITS)).astype(np.float32)

    def infer(rows: np.ndarray, state: Any) -> tuple[np.ndarray, Any]:
        before = np.zeros((len(rows), UNITS), np.float32) if state is None else state
        after = np.stack([np.tanh(inner @ row + again @ h) for row, h in zip(rows, before, strict=True)])
        raw = np.stack([head @ h for h in after])
        return np.concatenate([1 / (1 + np.exp(-raw[:, :1])), np.exp(raw[:, 1:])], axis=1), after

    return infer


def model(seed: int, threshold: float = 0.5, **policy: Any) -> CachingServing:
    return CachingServing(FEATURES, {**POLICY, **policy}, {"threshold": threshold}, {"page_bytes": 4096}, toy(seed))


def models() -> list[CachingServing]:
    """Three that differ in their network, rules, threshold, state, and when pages are demoted."""
    return [
        model(0),
        model(1, 0.4, on_hit="requeue", queues="single", protected_percent=50),
        model(2, 0.6, state="reset100", demote_capacities=1),
    ]


def cache(own: list[CachingServing] | None = None, **given: Any) -> SwitchingCache:
    return SwitchingCache(own or models(), BATCH, PAGES, CAPACITY, **given)


def plan_of(*spans: tuple[int, int]) -> np.ndarray:
    """Codes for so many requests each."""
    return np.concatenate([np.full(count, code, np.int32) for code, count in spans])


PLAN = plan_of((ALL_ENTER, 40), (0, 110), (1, 60), (ALL_PASS, 15), (2, 105), (ALL_ENTER, 20), (1, 40), (0, 60))


def decide(out: np.ndarray, threshold: float, single: bool) -> int:
    stay = 2 if single else 1 + int(np.argmax(out[1:]))
    return 0 if out[0] < np.float32(threshold) else stay


def naive(plan: np.ndarray, requeue: str, own: list[CachingServing]) -> tuple[Any, ...]:
    """Row by row: one step of the model in charge, the resident pages' last requests asked of it as it takes over."""
    manager = NaiveManager(CAPACITY, 5 * CAPACITY, 20, True)
    last: dict[int, int] = {}
    place: dict[int, int] = {}
    inputs = [one.inputs(BATCH, PAGES, [CAPACITY])[:, 0] for one in own]
    outcome, takeovers, replaced, dirty, steps, state = [], [], [], [], 0, None
    for row, pages in enumerate(lists_of(PAGES)):
        who, began = int(plan[row]), row == 0 or plan[row] != plan[row - 1]
        chosen = own[who] if who >= 0 else own[0]
        policy = chosen.policy if who >= 0 else {**chosen.policy, "on_hit": "stay", "queues": "three"}
        manager.period, manager.percent = policy["demote_capacities"] * CAPACITY, policy["protected_percent"]
        manager.requeue, manager.single = policy["on_hit"] == "requeue", policy["queues"] == "single"
        if who < 0:
            queue = 2 if who == ALL_ENTER else 0
        else:
            if began:
                state, steps = None, 0
                held = sorted((page for page in last if manager.where(page)), key=place.__getitem__)
                asked = sorted({last[page] for page in held}) if requeue not in ("none", "empty") else []
                told = {}
                for request in asked:
                    alone = requeue.startswith("alone") or (chosen.reset_every and steps % chosen.reset_every == 0)
                    out, after = chosen.infer(inputs[who][request][None], None if alone else state)
                    told[request] = decide(out[0], chosen.threshold, manager.single)
                    if requeue.startswith("in_order"):
                        state, steps = after, steps + 1
                moved, before = 0, (manager.counts["evictions"], manager.counts["dirty_evictions"])
                if requeue != "none":
                    wanted = {page: told.get(last[page], 0) for page in held}
                    stamps = {page: int(PAGES.request_start[last[page]]) for page in held}
                    moved = manager.reconfigure(wanted, place, stamps, requeue not in ("alone", "in_order"))
                takeovers.append(Takeover(row, who, len(held), len(asked), moved))
            if chosen.reset_every and steps % chosen.reset_every == 0:
                state = None
            out, state = chosen.infer(inputs[who][row][None], state)
            steps += 1
            queue = decide(out[0], chosen.threshold, manager.single)
        if who < 0 or not began:
            before = manager.counts["evictions"], manager.counts["dirty_evictions"]
        outcome += manager.serve(pages, bool(TRACE.op[row]), queue)[0]
        replaced.append(manager.counts["evictions"] - before[0])
        dirty.append(manager.counts["dirty_evictions"] - before[1])
        start = int(PAGES.request_start[row])
        place |= {page: start + k for k, page in enumerate(pages)}
        last |= dict.fromkeys(pages, row)
    return outcome, replaced, dirty, takeovers


@pytest.mark.parametrize("requeue", REQUEUES)
@pytest.mark.parametrize("lanes", [1, 5, 1024])
def test_equals_a_naive_loop(requeue: Any, lanes: int) -> None:
    found = cache(lanes=lanes).run(PLAN, requeue)
    outcome, replaced, dirty, takeovers = naive(PLAN, requeue, models())
    np.testing.assert_array_equal(found.outcomes.outcome, outcome)
    np.testing.assert_array_equal(found.outcomes.replaced, replaced)
    np.testing.assert_array_equal(found.outcomes.dirty_evicted, dirty)
    assert list(found.takeovers) == takeovers
    assert [(one.request, one.model) for one in takeovers] == [(40, 0), (150, 1), (225, 2), (350, 1), (390, 0)]
    assert all((one.steps > 0) == (requeue not in ("none", "empty")) for one in takeovers)
    assert all(one.moved == one.resident > 0 for one in takeovers) == (requeue == "empty")
    assert (max(one.moved for one in takeovers) > 0) == (requeue != "none")


def test_the_ways_to_requeue_differ_and_the_cache_can_be_run_again() -> None:
    own = cache()
    runs = [own.run(PLAN, requeue).outcomes.outcome.tobytes() for requeue in REQUEUES]
    assert len(set(runs)) == len(REQUEUES)
    assert own.run(PLAN, "alone").outcomes.outcome.tobytes() == runs[REQUEUES.index("alone")]


@pytest.mark.parametrize("who", [0, 1, 2])
@pytest.mark.parametrize("requeue", REQUEUES)
def test_one_model_throughout_is_that_model_s_own_cache(who: int, requeue: Any) -> None:
    own = models()
    served = own[who].run(BATCH, PAGES, [own[who].cache(CAPACITY)])
    found = cache(own).run(plan_of((who, len(TRACE))), requeue)
    np.testing.assert_array_equal(found.outcomes.outcome, served.outcome[0])
    np.testing.assert_array_equal(found.outcomes.replaced, served.replaced[0])
    np.testing.assert_array_equal(found.outcomes.dirty_evicted, served.dirty_evicted[0])
    assert found.takeovers == (Takeover(0, who, 0, 0, 0),)


def test_without_a_model_everything_enters_or_only_free_space_is_filled() -> None:
    def admitted(code: int, **policy: Any) -> int:
        outcomes = cache([model(0, **policy)]).run(plan_of((code, len(TRACE))), "alone").outcomes
        return int((outcomes.outcome == ADMITTED).sum())

    misses = int((cache().run(plan_of((ALL_ENTER, len(TRACE))), "alone").outcomes.outcome != HIT).sum())
    assert admitted(ALL_ENTER) == misses > CAPACITY
    assert admitted(ALL_PASS) == CAPACITY
    assert admitted(ALL_PASS, fill_free=False) == 0


def test_steps_are_of_distinct_last_requests() -> None:
    found = cache().run(PLAN, "alone")
    starts = PAGES.request_start
    assert max(np.diff(starts)) > 1
    assert all(0 < one.steps <= one.resident <= CAPACITY for one in found.takeovers)
    assert any(one.steps < one.resident for one in found.takeovers)
    assert all(a.request < b.request for a, b in pairwise(found.takeovers))


@pytest.mark.parametrize(
    ("plan", "requeue", "said"),
    [
        (PLAN[:-1], "alone", "plan: 449 entries for 450 requests; give one for each"),
        (plan_of((0, 449), (3, 1)), "alone", "plan: request 450 is for 3; give a model from 0 to 2, -1 to let"),
        (plan_of((-3, 1), (0, 449)), "alone", "plan: request 1 is for -3; give a model from 0 to 2, -1 to let"),
        (PLAN, "twice", "requeue twice: use one of alone, in_order, alone_out, in_order_out, empty, none"),
    ],
)
def test_refuses_what_is_no_plan(plan: np.ndarray, requeue: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        cache().run(plan, requeue)


def test_refuses_caches_that_cannot_switch() -> None:
    for own, capacity, lanes, said in (
        ([], CAPACITY, 1, "models: none is given"),
        (models(), 0, 1, "a cache has at least one page"),
        (models(), CAPACITY, 0, "lanes 0: a model is asked about at least one request at a time"),
    ):
        with pytest.raises(ConfigError, match=said):
            SwitchingCache(own, BATCH, PAGES, capacity, lanes)
    entries = features(fed_back=True)
    fed = CachingServing(entries, POLICY, {"threshold": 0.5}, {"page_bytes": 4096}, toy(0))
    assert len(entries) == len(FEATURES) + FEEDBACK_WIDTH
    with pytest.raises(ConfigError, match="models: one is fed its own tags"):
        SwitchingCache([models()[0], fed], BATCH, PAGES, CAPACITY)
