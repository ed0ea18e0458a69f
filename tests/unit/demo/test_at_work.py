"""The demo's caches for real: what is promised by the simulation is what the cache does, in each mode."""

import pytest

from cachezoo.demo import in_process, mounted
from cachezoo.demo.answer import promised
from cachezoo.demo.replay import fill, replay
from cachezoo.demo.workload import PAGES, database
from cachezoo.serve import found
from cachezoo.traces.pages import expand_pages
from tests.c_library import make

REQUESTS, CAPACITY = 1_500, 256
MODES = ("around", "through", "back")
POLICIES = ("lru", "lirs", "rejectx(x=1)+s3fifo")

pytestmark = pytest.mark.needs("gcc")


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    return make(tmp_path_factory, "lib") / "libcachezoo.so.1"


@pytest.fixture(scope="session")
def filter_file(tmp_path_factory):
    return make(tmp_path_factory, "filter") / found.FILTER


def share(serve, policy, mode, folder):
    """The hits of a replay, every byte of which is checked."""
    fill(folder / "disk", PAGES)
    with serve(policy, CAPACITY, mode, folder / "disk", folder / "ssd", 0.0) as served:
        return replay(served, database(REQUESTS), PAGES).counted.share


def said(policy, mode):
    trace = database(REQUESTS)
    return promised(trace, expand_pages(trace), policy, CAPACITY, mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("policy", POLICIES)
def test_in_this_process_hits_are_the_promised_ones(policy, mode, library, tmp_path, monkeypatch):
    monkeypatch.setenv("CACHEZOO_LIBRARY", str(library))
    assert share(in_process.cached, policy, mode, tmp_path) == pytest.approx(said(policy, mode), abs=1e-12)


@pytest.mark.needs("nbdkit")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("policy", POLICIES)
def test_by_nbdkit_hits_are_the_promised_ones(policy, mode, filter_file, tmp_path, monkeypatch):
    monkeypatch.setattr(found, "filter_file", lambda given: str(filter_file))
    assert mounted.possible()
    assert share(mounted.mounted, policy, mode, tmp_path) == pytest.approx(said(policy, mode), abs=1e-12)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["disk"]
