from dataclasses import replace

import numpy as np
import pytest

from cachezoo.errors import TrainingError
from cachezoo.kernels.reuse.hazards import BINS
from cachezoo.labels.reuse import next_use
from cachezoo.settings.data import CorpusEntry
from cachezoo.traces.pages import PageAccesses
from cachezoo.zoo.reuse import fit
from cachezoo.zoo.reuse.prepared import in_turns
from tests.oracles.reuse import bin_of
from tests.reuse_data import FIT, part


def test_labels_are_the_distance_in_capacities() -> None:
    ids = np.array([0, 1, 0, 2, 1, 0, 3, 3, 3, 3, 3, 3, 3], np.int32)
    found = next_use(PageAccesses(np.arange(14), ids, 4), 2)
    assert found.distance[:6].tolist() == [2, 3, 3, 0, 0, 0]
    np.testing.assert_allclose(found.target[:6], [0, np.log2(1.5), np.log2(1.5), 5, 5, 5], rtol=1e-6)
    assert found.target[6] == -1
    assert found.settled.tolist() == [True] * 5 + [False] * 8
    of = np.array([1, 3, 6, 12])
    some = next_use(PageAccesses(np.arange(14), ids, 4), 2, of)
    assert [values.tolist() for values in some] == [values[of].tolist() for values in found]


def test_what_comes_after_the_end_changes_no_settled_target() -> None:
    ids = np.random.default_rng(1).integers(0, 60, 500).astype(np.int32)
    other = np.concatenate([ids[:400], np.random.default_rng(2).integers(0, 60, 100)]).astype(np.int32)
    one, two = (next_use(PageAccesses(np.arange(len(own) + 1), own, 60), 7) for own in (ids[:400], other))
    settled = np.flatnonzero(one.settled)
    np.testing.assert_array_equal(one.target[settled], two.target[settled])
    assert (one.target != two.target[:400]).any()


def test_counts_are_those_of_loops() -> None:
    own = part(3000, 4)
    rows = fit.trace_rows(own, 40, 500, FIT, 3)
    classes = np.random.default_rng(5).integers(0, 6, len(rows.target)).astype(np.uint8)
    events, risks = fit.counts_of(rows, classes, 6)
    want_events, want_risks = np.zeros((6, BINS)), np.zeros((6, BINS))
    for k, event, passed in zip(classes, rows.events, rows.risks, strict=True):
        if event >= 0:
            want_events[k, event] += 1
        for b in range(passed):
            want_risks[k, b] += 1
    np.testing.assert_array_equal(events, want_events)
    np.testing.assert_array_equal(risks, want_risks)
    assert (events <= risks).all()


def test_ages_are_binned_as_the_cache_bins_them() -> None:
    distance = np.array([0, 1, 5, 6, 40, 41, 900, 10**6])
    events, risks = fit._ages(distance, np.full(8, 2000), 40)
    assert events.tolist() == [-1, *(bin_of(int(d), 40) for d in distance[1:])]
    assert risks[1:].tolist() == (events[1:] + 1).tolist()
    assert risks[0] == sum(40 / 64 * 2 ** (b / 2) < 2000 for b in range(BINS - 1))


def test_rows_hide_the_origin_of_some() -> None:
    whole = replace(FIT, fit=FIT.fit.model_copy(update={"hidden": 0.0}))
    shown, mixed = (fit.trace_rows(part(3000, 4), 40, 500, one, 3) for one in (whole, FIT))
    differs = (shown.inputs != mixed.inputs).any(axis=1)
    assert 0.3 < differs.mean() < 0.7
    np.testing.assert_array_equal(shown.target, mixed.target)


def test_the_same_rows_give_the_same_forests() -> None:
    one, two = (fit.fit_prepared([part(3000, 1)], FIT, {}) for _ in range(2))
    assert one[0] == two[0]
    assert {name: forest.text for name, forest in one[1].items()} == {
        name: forest.text for name, forest in two[1].items()
    }
    assert len({forest.text for forest in one[1].values()}) == FIT.fit.seeds


def test_nothing_to_train_on_is_one_line() -> None:
    for parts in ([], [part(3, 1)]):
        with pytest.raises(TrainingError, match="no train trace has an access whose next use is settled"):
            fit.fit_prepared(parts, FIT, {})


def test_two_traces_take_turns_on_pages_of_their_own() -> None:
    one, two = part(3000, 1), part(2001, 2)
    found = in_turns(one, two)
    assert found.trace.source is not None
    change = np.flatnonzero(np.diff(found.trace.source.codes)) + 1
    assert change.tolist() == [1500, 2500, 4000]
    assert found.pages.n_pages == one.pages.n_pages + two.pages.n_pages
    assert len(found.pages.page_ids) == len(one.pages.page_ids) + len(two.pages.page_ids)


def test_part_of_the_rows_are_of_traces_in_turns() -> None:
    parts = [part(3000, 1), part(3000, 2)]
    rows = fit.all_rows(parts, FIT)
    want = [fit.rows_at_all(own, FIT) for own in parts]
    assert len(rows.target) == 1600
    assert [len(own.target) for own in want] == [700, 700]
    want += [fit.rows_in_turns(*pair, FIT) for pair in (parts, parts[::-1])]
    assert sorted(rows.target.tolist()) == sorted(np.concatenate([own.target for own in want]).tolist())
    none = replace(FIT, fit=FIT.fit.model_copy(update={"turns": 0.0}))
    assert [len(own) for own in fit.all_rows(parts, none)] == [1600] * len(rows)


def test_two_traces_in_turns_give_as_many_rows_as_the_first_gives_less_alone() -> None:
    own, other = part(3000, 1), part(3000, 2)
    entry = CorpusEntry(path="a", format="csv", program="nginx", setup="a", role="train")
    settings = replace(FIT, corpus={"alpha": {own.key: entry}})
    assert [len(fit.rows_at_all(one, settings).target) for one in (own, other)] == [350, 700]
    assert [len(fit.rows_in_turns(*pair, settings).target) for pair in ((own, other), (other, own))] == [50, 100]


def test_who_takes_turns_does_not_depend_on_the_others() -> None:
    keys = [f"trace{k}" for k in range(7)]
    pairs = fit.pairs_of(keys, FIT)
    assert sorted(first for first, _ in pairs) == sorted(second for _, second in pairs) == keys
    assert pairs == fit.pairs_of(keys[::-1], FIT)
    assert len(set(pairs) & set(fit.pairs_of(keys[1:], FIT))) == 5
    assert fit.pairs_of(keys[:1], FIT) == []
