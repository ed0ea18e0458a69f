"""RC-RNN's cache beside the simulator's, run by hand, on two programs one after the other."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from cachezoo.bundles import load
from cachezoo.coded import Coded
from cachezoo.contest.counting import Count
from cachezoo.errors import CachezooError, ConfigError
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.simulate import Simulator
from cachezoo.questions.page.bench import Bench, Options
from cachezoo.questions.page.bundle import run_bundle
from cachezoo.questions.page.rcrnn import Rcrnn
from cachezoo.questions.page.turns import NO_MODEL, TurnsCache, turns_of
from cachezoo.serving.requests import batch_of
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import Trace
from cachezoo.zoo.caching.switching import ALL_ENTER, SwitchingCache
from tests.caching_turns import RULES, changed, monitor, requests
from tests.lstm_data import make_stream

CAPACITY = 40
ROW = ("hits", "hit_ratio", "ssd_writes", "replacements", "dirty_evictions", "disk_writes", "transfers")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Bundles of the monitor and of a model for each of its categories."""
    own = tmp_path_factory.mktemp("bundles")
    monitor(own / "workload.lstm8")
    changed(own / "caching.pairs.lstm1x8", "pairs", 0.5, 1.3)
    changed(own / "caching.turns.lstm1x8", "turns", 0.45, 0.7, **RULES, state="reset100")
    return own


def bench_of(trace: Trace) -> Bench:
    return Bench.of(Simulator(trace, expand_pages(trace)), count=Count("half"))


@pytest.fixture(scope="module")
def bench() -> Bench:
    """Two programs of two kinds of load in turn, as `requests` has them, in one address space."""
    batch = requests(2400)
    size, page = batch.size, batch.offset // 4096 * 4096
    meta = make_stream(1, 0, "pairs").meta
    return bench_of(Trace(batch.time_us, batch.op, page, size, Coded.constant("vda", len(size)), meta))


def plan_of(in_force):
    """Who decides: the model of the category in force, else who did; before the first vote everything enters."""
    plan, last = [], ALL_ENTER
    for category in in_force.tolist():
        last = category if category >= 0 else last
        plan.append(last)
    return np.array(plan, np.int32)


@pytest.mark.parametrize("every_s", [None, 1])
def test_it_is_the_switching_cache_by_the_monitors_plan(folder, bench, every_s):
    cache = TurnsCache(Rcrnn(vote_every_s=every_s), folder)
    found = cache.simulated(bench, CAPACITY)
    watching = load(folder / "workload.lstm8").serving()
    models = [load(folder / f"caching.{name}.lstm1x8").serving() for name in watching.classes]
    batch = batch_of(bench.trace)
    seen = watching.run(batch, every_s)
    assert (len(seen.looked_at) < len(batch)) == (every_s is not None)
    plan = plan_of(seen.of_requests(len(batch)))
    expected = SwitchingCache(models, batch, bench.pages, CAPACITY).run(plan, "alone")
    assert found.outcome.tolist() == expected.outcomes.outcome.tolist()
    assert found.replacements == expected.outcomes.replaced[len(batch) - found.requests :].sum() > 0
    (turns,) = cache.turns
    assert turns.takeovers == len(expected.takeovers) > 2
    assert turns.asked == sum(one.steps for one in expected.takeovers) > 0
    assert turns.moved == sum(one.moved for one in expected.takeovers) > 0
    shares = {NO_MODEL: np.mean(plan == -1), "pairs": np.mean(plan == 0), "turns": np.mean(plan == 1)}
    assert turns.decided == {name: share for name, share in shares.items() if share} and len(turns.decided) == 3
    assert 0 < (found.outcome == HIT).mean() < 1
    assert f"; {turns.takeovers} takeovers" in turns.words() and "no model " in turns.words()


def test_two_programs_that_the_monitor_tells_apart_have_their_own_models(folder):
    """One after the other: a takeover at the first vote, and one soon after the change."""
    one, two = make_stream(3_000, 5, "pairs"), make_stream(3_000, 6, "turns")
    later = one.time_us[-1] + 1 + two.time_us
    columns = {name: np.concatenate([getattr(one, name), getattr(two, name)]) for name in ("op", "offset", "size")}
    joined = replace(one, time_us=np.concatenate([one.time_us, later]), volume=Coded.constant("vda", 6_000), **columns)
    cache = TurnsCache(Rcrnn(), folder)
    cache.simulated(bench_of(joined), 400)
    (turns,) = cache.turns
    assert turns.takeovers >= 2 and min(turns.decided["pairs"], turns.decided["turns"]) > 0.3


def test_one_category_throughout_is_its_bundle(folder, bench):
    cache = TurnsCache(Rcrnn("turns"), folder)
    found, want = (
        run.values()
        for run in (cache.run(bench, CAPACITY, 3.0), run_bundle(bench, folder / "caching.turns.lstm1x8", CAPACITY, 3.0))
    )
    assert {name: found[name] for name in ROW} == {name: want[name] for name in ROW}
    assert (found["policy"], found["kind"]) == ("rcrnn(category=turns)", "model")
    (turns,) = cache.turns
    assert (turns.decided, turns.takeovers) == ({"turns": 1.0}, 0)
    assert turns.words() == "rcrnn(category=turns) at 40 pages: turns 100\u00a0% of all requests; 0 takeovers"


def test_of_several_models_of_a_category_the_first_by_name_decides(folder, bench, tmp_path):
    shutil.copytree(folder, tmp_path / "own")
    changed(tmp_path / "own/caching.turns.other", "turns", 0.9, 2.0)
    runs = [TurnsCache(Rcrnn("turns"), own).run(bench, CAPACITY).hits for own in (folder, tmp_path / "own")]
    assert runs[0] == runs[1]


def test_what_is_missing_is_named_in_a_line(folder, bench, tmp_path, monkeypatch):
    own = tmp_path / "own"
    shutil.copytree(folder, own)
    shutil.rmtree(own / "caching.turns.lstm1x8")
    said = {
        Rcrnn(): "has no caching bundle of turns, which rcrnn needs; it has pairs; make repro exports them",
        Rcrnn("web"): r"has no caching bundle of web, which rcrnn\(category=web\) needs; it has pairs",
    }
    for asked, message in said.items():
        with pytest.raises(ConfigError, match=message):
            TurnsCache(asked, own)
    shutil.rmtree(own / "workload.lstm8")
    with pytest.raises(ConfigError, match=r"has no workload bundle.*; make repro exports it, or give a category"):
        TurnsCache(Rcrnn(), own)
    TurnsCache(Rcrnn("pairs"), own)
    with pytest.raises(ConfigError, match="no such folder"):
        turns_of([Rcrnn()], tmp_path / "nowhere", Options())
    with pytest.raises(ConfigError, match="rcrnn: models/bundles is not here; make repro exports it"):
        TurnsCache(Rcrnn(), None)
    for options in (Options(writes="around"), Options(unit="request"), Options(page_bytes=8192)):
        with pytest.raises(ConfigError, match=r"rcrnn's cache writes back .* where there is --policy rcrnn"):
            turns_of([Rcrnn()], folder, options)
    with pytest.raises(CachezooError):
        TurnsCache(Rcrnn(), folder).simulated(bench, 0)
