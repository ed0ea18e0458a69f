"""A cache of classics in C: the text, every outcome and every page that leaves are the simulator's."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import ADMITTED, HIT, WRITE
from cachezoo.policies.engine import simulate
from cachezoo.policies.prefetches import prefetched_stream
from cachezoo.policies.spec import parse
from cachezoo.policies.stream import Stream
from cachezoo.traces.pages import capacity_pages, expand_pages
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import Trace, TraceMeta
from tests.c_library import make

pytestmark = pytest.mark.needs("gcc")
PROGRAM = "policy_run"
CAPTURED = Path(__file__).parents[3] / "data/raw/captured"
GOLDEN = Path(__file__).parents[3] / "tests/golden/protocol2"
WRITES = ("around", "through", "back")  # enum cz_writes, from 1
EVICTIONS = ("arc", "clock", "fifo", "inlfu", "larc", "lfu", "lirs", "lru", "s3fifo", "sieve", "twoq", "wtinylfu")
OTHERS = (
    "clock(bits=3, initial=2)", "lirs(hir=0.3, stack=1.2)", "lirs(hir=1)", "s3fifo(small=0.5, ghost=0, promote=1)",
    "s3fifo(ghost=0.2)", "twoq(kin=1, kout=0.1)", "twoq(kin=0, kout=3)",
    "wtinylfu(window=0.4, protected=0.3, sample=1)", "wtinylfu(protected=1)",
)  # fmt: skip
ADMISSIONS = ("", "coinflip(p=0.3, seed=7)+", "rejectx+", "rejectx(window_capacities=0.7, x=2)+")
NEXT = ("", "+next(n=3)")


def run(program, *words, given):
    done = subprocess.run([program, *words], input=given, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def rows_of(trace):
    return np.stack([trace.volume.codes.astype(np.int64), trace.op.astype(np.int64), trace.offset, trace.size], axis=1)


def served(program, text, trace, capacity, writes, keys=0):
    """What C did at each access, int64[m, 4], and keys, forgotten and bytes at the end."""
    head = np.array([capacity, keys, 1 + WRITES.index(writes)], np.int64)
    out = np.frombuffer(run(program, "access", text, given=head.tobytes() + rows_of(trace).tobytes()), np.int64)
    table = out.reshape(-1, 4)
    return table[:-1], table[-1, :3]


def dirty_victims(stream, outcome, victim):
    """bool[m]: naively, whether the page evicted was written since it entered."""
    dirty, found = set(), np.zeros(len(victim), np.bool_)
    for i, (page, left) in enumerate(zip(stream.page_ids.tolist(), victim.tolist(), strict=True)):
        found[i] = left in dirty
        dirty.discard(left)
        if stream.flags[i] & WRITE and outcome[i] in (HIT, ADMITTED):
            dirty.add(page)
    return found


def same_as_simulated(program, text, trace, capacity, writes, most_keys=1 << 19):
    spec, pages = parse(text), expand_pages(trace)
    stream = prefetched_stream(trace, pages, spec.plan(trace, pages), writes)
    wanted = simulate(spec.composition(), stream, capacity)
    got, _ = served(program, text, trace, capacity, writes, max(most_keys, 110 * capacity))
    assert len(got) == len(stream)
    np.testing.assert_array_equal(got[:, 3] & 0xFF, wanted.outcome)
    # The simulator's ids are versions of pages: of each its page, as C names it.
    page_of = np.full((stream.n_pages, 2), -1, np.int64)
    page_of[stream.page_ids, 0] = got[:, 0]
    page_of[stream.page_ids, 1] = trace.volume.codes[stream.request_of]
    gone = wanted.victim >= 0
    np.testing.assert_array_equal(got[:, 1] >= 0, gone)
    np.testing.assert_array_equal(got[gone][:, [1, 2]], page_of[wanted.victim[gone]])
    dirty = dirty_victims(stream, wanted.outcome, wanted.victim) if writes == "back" else np.zeros(len(got), np.bool_)
    np.testing.assert_array_equal(got[:, 3] >> 8 & 1, dirty)


def drawn(seed, requests, pages, volumes=1, longest=6):
    """Requests over few pages, of one page up to `longest`: hot ones, loops and scans."""
    draws = np.random.default_rng(seed)
    hot = np.minimum(draws.zipf(1.4, requests), pages) - 1
    loop = np.arange(requests) % max(1, pages // 2)
    first = np.where(draws.random(requests) < 0.5, hot, loop)
    count = np.where(draws.random(requests) < 0.6, 1, draws.integers(1, longest + 1, requests))
    at = draws.integers(0, 4096, requests)
    return Trace(
        np.arange(requests, dtype=np.int64), (draws.random(requests) < 0.4).astype(np.uint8),
        first * 4096 + at, np.maximum(1, count * 4096 - at),
        Coded(draws.integers(0, volumes, requests).astype(np.int32), tuple(f"v{k}" for k in range(volumes))),
        TraceMeta("drawn", "web", "test", "0" * 64),
    )  # fmt: skip


def hashes_numbers_of_the_whole_trace(text, writes):
    """W-TinyLFU's sketch hashes page ids; with a prefetch the simulator's are known once the whole trace is."""
    return "wtinylfu" in text and "next" in text and writes != "around"


@pytest.mark.parametrize("eviction", (*EVICTIONS, *OTHERS))
@given(
    seed=st.integers(0, 2**32 - 1), capacity=st.integers(1, 40), writes=st.sampled_from(WRITES),
    admitted=st.booleans(), ahead=st.sampled_from(NEXT),
)  # fmt: skip
def test_a_small_cache_does_what_the_simulator_does(program, eviction, seed, capacity, writes, admitted, ahead):
    # One admission for each eviction: numba compiles a loop for every pair.
    admission = "" if admitted else ADMISSIONS[1 + (*EVICTIONS, *OTHERS).index(eviction) % 3]
    text = admission + eviction + ahead
    if hashes_numbers_of_the_whole_trace(text, writes):
        text = admission + eviction
    same_as_simulated(program, text, drawn(seed, 250, 60, 2), capacity, writes, 4000)


@pytest.mark.parametrize("text", ["s3fifo", "rejectx+arc+next(n=4)", "coinflip(p=0.4)+lirs", "lfu"])
def test_a_captured_trace_does_in_c_what_it_does_in_the_simulator(program, text):
    trace = read_trace(CAPTURED / "web_test.parquet").rows(0, 8000)
    for writes in WRITES:
        same_as_simulated(program, text, trace, capacity_pages(0.1, expand_pages(trace).n_pages), writes)


def beginning(trace, accesses):
    """The requests that have so many page accesses at most."""
    return trace.rows(0, int(np.searchsorted(expand_pages(trace).request_start[1:], accesses, "right")))


# Page accesses of a trace: a tenth of a million of four, and of every trace half a million in test-long.
CAPTURES = [
    *((name, 100_000) for name in ("database_mariadb", "fileserver_test", "mail_test", "web_test")),
    *(pytest.param(path.stem, 500_000, marks=pytest.mark.long) for path in sorted(CAPTURED.glob("*.parquet"))),
]


@pytest.mark.slow(seconds=900)
@pytest.mark.parametrize(("trace", "accesses"), CAPTURES)
def test_every_captured_trace_does_in_c_what_it_does_in_the_simulator(built_program, trace, accesses):
    table = beginning(read_trace(CAPTURED / f"{trace}.parquet"), accesses)
    n_pages = expand_pages(table).n_pages
    for k, eviction in enumerate(EVICTIONS):
        for admission in ("", ADMISSIONS[1 + k % 3]):
            for fraction, writes in ((0.01, WRITES[k % 3]), (0.1, WRITES[(k + 1) % 3])):
                text = admission + eviction + NEXT[(k + len(admission)) % 2]
                if not hashes_numbers_of_the_whole_trace(text, writes):
                    same_as_simulated(built_program, text, table, capacity_pages(fraction, n_pages), writes, 1 << 22)


@pytest.fixture(scope="module")
def built_program(tmp_path_factory, built):
    """The program as it is installed, without the sanitizers."""
    return make(tmp_path_factory, f"tests/{PROGRAM}") / f"tests/{PROGRAM}"


# ---- little memory ----


@pytest.mark.parametrize("text", ["rejectx+lru", "lfu", "wtinylfu", "rejectx(x=3)+lirs+next(n=2)"])
def test_a_table_that_is_too_small_forgets_and_goes_on(program, text):
    trace = drawn(3, 3000, 900)
    wanted, (_, forgotten, _) = served(program, text, trace, 20, "back", 5000)
    assert forgotten == 0
    got, (keys, forgotten, _) = served(program, text, trace, 20, "back", 60)
    assert keys <= 60
    assert forgotten > 0
    assert len(got) == len(wanted)


@pytest.mark.parametrize("text", ["lru", "s3fifo", "arc", "larc", "lirs", "twoq", "lfu", "rejectx+lru"])
def test_memory_is_taken_when_it_is_made_and_is_no_more_for_more_requests(program, text):
    sizes = {served(program, text, drawn(5, n, 40), 30, "around")[1][2] for n in (1, 2000)}
    assert len(sizes) == 1


def test_a_stream_says_how_many_pages_it_must_remember(program):
    with pytest.raises(
        AssertionError, match="max_keys 30: a cache of 20 pages remembers 42 to 1073741823 pages; or give 0"
    ):
        served(program, "arc", drawn(1, 10, 10), 20, "back", 30)
    with pytest.raises(AssertionError, match="capacity 0: a cache of kind policy has 1 to 536870912 pages"):
        served(program, "arc", drawn(1, 10, 10), 0, "back")


# ---- the cache and a device ----


def by_cache(program, text, capacity, writes, rows, keys=0):
    """What `policy_run cache` gives of rows (what, volume, op or slot, page, pages), a list for each; its counters."""
    table = np.array(rows, np.int64).reshape(-1, 5)
    table[:, 3:] *= 4096
    head = np.array([capacity, keys, WRITES.index(writes) + 1], np.int64)
    out = np.frombuffer(run(program, "cache", text, given=head.tobytes() + table.tobytes()), np.int64).tolist()
    found, at = [], 0
    for what, _, _, _, size in rows:
        n = size + 1 if what == REQUEST else 1
        found.append(out[at : at + n])
        at += n
    assert out[at] == -1
    return found, out[at + 1 :]


REQUEST, DROP, PUT = range(3)


class Lru:
    """Naively, an LRU cache in which a page that was dropped takes up room until it is evicted."""

    def __init__(self, capacity):
        self.capacity, self.held = capacity, []  # the most recent last; None: a page that was dropped

    def read(self, page):
        if page in self.held:
            self.held.remove(page)
            self.held.append(page)
            return 2
        if len(self.held) == self.capacity:
            self.held.pop(0)
        self.held.append(page)
        return 1

    def drop(self, page):
        if page not in self.held:
            return 0
        self.held[self.held.index(page)] = None
        return 1


row = st.tuples(
    st.sampled_from([REQUEST, REQUEST, REQUEST, DROP]), st.integers(0, 1), st.integers(0, 1), st.integers(0, 12),
    st.integers(1, 4),
)  # fmt: skip


@given(rows=st.lists(row, max_size=80), capacity=st.integers(1, 9), writes=st.sampled_from(WRITES))
def test_drops_and_writes_around_do_what_a_naive_lru_cache_does(program, rows, capacity, writes):
    cache = Lru(capacity)
    wanted = []
    for what, volume, op, first, count in rows:
        pages = [(volume, first + k) for k in range(count)]
        if what == DROP:
            wanted.append([sum(cache.drop(page) for page in pages)])
        elif op and writes == "around":
            wanted.append([cache.drop(page) * 0 for page in pages] + [0])
        else:
            wanted.append([cache.read(page) for page in pages] + [0])
    assert by_cache(program, "lru", capacity, writes, rows)[0] == wanted


@pytest.mark.parametrize("eviction", EVICTIONS)
@given(
    rows=st.lists(row, max_size=120), capacity=st.integers(1, 12), writes=st.sampled_from(WRITES),
    held=st.lists(st.integers(0, 14), unique=True, max_size=9), ahead=st.sampled_from(NEXT), data=st.data(),
)  # fmt: skip
def test_every_slot_holds_the_page_that_the_cache_says(program, eviction, rows, capacity, writes, held, ahead, data):
    slots = data.draw(st.permutations(range(capacity)))
    puts = [(PUT, 0, slot, page, 1) for slot, page in zip(slots, held, strict=False)]
    found, _ = by_cache(program, f"rejectx+{eviction}{ahead}", capacity, writes, puts + rows)
    assert found[: len(puts)] == [[0]] * len(puts)
    late = [(REQUEST, 0, 0, page, 1) for page in held[: len(puts)]]
    found, _ = by_cache(program, f"rejectx+{eviction}", capacity, writes, puts + late)
    assert [one[0] for one in found[len(puts) :]] == [2] * len(puts)


@pytest.mark.parametrize("writes", WRITES)
@pytest.mark.parametrize("bundle", ["reuse.follow", "caching.database.lstm1x8"])
def test_slots_of_a_models_page_cache_hold_what_it_says_too(program, bundle, writes):
    """Drops, writes of every kind, and pages that a device held: the program keeps a device of its own."""
    draws = np.random.default_rng(7)
    held = draws.permutation(40)[:16].tolist()
    slots = draws.permutation(30)[:16].tolist()
    puts = [(PUT, 0, slot, page, 1) for slot, page in zip(slots, held, strict=True)]
    path = str(GOLDEN / bundle)
    rows = [*puts, (PUT, 0, slots[0], 99, 1), *((REQUEST, 0, 0, page, 1) for page in held)]
    for _ in range(1500):
        what, op = (DROP, 0) if draws.random() < 0.1 else (REQUEST, int(draws.random() < 0.3))
        rows.append((what, int(draws.random() < 0.2), op, int(draws.integers(0, 60)), int(draws.integers(1, 5))))
    found, _ = by_cache(program, path, 30, writes, rows, 40_000)
    assert found[:17] == [[0]] * 16 + [[2]]
    assert [one[0] for one in found[17:33]] == [2] * 16
    if writes == "around":
        written = [one for one, row in zip(found, rows, strict=True) if row[0] == REQUEST and row[2]]
        assert not any(map(any, written))
    hits, _, _, evicted = by_cache(program, path, 30, writes, rows, 40_000)[1]
    assert hits > 100
    assert evicted > 100


def test_a_unit_is_not_put_twice_nor_into_a_slot_that_is_taken(program):
    rows = [(PUT, 0, 2, 5, 1), (PUT, 0, 2, 6, 1), (PUT, 0, 1, 5, 1), (PUT, 0, 4, 7, 1), (REQUEST, 0, 0, 5, 1)]
    found, _ = by_cache(program, "s3fifo", 4, "around", [*rows, (PUT, 0, 0, 9, 1)])
    assert found == [[0], [2], [2], [2], [2, 0], [2]]


def test_the_counters_are_those_of_the_requests(program):
    rows = [(REQUEST, 0, 0, page, 1) for page in (1, 2, 1, 9, 3, 9)]
    _, counters = by_cache(program, "lru+next(n=2)", 4, "back", rows)
    found, _ = by_cache(program, "lru+next(n=2)", 4, "back", rows)
    assert counters[0] == sum(one[0] == 2 for one in found)
    assert counters[1] == sum(one[0] == 1 for one in found)
    assert counters[2] == sum(one[1] for one in found)


# ---- texts ----

TAKEN = (
    *EVICTIONS, *OTHERS, "rejectx", " rejectx ( x = 2 ) + lirs + next ( n=4 )", "acceptall+lru+none", "next",
    "coinflip",
    "twoq(kin=1e-1, kout=+.5)", "next(n=8)", "rejectx(window_capacities=123456.789)", "wtinylfu(sample=1e1)",
    "lirs(hir=0.333333333333333314829616256247, stack=1e2)", "coinflip(p=1e-07)+fifo", "lru(  )", "coinflip(p=-0)",
    "clock(bits=7, initial=127)", "lirs(hir=0.00001)",
)  # fmt: skip
REFUSED = (
    "", " ", "+", "lru+", "+lru", "nothing", "LRU", "lru+arc", "lru+rejectx", "next+lru", "rejectx+coinflip+lru",
    "s3fifo(small=2)", "s3fifo(small)", "s3fifo(small=)", "s3fifo(=1)", "s3fifo(big=1)", "s3fifo(small=nan)",
    "s3fifo(promote=1.5)", "s3fifo(small=0.1, small=0.2)", "s3fifo(small=0.1,)", "s3fifo(small=1_0)", "lru(x=1)",
    "s3fifo(small=0x1)", "s3fifo(small=1e999)", "next(n=-1)", "next(n=65537)", "rejectx(x=65)", "lru)", "lru(",
    "lru()x",
    "lru((", "lru,arc", "lru arc", "lru\x01", "lr\u00fc", "s3fifo(small=1e)",
)  # fmt: skip
SIMULATED = (
    "bloom+lru", "lrfu", "marc", "azor", "hystor", "reca", "cacheus", "belady", "follow(experts=lru|arc)",
    "vrm(queue=arc)",
    "wtinylfu(libcachesim=1)",
)  # fmt: skip


def read_by_c(program, texts):
    return run(program, "parse", given="".join(f"{text}\n" for text in texts).encode()).decode().splitlines()


def test_a_text_is_read_and_written_as_the_simulator_does(program):
    assert read_by_c(program, TAKEN) == [str(parse(text)) for text in TAKEN]


def test_a_text_that_names_no_cache_is_refused_in_one_line_by_both(program):
    for text, line in zip(REFUSED, read_by_c(program, REFUSED), strict=True):
        assert line.startswith("! policy")
        with pytest.raises(ConfigError):
            parse(text)


def test_a_counter_that_its_bits_do_not_hold_is_refused_before_a_cache_is_made(program):
    (line,) = read_by_c(program, ["clock(bits=2, initial=4)"])
    assert line == "! policy clock(bits=2, initial=4): clock: initial = 4 does not fit into bits = 2; take at most 3"
    with pytest.raises(ConfigError, match="clock: initial = 4 does not fit into bits = 2; take at most 3"):
        simulate(parse("clock(bits=2, initial=4)").composition(), Stream.of_pages(np.zeros(1, np.int32), 1), 1)


def test_what_the_simulator_alone_runs_is_refused(program):
    for text, line in zip(SIMULATED, read_by_c(program, SIMULATED), strict=True):
        assert "in the simulator alone" in line
        parse(text)


values = st.one_of(
    st.integers(0, 20).map(str),
    st.floats(0, 20, allow_nan=False).map(repr),
    st.sampled_from(["1e-3", ".5", "7.", "-1"]),
)
component = st.builds(
    lambda name, given: name + (f"({', '.join(f'{key}={value}' for key, value in given)})" if given else ""),
    st.sampled_from(("acceptall", "coinflip", "rejectx", *EVICTIONS, "none", "next")),
    st.lists(
        st.tuples(st.sampled_from("p seed x small ghost promote kin kout hir stack bits initial n".split()), values),
        max_size=2,
    ),
)


@given(texts=st.lists(st.lists(component, min_size=1, max_size=3).map("+".join), min_size=1, max_size=20))
def test_texts_are_taken_by_both_or_by_neither(program, texts):
    for text, line in zip(texts, read_by_c(program, texts), strict=True):
        try:
            wanted = str(parse(text))
        except ConfigError:
            wanted = None
        if not ("clock" in text and "does not fit into" in line):  # the simulator refuses it as it makes the cache
            assert line.startswith("! ") if wanted is None else line == wanted
