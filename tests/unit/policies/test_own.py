"""Parts of one's own: equal to their compiled twins, and refused in a line where they go wrong."""

from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.admissions import ACCEPT_ALL
from cachezoo.policies.components import Composition
from cachezoo.policies.engine import simulate
from cachezoo.policies.evictions.classics import eviction_by_rank
from cachezoo.policies.own import INPUTS, inputs, named
from cachezoo.policies.registry import policy
from cachezoo.policies.simulate import Simulator
from cachezoo.policies.stream import Stream
from cachezoo.traces.pages import expand_pages
from tests.command_line import run
from tests.unit.policies.test_compositions import trace_of_pages

MODULE = '''
class LRU:
    """The page used longest ago leaves."""

    def __init__(self, capacity):
        self.pages = {}

    def hit(self, page):
        del self.pages[page]
        self.pages[page] = None

    def miss(self, page):
        self.pages[page] = None

    def evict(self):
        page = next(iter(self.pages))
        del self.pages[page]
        return page

class Reads:
    def __init__(self, capacity):
        pass

    def admit(self, page):
        return page % 2 == 0

def small(requests):
    return requests["bytes"] <= 4096

def wrong(requests):
    return requests["nothing"]

number = 7
'''


class Lru:
    """The page used longest ago leaves."""

    def __init__(self, capacity):
        self.pages = OrderedDict()

    def hit(self, page):
        self.pages.move_to_end(page)

    def miss(self, page):
        self.pages[page] = None

    def evict(self):
        return self.pages.popitem(last=False)[0]


class Fifo(Lru):
    def hit(self, page):
        pass


class Mru(Lru):
    def evict(self):
        return self.pages.popitem()[0]


class Stubborn(Lru):
    def evict(self):
        return -7


class Broken(Lru):
    def miss(self, page):
        raise KeyError("gone")


def most_recent(page, i, count, last, entered):
    return -float(i)


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "mymodule_of_tests.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    return "mymodule_of_tests"


def outcomes(text, stream, capacity):
    return policy(text).simulate(stream, capacity).outcome.tolist()


@settings(max_examples=12)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(1, 8))
def test_a_class_counts_as_its_compiled_twin(ids, capacity):
    stream = Stream.of_pages(ids, 10)
    assert outcomes(named(Lru), stream, capacity) == outcomes("lru", stream, capacity)
    assert outcomes(named(Fifo), stream, capacity) == outcomes("fifo", stream, capacity)
    twin = Composition(eviction_by_rank("mru", "most recent", most_recent), ACCEPT_ALL)
    assert outcomes(named(Mru), stream, capacity) == simulate(twin, stream, capacity).outcome.tolist()
    hits = policy(named(Lru)).hits(stream.page_ids, 10, capacity)
    assert hits.tolist() == policy("lru").hits(stream.page_ids, 10, capacity).tolist()


def trace(rows=600, writes=0.3):
    rng = np.random.default_rng(3)
    return trace_of_pages(rng.zipf(1.3, rows) % 90, rng.random(rows) < writes, rng.integers(1, 4, rows))


def ran(text, **more):
    own = trace()
    return Simulator(own, expand_pages(own), **more).run(text, 20, 100)


@pytest.mark.parametrize("text", ["{}", "coinflip(p=0.3)+{}", "{}+next(n=2)", "rejectx + {} + next(n=2)"])
@pytest.mark.parametrize("writes", ["back", "around"])
def test_it_goes_with_the_zoos_other_parts(text, writes):
    found, twin = ran(text.format(named(Lru)), writes=writes), ran(text.format("lru"), writes=writes)
    for name in ("hits", "ssd_writes", "replacements", "dirty_evictions", "prefetched", "byte_hits"):
        assert getattr(found, name) == getattr(twin, name), name


def test_a_module_and_a_file_are_found_in_the_working_folder(module):
    assert ran(f"{module}:LRU").hits == ran(f"./{module}.py:LRU").hits == ran("lru").hits
    assert policy(f" {module}:LRU ").id == f"{module}:LRU"
    assert policy(f"{module}:LRU").title == "The page used longest ago leaves."


def test_a_path_may_have_blanks_and_a_docstring_no_words(module, tmp_path):
    (tmp_path / "my parts").mkdir()
    (tmp_path / "my parts" / "own.py").write_text(MODULE.replace("The page used longest ago leaves.", " "))
    text = "rejectx + ./my parts/own.py:LRU + next(n=2)"
    assert ran(text).hits == ran("rejectx+lru+next(n=2)").hits
    assert policy(text).title == "one's own"


def test_an_admission_is_a_class_or_a_function_of_all_requests(module):
    class Never:
        def __init__(self, capacity):
            pass

        def admit(self, page):
            return False

    assert ran(named(Never)).hits == 0 == ran(named(lambda requests: np.zeros(len(requests)))).hits
    assert ran(named(lambda requests: np.ones(len(requests), bool))).hits == ran("lru").hits
    assert 0 < ran(f"{module}:small+arc").hits != ran("arc").hits
    assert 0 < ran(f"{module}:Reads+{module}:LRU").hits == ran(f"{module}:Reads").hits


def test_a_forest_decides_by_the_inputs_that_it_names():
    import lightgbm

    own = trace()
    frame = inputs(own, expand_pages(own))
    assert list(frame.columns) == list(INPUTS) and len(frame) == len(own)
    chosen = frame[["count", "bytes"]]
    data = lightgbm.Dataset(chosen, label=(frame["bytes"] > 4096).astype(float), free_raw_data=False)
    booster = lightgbm.train({"objective": "binary", "verbosity": -1, "num_threads": 1, "seed": 1}, data, 5)
    wanted = booster.predict(chosen) >= 0.5
    assert 0 < wanted.sum() < len(wanted)
    assert ran(named(booster)).hits == ran(named(lambda requests: wanted)).hits

    class Foreign:
        feature_name = staticmethod(lambda: ["moon"])
        predict = staticmethod(lambda rows: rows)

    with pytest.raises(ConfigError, match="its inputs moon are unknown; known are gap"):
        ran(named(Foreign()))


WRONG = {
    "nowhere_at_all:MRU": "nowhere_at_all cannot be imported: ModuleNotFoundError",
    "./none.py:MRU": "no such file",
    "{module}:Nothing": "has no Nothing; its classes are LRU, Reads",
    "{module}:number": "is no part of a cache",
    "arc+{module}:LRU": "a cache has one eviction",
    "coinflip+{module}:small": "a cache has one admission",
    "{module}:wrong": "KeyError in .*: 'nothing'",
    "belady+{module}:small": "which no cache is composed of",
    "own:nobody": "own cannot be imported",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_told(text, module):
    with pytest.raises(ConfigError, match=WRONG[text]):
        ran(text.format(module=module))


@pytest.mark.parametrize(
    ("part", "says"),
    [(Stubborn, r"evict\(\) gave -7, which the cache does not hold"), (Broken, "KeyError in test_own.py, line")],
)
def test_code_that_fails_is_named_with_its_line(part, says):
    with pytest.raises(ConfigError, match=says):
        ran(named(part))


def test_what_decides_by_requests_has_no_curve(module):
    with pytest.raises(ConfigError, match="it decides by the requests of a trace"):
        policy(f"{module}:small").hits(np.zeros(3, np.int32), 1, 1)


def test_the_command_line_runs_it(module, tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("time_us,op,offset,size\n" + "".join(f"{k},R,{4096 * (k * k % 37)},4096\n" for k in range(400)))
    found = run("simulate", file, "--policy", f"{module}:LRU", "--policy", "lru", "--size", "9p", "--json").stdout
    import json

    own, twin = (row["hits"] for row in json.loads(found)["runs"])
    assert own == twin > 0
    shown = run("compare", file, "--policy", f"{module}:LRU", "--size", "9p", "--workers", "1").stdout
    assert f"{module}:LRU" in shown
    refused = run("simulate", file, "--policy", f"{module}:Nothing", ok=False)
    assert refused.stderr.startswith("cachezoo: policy ") and len(refused.stderr.splitlines()) == 1


def test_a_name_is_of_one_object_alone():
    first, second = (type("Twin", (Lru,), {}) for _ in range(2))
    assert named(first) == named(first) != named(second)
    taken = type("Twin_3", (Lru,), {})
    assert len({named(own) for own in (taken, first, second, type("Twin", (Lru,), {}))}) == 4
    assert np.mean(policy(named(first)).simulate(Stream.of_pages([0, 0], 1), 1).outcome == HIT) == 0.5
