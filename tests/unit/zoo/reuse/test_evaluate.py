from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import HIT
from cachezoo.models.trained import read_fitted
from cachezoo.policies.registry import classics
from cachezoo.policies.simulate import simulate
from cachezoo.settings.base import Joining
from cachezoo.settings.data import CorpusEntry
from cachezoo.traces.joined import join
from cachezoo.traces.pages import capacity_pages, expand_pages
from cachezoo.zoo.base import studied_of
from cachezoo.zoo.registry import SYSTEMS
from cachezoo.zoo.reuse import evaluate, judge
from cachezoo.zoo.reuse.cache import plan_of
from cachezoo.zoo.reuse.changes import Change, Hits, changes_of
from cachezoo.zoo.reuse.fit import Learned, forest_file
from cachezoo.zoo.reuse.model import load_reuse
from cachezoo.zoo.reuse.prepared import Prepared
from cachezoo.zoo.reuse.settings import Pair
from tests.reuse_data import make_trace, part, write_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reuse")
    write_model(path)
    return path


@pytest.fixture(scope="module")
def bench(folder: Path) -> evaluate._Bench:
    trained, fitted = load_reuse(folder / "model")[0], read_fitted(folder / "fitted", "reuse")
    policy, weight = judge.base_policy(fitted), float(trained.calibration["weight"])
    plans = [plan_of(policy, judge.calibration_of(fitted, k, weight)) for k in range(2)]
    texts = [(folder / "fitted" / forest_file(k)).read_text() for k in range(2)]
    forests = [Learned(text, plan) for text, plan in zip(texts, plans, strict=True)]
    return evaluate._Bench(trained, policy, forests, ["twoq(kin=0.5)"])


def test_what_counts_begins_with_a_full_cache_and_its_first_half_chooses(bench: evaluate._Bench) -> None:
    own = part(5000, 8)
    counted = evaluate.Counted.of(own.pages, 50)
    total, starts = len(own.pages.page_ids), set(own.pages.request_start.tolist())
    seen = np.maximum.accumulate(own.pages.page_ids) + 1
    assert seen[counted.first] >= 50 and counted.first >= total // 10 - 8
    assert abs(2 * counted.middle - counted.first - total) < 20 and {counted.first, counted.middle} <= starts
    hits = np.where(np.arange(total) < counted.middle, HIT, 0).astype(np.uint8)
    assert (counted.first_half(hits), counted.judged(hits).sum()) == (1.0, 0)
    assert counted.quarters(hits) == pytest.approx([1, 1, 0, 0], abs=0.01)


def test_a_row_is_the_mean_of_the_seeds_against_what_was_best_on_the_first_half(bench: evaluate._Bench) -> None:
    own = part(5000, 8)
    row = bench.row(own, 0.1)
    counted = evaluate.Counted.of(own.pages, row.capacity)
    names = [*classics(), "twoq(kin=0.5)"]
    outcomes = {name: simulate(own.trace, own.pages, name, row.capacity, 0).outcome == HIT for name in names}
    first = {name: hits[counted.first : counted.middle].mean() for name, hits in outcomes.items()}
    second = {name: hits[counted.middle :].mean() for name, hits in outcomes.items()}
    assert first[row.rival] == max(first.values()) and row.rivals == len(names)
    assert row.rival_hit_ratio == pytest.approx(second[row.rival])
    assert row.best_way_hit_ratio == pytest.approx(max(second.values()))
    assert row.best_classic_hit_ratio == pytest.approx(max(second[name] for name in classics()))
    assert {name: row.hit_ratios[name] for name in classics()} == pytest.approx({n: second[n] for n in classics()})
    assert set(row.hit_ratios) - set(classics()) == {"lrb", "threelcache"}
    assert len(row.seed_hit_ratios) == 2 and row.hit_ratio == row.seed_hit_ratios[0]
    mean = float(np.mean(row.seed_hit_ratios))
    assert row.lead_points == pytest.approx(100 * (mean - row.rival_hit_ratio))
    assert row.lead_interval is not None and row.lead_interval[0] < row.lead_points < row.lead_interval[1]
    assert np.mean(row.quarters[2:]) == pytest.approx(mean, abs=0.01) and len(row.rival_quarters) == 4
    assert row.gap_closed == pytest.approx(
        (mean - row.best_classic_hit_ratio) / (row.optimum_hit_ratio - row.best_classic_hit_ratio)
    )


def test_other_keys_change_no_figure(bench: evaluate._Bench) -> None:
    own = part(3000, 3)
    other = replace(own, trace=replace(own.trace, offset=own.trace.offset + (1 << 30)))
    assert bench.row(own, 0.1) == bench.row(other, 0.1)


@pytest.mark.parametrize(("kind", "count"), [("other", 1), ("turns", 3)])
def test_after_a_change_all_are_judged_against_what_was_best_before(
    bench: evaluate._Bench, kind: Joining, count: int
) -> None:
    pair, streams = Pair(kind=kind, first="a", second="b"), (make_trace(5000, 8), make_trace(5000, 9))
    row = bench.joined(pair, *streams)
    joined = join(kind, *streams)
    pages = expand_pages(joined.trace)
    changes = changes_of(pages, joined.at, row.capacity)
    assert row.capacity == capacity_pages(bench.fraction, pages.n_pages) and len(changes) == len(row.changes) == count
    names = [*classics(), "twoq(kin=0.5)"]
    outcomes = {name: simulate(joined.trace, pages, name, row.capacity, 0).outcome == HIT for name in names}
    runs = bench._runs(Prepared("a+b", None, joined.trace, pages), row.capacity)
    ours = [run.run.outcome == HIT for run in runs]
    for own, change in zip(row.changes, changes, strict=True):
        before = {name: hits[change.full : change.at].mean() for name, hits in outcomes.items()}
        after = {name: hits[change.settled : change.end].mean() for name, hits in outcomes.items()}
        early = {name: hits[change.at : change.early].mean() for name, hits in outcomes.items()}
        assert before[own.rival] == max(before.values()) and row.rivals == len(names)
        assert own.rival_hit_ratio == pytest.approx(after[own.rival])
        assert own.hit_ratios == pytest.approx({name: after[name] for name in classics()})
        assert own.best_way_hit_ratio == pytest.approx(max(after.values()))
        assert own.early_rival_hit_ratio == pytest.approx(early[own.rival])
        assert own.early_lru_hit_ratio == pytest.approx(early["lru"])
        assert own.seed_hit_ratios == pytest.approx([hits[change.settled : change.end].mean() for hits in ours])
        assert own.early_hit_ratio == pytest.approx(np.mean([hits[change.at : change.early].mean() for hits in ours]))
        assert own.early_hit_ratio != pytest.approx(np.mean(own.seed_hit_ratios))
        assert own.capacities == pytest.approx((change.end - change.at) / row.capacity)
    assert row.above_floor == all(own.above_lru and own.above_rival for own in row.changes)


@pytest.mark.parametrize(
    ("rival", "lru", "above_rival", "above_lru"),
    [(0.529, 0.509, True, True), (0.531, 0.509, False, True), (0.529, 0.511, True, False)],
)
def test_the_floor_after_a_change_has_two_bars(rival: float, lru: float, above_rival: bool, above_lru: bool) -> None:
    change = Change(full=100, at=1000, settled=1200, early=2000, end=6200)  # 50 capacities count
    ours = [Hits(0.1, mean, 0.9) for mean in (0.45, 0.55)]
    ways = {
        **{name: Hits(0.2, 0.4, 0.3) for name in classics()},
        "lru": Hits(0.3, lru, 0.2),
        "arc": Hits(0.4, rival, 0.2),
    }
    found = evaluate._judged(change, 100, ours, ways)
    assert (found.rival, found.capacities, found.best_way_hit_ratio) == ("arc", 52, rival)
    assert (found.above_rival, found.above_lru) == (above_rival, above_lru)


def test_streams_are_joined_of_long_ones() -> None:
    entry = CorpusEntry(path="a", format="csv", program="nginx", setup="c", role="test", long=True)
    streams = evaluate.streams_of({"web": {"a": entry, "b": entry}})
    assert evaluate._paths(Pair(kind="drift", first="b", second="a"), streams) == [streams[1].path, streams[0].path]
    with pytest.raises(ConfigError, match=r"judge\.reuse\.changes: c is no long stream .*; give two of a and b"):
        evaluate._paths(Pair(kind="drift", first="a", second="c"), streams)


def test_where_a_stream_is_from() -> None:
    own = {"path": "a", "format": "csv", "program": "nginx", "setup": "c", "role": "test"}
    assert evaluate.where_of(CorpusEntry.model_validate({**own, "home": True})) == "home"
    assert evaluate.where_of(CorpusEntry.model_validate(own)) == "set-up"
    assert evaluate.where_of(CorpusEntry.model_validate({**own, "unseen": True})) == "program"


def test_a_study_reads_what_chose(folder: Path) -> None:
    assert 0 < studied_of(SYSTEMS["reuse"]).choosing(folder / "model") < 1
