"""Requests of libCacheSim's readers as traces, and the runtime as its plug-in, with a stand-in and the real package."""

from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np
import pytest

import cachezoo as cz
from cachezoo.api.libcachesim import plugin
from cachezoo.bundles.classic import write_policy
from cachezoo.errors import ConfigError
from cachezoo.runtime import abi
from cachezoo.traces.objects import ObjectTrace
from cachezoo.traces.table import Trace
from tests.c_library import make

Op = Enum("Op", ["OP_NOP", "OP_GET", "OP_SET", "OP_DELETE", "OP_INVALID"])
HELD = 40


@dataclass(frozen=True)
class Request:
    obj_id: int
    obj_size: int = 1
    op: Op = Op.OP_GET
    clock_time: int = 0
    ttl: int = 0
    valid: bool = True


class Reader:
    """Gives requests, goes on where it was, and begins again after the last, as libCacheSim's own readers do."""

    def __init__(self, requests: list[Request]) -> None:
        self.requests, self.place = requests, 0

    def reset(self) -> None:
        self.place = 0

    def read_one_req(self) -> Request:
        self.place += 1
        return self.requests[(self.place - 1) % len(self.requests)]

    def __iter__(self) -> "Reader":
        self.place = 0
        return self

    def __next__(self) -> Request:
        if self.place >= len(self.requests):
            raise StopIteration
        return self.read_one_req()


class Package:
    """What of the package a plug-in needs: its cache calls the functions in the order of the real one."""

    class PluginAdmissioner:
        def __init__(self, **given: Any) -> None:
            self.admit, self.data = given["admissioner_admit_hook"], given["admissioner_init_hook"]()

    class PluginCache:
        made: ClassVar[list[str]] = []

        def __init__(self, admissioner: Any = None, **given: Any) -> None:
            self.hooks = {name.split("_")[1]: value for name, value in given.items() if name.endswith("_hook")}
            self.size, self.admissioner = given["cache_size"], admissioner
            self.data, self.held = self.hooks["init"](None), dict[int, int]()
            self.made.append(given["cache_name"])

        def get(self, request: Request) -> bool:
            if request.obj_id in self.held:
                self.hooks["hit"](self.data, request)
                return True
            if self.admissioner is None or self.admissioner.admit(self.admissioner.data, request):
                while sum(self.held.values()) + request.obj_size > self.size:
                    del self.held[self.hooks["eviction"](self.data, request)]
                self.held[request.obj_id] = request.obj_size
            self.hooks["miss"](self.data, request)
            return False

        def remove(self, obj_id: int) -> None:
            if self.held.pop(obj_id, None) is not None:
                self.hooks["remove"](self.data, obj_id)

        def _process_trace_python(self, reader: Reader, start_req: int, max_req: int) -> tuple[float, float]:
            del start_req, max_req
            missed = float(np.mean([not self.get(request) for request in reader.requests]))
            return missed, missed

        def process_trace(self, reader: Reader) -> tuple[float, float]:
            return self._process_trace_python(reader, 0, -1)


def ids(n: int = 3000) -> np.ndarray:
    return np.random.default_rng(11).zipf(1.2, n) % 300


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    return make(tmp_path_factory, "all")


@pytest.fixture
def library(built, monkeypatch):
    monkeypatch.setenv(abi.VARIABLE, str(built / "libcachezoo.so.1"))


def test_a_readers_requests_are_of_objects():
    reader = Reader(
        [Request(7, 100, clock_time=5), Request(2**63 + 1, 0, Op.OP_SET, 6, 30), Request(7, 100, Op.OP_DELETE, 9)]
    )
    reader.place = 2
    trace = cz.read(reader, name="theirs", quiet=True)
    assert isinstance(trace, ObjectTrace) and trace.meta.trace_id == "theirs" and reader.place == 0
    assert (trace.time_us.tolist(), trace.op.tolist()) == ([0, 1_000_000, 4_000_000], [0, 1, 2])
    assert (trace.key.tolist(), trace.size.tolist()) == ([7, 1 - 2**63, 7], [100, 0, 100])
    assert trace.ttl_s is not None and trace.ttl_s.tolist() == [0, 30, 0]


def test_a_readers_ids_are_addresses_where_columns_say_so():
    reader = Reader([Request(8, 4096), Request(0, 512, Op.OP_SET)])
    trace = cz.read(reader, columns="time=clock_time:s,offset=obj_id:512,size=obj_size,op=op", quiet=True)
    assert isinstance(trace, Trace) and trace.offset.tolist() == [4096, 0] and trace.op.tolist() == [0, 1]


def test_what_a_reader_cannot_have_is_refused():
    with pytest.raises(ConfigError, match="object 3 has the op INVALID"):
        cz.read(Reader([Request(3, op=Op.OP_INVALID)]))


@pytest.mark.slow(seconds=60)
@pytest.mark.parametrize("policy", ["lru", "s3fifo", "coinflip(p=0.5)+lirs", "rejectx+arc"])
def test_a_plugin_hits_what_the_simulator_hits(library, policy):
    cache = plugin(policy, HELD, object_bytes=1).of(Package)
    found = 1 - cache.process_trace(Reader([Request(int(own)) for own in ids()]))[0]
    assert found == pytest.approx(cz.simulate(ids(), policy, f"{HELD}p", count="all").hit_ratio, abs=1e-12)
    assert len(cache.held) <= HELD and Package.PluginCache.made[-1] == policy


def test_a_bundle_is_one_too(library, tmp_path):
    path, _ = write_policy("rejectx+lru", tmp_path / "policy.rejectx-lru")
    with pytest.raises(ConfigError, match="addresses=True"):
        plugin(path, HELD * 4096)
    cache = plugin(path, HELD * 4096, addresses=True).of(Package)
    found = 1 - cache.process_trace(Reader([Request(int(own), 4096) for own in ids()]))[0]
    assert found == pytest.approx(cz.simulate(ids(), "rejectx+lru", f"{HELD}p", count="all").hit_ratio, abs=1e-12)


def test_what_is_removed_is_gone(library):
    cache = plugin("lru", 2, object_bytes=1).of(Package)
    assert [cache.get(Request(own)) for own in (1, 2)] == [False, False]
    cache.remove(1)
    assert [cache.get(Request(own)) for own in (3, 2, 1, 3, 2)] == [False, True, False, False, False]


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: plugin("lruu", 9, object_bytes=1), "lruu is unknown"),
        (lambda: plugin("lru+next(n=4)", 9, object_bytes=1), "leave the prefetch out"),
        (lambda: plugin("optimum", 9, object_bytes=1), "optimum"),
        (lambda: plugin("lru", 9), "holds no object of 4096"),
        (lambda: plugin("lru", 9, object_bytes=1).of(Package).get(Request(1, 2)), "has 2 bytes and not 1"),
        (lambda: plugin("lru", 9, object_bytes=1).of(Package).get(Request(1, op=Op.OP_DELETE)), "no deletes"),
        (
            lambda: [
                Package.PluginCache(**plugin("coinflip(p=0.0)+lru", 1, object_bytes=1).cache).get(Request(own))
                for own in (1, 2)
            ],
            "is not let in",
        ),
    ],
)
def test_what_no_plugin_can_do_is_refused(library, ask, says):
    with pytest.raises(ConfigError, match=says):
        ask()


def test_the_package_itself_agrees(library):
    lcs = pytest.importorskip("libcachesim")
    reader = lcs.SyntheticReader(3000, obj_size=1, num_objects=500, seed=3)
    trace = cz.read(reader, quiet=True)
    assert trace.key.tolist() == [request.obj_id for request in reader]
    for policy in ("lru", "coinflip(p=0.5)+lru"):
        found = 1 - plugin(policy, HELD, object_bytes=1).of(lcs).process_trace(reader)[0]
        pages = np.unique(trace.key, return_inverse=True)[1]
        assert found == pytest.approx(cz.simulate(pages, policy, f"{HELD}p", count="all").hit_ratio, abs=1e-12)
