from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cachezoo.errors import ConfigError
from cachezoo.features.sequence import FEEDBACK_WIDTH, OPEN_FORMULAS, Memory, fit_features, open_inputs, raw_columns
from cachezoo.features.table import read_features, write_features
from cachezoo.kernels.manager_limits import ByCapacity, Cache
from cachezoo.serving.requests import batch_of
from cachezoo.settings.page_cache import BenefitLabel, SequenceFeatures
from cachezoo.traces.pages import capacity_pages, expand_pages
from cachezoo.traces.table import Trace
from cachezoo.zoo.caching.serve import CachingServing, Served, serve_decisions
from tests.oracles.manager import NaiveManager
from tests.page_data import lists_of, seeded_trace

MEMORY = {"memory_accesses": 300, "window_accesses": 100, "region_bytes": 65536, "region_bits": 8, "clip": 6.0}
POLICY = {
    "state": "carried", "sequence": 100, "memory": MEMORY, "demote_capacities": 5, "protected_percent": 20,
    "fill_free": True, "on_hit": "stay", "queues": "three",
}  # fmt: skip
NO_PAGE = Cache(0, 0.0, "stay", "three")
RULES = [("stay", "three"), ("requeue", "three"), ("stay", "single"), ("requeue", "single")]
TRACE = seeded_trace(450, 60, 11)
PAGES = expand_pages(TRACE)
UNITS = 6


def features() -> list[dict[str, Any]]:
    train = seeded_trace(300, 60, 12)
    pages = expand_pages(train)
    columns = raw_columns(batch_of(train), pages, [3, 12], Memory.of(MEMORY))
    return fit_features([columns], OPEN_FORMULAS, fed_back=True)


FEATURES = features()
OPEN = FEATURES[:-FEEDBACK_WIDTH]


def toy(seed: int = 0, width: int = len(FEATURES)) -> Any:
    """A small recurrent network, lane by lane, so that a lane's sums do not depend on how many there are."""
    rng = np.random.default_rng(seed)
    inner = rng.normal(0, 0.5, (UNITS, width)).astype(np.float32)
    again = rng.normal(0, 0.5, (UNITS, UNITS)).astype(np.float32)
    head = rng.normal(0, 1, (4, UNITS)).astype(np.float32)

    def infer(rows: np.ndarray, state: Any) -> tuple[np.ndarray, Any]:
        before = np.zeros((len(rows), UNITS), np.float32) if state is None else state
        after = np.stack([np.tanh(inner @ row + again @ h) for row, h in zip(rows, before, strict=True)])
        raw = np.stack([head @ h for h in after])
        likely = np.exp(raw[:, 1:])
        cached = 1 / (1 + np.exp(-raw[:, :1]))
        return np.concatenate([cached, likely / likely.sum(axis=1, keepdims=True)], axis=1), after

    return infer


def serving(threshold: float = 0.5, infer: Any = None, fed_back: bool = True, **policy: Any) -> CachingServing:
    entries = FEATURES if fed_back else OPEN
    return CachingServing(
        entries, {**POLICY, **policy}, {"threshold": threshold}, {"page_bytes": 4096}, infer or toy(width=len(entries))
    )


def run(
    model: CachingServing, capacities: list[int], thresholds: list[float] | None = None, trace: Trace = TRACE
) -> Served:
    own = [model.cache(capacity) for capacity in capacities]
    caches = [replace(c, threshold=t) for c, t in zip(own, thresholds or [model.threshold] * len(own), strict=True)]
    return model.run(batch_of(trace), expand_pages(trace), caches, keep=True)


def naive_serve(
    trace: Trace, capacity: int, threshold: float, reset: int, fill: bool, fed_back: bool, rules: tuple[str, str]
) -> tuple[Any, ...]:
    """Row by row: inputs from the rows so far alone, one step, one decision, one request to the naive manager."""
    requeue, single = rules[0] == "requeue", rules[1] == "single"
    infer = toy(width=len(FEATURES if fed_back else OPEN))
    manager = NaiveManager(capacity, 5 * capacity, 20, fill, requeue, single)
    state, tags = None, (0, 0, 0, 0)
    outcome, decisions, outputs, inputs, replaced = [], [], [], [], []
    for row, pages in enumerate(lists_of(expand_pages(trace))):
        part = trace.rows(0, row + 1)
        seen = expand_pages(part)
        columns = raw_columns(batch_of(part), seen, [capacity], Memory.of(MEMORY))
        step = open_inputs(columns, 0, FEATURES, 6.0)[-1]
        if fed_back:
            step = np.concatenate([step, np.array(tags, np.float32)])
        if reset and row % reset == 0:
            state = None
        out, state = infer(step[None, :], state)
        stay = 2 if single else 1 + int(np.argmax(out[0, 1:]))
        decided = 0 if out[0, 0] < np.float32(threshold) else stay
        gone = manager.counts["evictions"]
        got, decided, tags = manager.serve(pages, bool(part.op[-1]), decided)
        outcome += got
        decisions.append(decided)
        outputs.append(out[0])
        inputs.append(step)
        replaced.append(manager.counts["evictions"] - gone)
    return np.array(outcome), np.array(decisions), np.array(outputs), np.array(inputs), np.array(replaced), manager


@pytest.mark.parametrize("fed_back", [True, False])
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize(
    ("capacity", "threshold", "state", "fill"),
    [(1, 0.5, "carried", True), (7, 0.4, "carried", False), (20, 0.6, "reset100", True), (7, 0.5, "reset100", False)],
)
def test_equals_a_naive_loop_that_sees_one_row_after_another(
    capacity: int, threshold: float, state: str, fill: bool, rules: tuple[str, str], fed_back: bool
) -> None:
    model = serving(threshold, None, fed_back, state=state, fill_free=fill, on_hit=rules[0], queues=rules[1])
    served = run(model, [capacity])
    expected = naive_serve(TRACE, capacity, threshold, 100 if state == "reset100" else 0, fill, fed_back, rules)
    outcome, decisions, outputs, inputs, replaced, manager = expected
    assert served.features[0].tobytes() == inputs.tobytes()
    assert served.outputs[0].tobytes() == outputs.astype(np.float32).tobytes()
    np.testing.assert_array_equal(served.decisions[0], decisions)
    np.testing.assert_array_equal(served.outcome[0], outcome)
    np.testing.assert_array_equal(served.replaced[0], replaced)
    counts = manager.counts
    assert served.totals[0] == {
        "page_accesses": counts["accesses"], "hits": counts["hits"], "admitted": counts["admissions"],
        "write_hits": counts["write_hits"], "replacements": counts["evictions"],
        "dirty_evictions": counts["dirty_evictions"], "bypassed": counts["bypasses"],
        "ssd_writes": counts["admissions"] + counts["write_hits"],
    }  # fmt: skip
    assert served.dirty_evicted[0].sum() == counts["dirty_evictions"]
    np.testing.assert_array_equal(served.consulted[0], decisions >= 0)
    assert served.hits(0).sum() == counts["hits"]
    assert (served.decisions[0] == 0).any() and served.decisions.max() > 0
    assert (served.decisions.min() == -1) == (rules[0] == "stay")


@pytest.mark.parametrize("fed_back", [True, False])
def test_lanes_together_equal_each_alone(fed_back: bool) -> None:
    model = serving(fed_back=fed_back)
    caches = [
        Cache(capacity, threshold, *rules)
        for capacity, threshold in zip([7, 3, 7, 40, 1], [0.5, 0.3, 0.7, 0.5, 0.1], strict=True)
        for rules in RULES[1:]
    ]
    together = model.run(batch_of(TRACE), PAGES, caches, keep=True)
    for lane, cache in enumerate(caches):
        alone = model.run(batch_of(TRACE), PAGES, [cache], keep=True)
        for name in ("outcome", "decisions", "outputs", "features", "replaced", "dirty_evicted"):
            assert getattr(together, name)[lane].tobytes() == getattr(alone, name)[0].tobytes(), name
        assert together.totals[lane] == alone.totals[0]
    own = serving(0.3, fed_back=fed_back, on_hit="requeue", queues="single")
    assert run(own, [3]).outcome.tobytes() == together.outcome[5:6].tobytes()


@pytest.mark.parametrize("state", ["carried", "reset100"])
def test_the_network_over_a_whole_trace_gives_the_same_cache(state: str) -> None:
    calls = []

    def whole(rows: np.ndarray, advance: Any) -> np.ndarray:
        calls.append(rows.shape)
        step, before, out = toy(width=len(OPEN)), None, []
        for row, values in enumerate(rows):
            values, before = step(values, None if state == "reset100" and row % 100 == 0 else before)
            out.append(values)
        return np.stack(out)

    stepped = run(serving(fed_back=False, state=state), [7, 3, 7])
    model = serving(fed_back=False, state=state)
    model.infer_all = whole
    at_once = run(model, [7, 3, 7])
    assert calls == [(len(TRACE), 2, len(OPEN))]
    for name in ("outcome", "decisions", "outputs", "features"):
        assert getattr(at_once, name).tobytes() == getattr(stepped, name).tobytes(), name


def test_no_input_sees_its_own_tag_or_a_later_row() -> None:
    cut = 200
    whole = run(serving(), [7])
    assert not whole.features[0, 0, -FEEDBACK_WIDTH:].any()
    other = seeded_trace(450, 200, 40)
    columns = {
        name: np.concatenate([getattr(TRACE, name)[:cut], getattr(other, name)[cut:]])
        for name in ("op", "offset", "size")
    }
    changed = run(serving(), [7], trace=seeded_trace(450, 60, 11, **columns))
    assert changed.features[0, :cut].tobytes() == whole.features[0, :cut].tobytes()
    assert changed.outputs[0, :cut].tobytes() == whole.outputs[0, :cut].tobytes()
    # Another decision at a row changes the tags that later rows are fed, not the row's own.
    consulted = int(np.flatnonzero(whole.decisions[0, 100:] >= 0)[0]) + 100
    calls = [0]

    def contrary(rows: np.ndarray, state: Any) -> tuple[np.ndarray, Any]:
        out, state = toy()(rows, state)
        if calls[0] == consulted:
            out[:, 0] = 0.0 if whole.decisions[0, consulted] > 0 else 1.0
        calls[0] += 1
        return out, state

    turned = run(serving(infer=contrary), [7])
    rows = slice(0, consulted + 1)
    assert turned.features[0, rows].tobytes() == whole.features[0, rows].tobytes()
    assert (turned.features[0, consulted + 1] != whole.features[0, consulted + 1]).any()


def test_training_and_serving_see_the_same_inputs(tmp_path: Path) -> None:
    label = BenefitLabel(oracle="benefit", horizons=[3], capacities=[0.05, 0.2])
    write_features(TRACE, PAGES, SequenceFeatures(**MEMORY), label, tmp_path / "features.parquet")
    columns = read_features(tmp_path / "features.parquet", label)
    capacities = [capacity_pages(fraction, PAGES.n_pages) for fraction in label.capacities]
    rows = serving().inputs(batch_of(TRACE), PAGES, capacities[::-1])
    assert rows.shape == (len(TRACE), 2, len(OPEN))
    for lane, place in enumerate((1, 0)):
        assert rows[:, lane].tobytes() == open_inputs(columns, place, FEATURES, MEMORY["clip"]).tobytes()


def test_a_reset_state_forgets_every_hundred_requests() -> None:
    states: dict[str, list[bool]] = {}
    for state in ("carried", "reset100"):
        seen: list[bool] = []

        def infer(rows: np.ndarray, before: Any, seen: list[bool] = seen) -> tuple[np.ndarray, Any]:
            seen.append(before is None)
            return np.full((len(rows), 4), 0.5, np.float32), "state"

        run(serving(infer=infer, state=state), [5])
        states[state] = seen
    assert [i for i, fresh in enumerate(states["carried"]) if fresh] == [0]
    assert [i for i, fresh in enumerate(states["reset100"]) if fresh] == [0, 100, 200, 300, 400]
    assert run(serving(), [5]).outputs.tobytes() != run(serving(state="reset100"), [5]).outputs.tobytes()


@pytest.mark.parametrize("fill", [True, False])
@pytest.mark.parametrize("rules", RULES)
def test_decisions_made_elsewhere(fill: bool, rules: tuple[str, str]) -> None:
    queues = np.random.default_rng(3).integers(0, 4, len(TRACE)).astype(np.int32)
    policy, cache = {**POLICY, "fill_free": fill}, Cache(9, 0.0, *rules)
    served = serve_decisions(TRACE.op, PAGES, queues, cache, policy)
    single = rules[1] == "single"
    manager, outcome = NaiveManager(9, 45, 20, fill, rules[0] == "requeue", single), []
    for request, op, queue in zip(lists_of(PAGES), TRACE.op, queues, strict=True):
        outcome += manager.serve(request, bool(op), 2 if single and queue else int(queue))[0]
    assert served.outcome[0].tolist() == outcome
    assert served.totals[0]["dirty_evictions"] == manager.counts["dirty_evictions"]


def test_a_threshold_of_zero_admits_all_and_above_one_none() -> None:
    served = run(serving(fill_free=False), [9, 9], [0.0, 1.1])
    assert (served.decisions[0] != 0).all() and served.totals[0]["bypassed"] == 0
    assert served.totals[1]["admitted"] == served.totals[1]["hits"] == 0
    assert served.totals[1]["bypassed"] == served.totals[1]["page_accesses"] == len(PAGES.page_ids)


def test_rules() -> None:
    for wrong in ({"on_hit": "leave"}, {"queues": "four"}):
        with pytest.raises(ConfigError, match="not among"):
            serving(**wrong)
    for capacities in ([5, 0], [-1], []):
        with pytest.raises(ConfigError, match="at least one page"):
            run(serving(), capacities)
    with pytest.raises(ConfigError, match="at least one page"):
        serve_decisions(TRACE.op, PAGES, np.zeros(450, np.int32), NO_PAGE, POLICY)
    good = {"policy": POLICY, "calibration": {"threshold": 0.5}, "geometry": {"page_bytes": 4096}, "infer": toy()}
    for wrong in (FEATURES[::-1], FEATURES[:-1], [FEATURES[-1], *FEATURES], FEATURES[-2:]):
        with pytest.raises(ConfigError, match="use a newer release"):
            CachingServing(wrong, **good)
    with pytest.raises(ConfigError, match="page_bytes 8192"):
        CachingServing(FEATURES, **{**good, "geometry": {"page_bytes": 8192}})


def test_a_runtime_cuts_inputs_to_the_trained_range_and_one_of_a_model_without_ranges_does_not() -> None:
    narrow = {"size": [12.0, 12.5], "gap": [3.0, 4.0]}
    batch = batch_of(TRACE)
    columns = raw_columns(batch, PAGES, [5], Memory.of(MEMORY))
    for ranges, policy in ((None, POLICY), (narrow, {**POLICY, "ranges": narrow})):
        model = CachingServing(FEATURES, policy, {"threshold": 0.5}, {"page_bytes": 4096}, toy())
        expected = open_inputs(columns, 0, FEATURES, MEMORY["clip"], ranges)
        assert model.inputs(batch, PAGES, [5])[:, 0].tobytes() == expected.tobytes()
    for wrong in ({"mood": [0, 1]}, {"size": [2, 1]}, {"size": [1]}, {"size": [0, float("inf")]}):
        with pytest.raises(ConfigError, match=r"policy\.ranges\.(mood|size): .* least and greatest value"):
            serving(ranges=wrong)


@pytest.mark.parametrize("queue", [-1, 4])
def test_a_queue_that_there_is_not_is_refused(queue):
    queues = np.full(450, queue, np.int32)
    with pytest.raises(ConfigError, match=f"queues of {queue} to {queue}: there are 1 to 3"):
        serve_decisions(TRACE.op, PAGES, queues, Cache(10, 0.5, "stay", "three"), POLICY)


def test_a_page_stays_in_a_queue_for_a_while():
    queues = np.full(450, 2, np.int32)
    policy = {**POLICY, "demote_capacities": 0.5, "protected_percent": 100}
    with pytest.raises(ConfigError, match=r"demote_capacities 0\.5: a page stays"):
        serve_decisions(TRACE.op, PAGES, queues, Cache(10, 0.5, "stay", "three"), policy)


SIZES = [
    {"ratio_log2": -3.0, "threshold": 0.4, "queues": "single"},
    {"ratio_log2": -2.0, "threshold": 0.55, "queues": "three"},
    {"ratio_log2": -0.5, "threshold": 0.5, "queues": "single"},
]


def naive_rule(ratio: float) -> tuple[float, bool]:
    """The threshold, and whether there is a single queue, by hand."""
    places = [row["ratio_log2"] for row in SIZES]
    if ratio <= places[0] or ratio >= places[-1]:
        row = SIZES[0 if ratio <= places[0] else -1]
        return row["threshold"], row["queues"] == "single"
    high = next(k for k, place in enumerate(places) if ratio < place)
    low, up = SIZES[high - 1], SIZES[high]
    part = (ratio - places[high - 1]) / (places[high] - places[high - 1])
    single = (low if part < 0.5 else up)["queues"] == "single"
    if part <= 0.25:
        return low["threshold"], single
    if part >= 0.75:
        return up["threshold"], single
    return low["threshold"] + (part - 0.25) * 2 * (up["threshold"] - low["threshold"]), single


def naive_ratios(trace: Trace, capacity: int) -> list[float]:
    """log2(capacity / distinct pages of the last `window_accesses` page accesses before each request)."""
    seen: list[int] = []
    ratios = []
    for pages in lists_of(expand_pages(trace)):
        ratios.append(np.log2(capacity / max(len(set(seen[-MEMORY["window_accesses"] :])), 1)))
        seen += pages
    return ratios


@pytest.mark.parametrize("fed_back", [True, False])
@pytest.mark.parametrize("capacity", [1, 4, 7, 12, 20, 60])
def test_each_size_has_its_own_threshold_and_queue_rule(capacity: int, fed_back: bool) -> None:
    entries = FEATURES if fed_back else OPEN
    calibration = {"threshold": 0.9, "by_capacity": SIZES}
    model = CachingServing(entries, POLICY, calibration, {"page_bytes": 4096}, toy(width=len(entries)))
    served = model.run(batch_of(TRACE), PAGES, [model.cache(capacity)], keep=True)
    rules = [naive_rule(ratio) for ratio in naive_ratios(TRACE, capacity)]
    for decided, outputs, (threshold, single) in zip(served.decisions[0], served.outputs[0], rules, strict=True):
        stay = 2 if single else 1 + int(np.argmax(outputs[1:]))
        assert decided in (-1, 0 if outputs[0] < np.float32(threshold) else stay)
    # Lanes of one threshold are run beside it, as before.
    both = model.run(batch_of(TRACE), PAGES, [model.cache(capacity), replace(model.cache(capacity), by_capacity=None)])
    np.testing.assert_array_equal(both.decisions[0], served.decisions[0])
    if not fed_back:
        alone = CachingServing(entries, POLICY, {"threshold": 0.9}, {"page_bytes": 4096}, toy(width=len(entries)))
        np.testing.assert_array_equal(both.outcome[1], run(alone, [capacity]).outcome[0])


def test_a_size_that_nothing_was_chosen_for_is_told_from_one_between() -> None:
    table = ByCapacity.of(SIZES)
    assert table is not None
    seen = table.covers(np.array([-3.6, -3.4, -1.0, -0.1, 0.1], np.float32))
    assert seen.tolist() == [False, True, True, True, False]
    thresholds, single = table.at(np.array([-9.0, -3.0, -2.9, -2.5, -2.0, -1.25, 4.0], np.float32))
    np.testing.assert_allclose(thresholds, [0.4, 0.4, 0.4, 0.475, 0.55, 0.525, 0.5], rtol=1e-6)
    assert single.tolist() == [True, True, True, False, False, True, True]
    assert ByCapacity.of([]) is None


@pytest.mark.parametrize("rows", [SIZES[:1], SIZES[::-1], [{**SIZES[0], "queues": "two"}, SIZES[1]]])
def test_sizes_that_do_not_rise_or_rules_that_there_are_not_are_refused(rows: list[dict[str, Any]]) -> None:
    with pytest.raises(ConfigError, match="by_capacity"):
        ByCapacity.of(rows)
