"""What guards the next-use forest's cache where a workload changes."""

import numpy as np
import pytest

from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.registry import classics
from cachezoo.policies.simulate import simulate
from cachezoo.traces.joined import join
from cachezoo.traces.pages import capacity_pages, expand_pages
from cachezoo.traces.store import read_trace, write_trace
from cachezoo.zoo.reuse.changes import changes_of
from cachezoo.zoo.reuse.prepared import Prepared
from lab.carry_over.run import Settings, Source
from lab.notes import change_guard
from lab.notes.change_guard import RESTART, VARIANTS, caches_of, left_out, measure, pairs_of, table, update
from tests.reuse_data import FIT, JUDGE, make_trace

TINY = Settings(
    FIT.model.model_copy(update={"experts": ["wtinylfu"]}),
    FIT.fit.model_copy(update={"seeds": 1}), ["alpha"], {}, {}, 1, JUDGE.judge,
)  # fmt: skip


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Three programs, each with a trace."""
    folder, found = tmp_path_factory.mktemp("traces"), []
    for seed, program in enumerate(("one", "two", "three"), 11):
        trace, key = make_trace(3000, seed), f"{program}_a"
        write_trace(trace, folder / f"{key}.parquet", expand_pages(trace))
        found.append(Source(key, folder / f"{key}.parquet", program, "a"))
    return found


@pytest.fixture(scope="module")
def measured(sources):
    return measure(sources, 0, 2, list(VARIANTS), TINY, {})


def _source(program, setup):
    return Source(f"{program}_{setup}", None, program, setup)


def test_every_program_is_left_out_once_with_all_its_traces():
    sources = [_source(program, setup) for program in "abcde" for setup in "xy"]
    folds = [left_out(sources, fold, 3) for fold in range(3)]
    assert [source for fold in folds for source in fold] != sources
    assert sorted(source for fold in folds for source in fold) == sources
    assert {source.program for source in folds[0]} == {"a", "d"}


def test_a_change_is_to_the_next_trace_of_another_program():
    a, b, c, d = (_source(*names) for names in (("one", "x"), ("one", "y"), ("two", "x"), ("two", "y")))
    assert pairs_of([a, b, c, d]) == [(a, c), (b, c), (c, a), (d, a)]
    assert pairs_of([a, b]) == []


def test_variants_differ_and_are_run_on_all_that_is_left_out(measured):
    assert list(measured) == list(VARIANTS)
    for found in measured.values():
        assert list(found.alone) == ["one_a", "two_a"]
        assert list(found.changes) == ["one_a+two_a", "two_a+one_a"]
    assert measured["as_is"].alone == measured[RESTART].alone
    assert measured["as_is"].alone != measured["no_turns"].alone


def test_leads_after_a_change_are_over_the_classic_that_hit_most_before_it_and_over_lru(sources, measured):
    first, second = (read_trace(sources[place].path) for place in (0, 1))
    stream = join("other", first, second)
    pages = expand_pages(stream.trace)
    capacity = capacity_pages(TINY.judge.capacity, pages.n_pages)
    (change,) = changes_of(pages, stream.at, capacity)
    hits = {name: simulate(stream.trace, pages, name, capacity, 0).outcome == HIT for name in classics()}
    rival = max(hits, key=lambda name: hits[name][change.full : change.at].mean())
    after = {name: own[change.settled : change.end].mean() for name, own in hits.items()}
    for found in measured.values():
        own = found.changes["one_a+two_a"]
        assert own.over_lru - own.lead == pytest.approx(100 * (after[rival] - after["lru"]))
        assert own.above_lru == (own.over_lru >= -1)


def test_a_restarted_cache_knows_nothing_of_what_came_before(sources, measured):
    first, second = (read_trace(sources[place].path) for place in (0, 1))
    stream = join("other", first, second)
    pages = expand_pages(stream.trace)
    capacity = capacity_pages(TINY.judge.capacity, pages.n_pages)
    (change,) = changes_of(pages, stream.at, capacity)
    later = second.rows(len(second) // 2, len(second))
    caches = caches_of([sources[2]], [RESTART], TINY, {})
    (own,) = change_guard._served(Prepared("later", None, later, expand_pages(later)), capacity, caches, TINY)[RESTART]
    lru = simulate(stream.trace, pages, "lru", capacity, 0).outcome[change.settled :] == HIT
    gained = (own[change.settled - change.at :] == HIT).mean() - np.mean(lru)
    assert measured[RESTART].changes["one_a+two_a"].over_lru == pytest.approx(100 * gained)


def test_a_run_goes_on_where_it_was_ended(sources, measured, tmp_path, monkeypatch):
    asked = []

    def recorded(*arguments):
        asked.append((arguments[1], arguments[3]))
        return {name: measured[name] for name in arguments[3]}

    monkeypatch.setattr(change_guard, "measure", recorded)
    file = tmp_path / "folds.json"
    update(sources, [0], 2, ["as_is"], TINY, file)
    found = update(sources, [0, 1], 2, ["as_is", "no_turns"], TINY, file)
    assert asked == [(0, ["as_is"]), (0, ["no_turns"]), (1, ["as_is", "no_turns"])]
    assert found == {name: [measured[name]] * 2 for name in ("as_is", "no_turns")}
    rows = table(found).rows
    assert [row[0].text for row in rows] == ["as_is", "no_turns"]
    assert rows[0][2].note.startswith("± 0.00")
    assert rows[0][7].value == min(change.over_lru for change in measured["as_is"].changes.values())


@pytest.mark.parametrize("folds", [1, 4])
def test_refuses_folds_that_leave_out_nothing_or_all(sources, folds):
    with pytest.raises(ConfigError, match="give 2 folds to as many as there are programs"):
        measure(sources, folds - 1, folds, ["as_is"], TINY, {})
