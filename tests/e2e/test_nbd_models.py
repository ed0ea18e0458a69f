"""The mounted cache by bundles of kinds caching and reuse: hits as in the simulator, restarts, reloads and kills."""

import random
import shutil
import subprocess
from dataclasses import dataclass

import numpy as np
import pytest

from cachezoo.bundles import RequestBatch, load
from cachezoo.coded import Coded
from cachezoo.kernels.outcome import ADMITTED, HIT
from cachezoo.kernels.requests import version_ids
from cachezoo.kernels.segments import IdTable
from cachezoo.runtime import abi
from cachezoo.runtime import open as open_model
from cachezoo.seeds import derive_seed
from cachezoo.serving.requests import batch_of
from cachezoo.traces.ingest import ingest
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.read import TraceFiles
from cachezoo.traces.store import read_trace
from tests.bundle_data import reseal
from tests.c_library import make
from tests.caching_turns import CACHING, WORKLOAD, turns
from tests.e2e.test_nbd_control import STORED, UNIT, UNITS, ask, options, read_units, status
from tests.nbd_crashes import run as run_crashes
from tests.nbd_crashes import set_up
from tests.nbd_filter import refused, serve
from tests.nbd_kills import run as run_kills
from tests.oracles.manager import NaiveManager

REUSE = STORED / "reuse.follow"
MODELS = (CACHING, REUSE)
PAGES, ROWS, CAPACITY = 1200, 1500, 256
WRITES = ("around", "through", "back")

pytestmark = pytest.mark.needs("nbdkit", "gcc")


@pytest.fixture
def library(tmp_path_factory, monkeypatch):
    """The library in its own file, for Python."""
    monkeypatch.setenv(abi.VARIABLE, str(make(tmp_path_factory, "all") / "libcachezoo.so.1"))


@pytest.fixture
def folder(tmp_path):
    """With a disk of 1 MiB of random bytes."""
    (tmp_path / "disk").write_bytes(random.Random(derive_seed(0, "disk")).randbytes(UNITS * UNIT))
    return tmp_path


def named(model):
    return model.name.split(".", maxsplit=1)[0]


@dataclass(frozen=True)
class Counted:
    """What the filter counts, of the pages of requests."""

    read_hits: int
    write_hits: int
    admitted: int
    evicted: int | None  # None: what was overwritten leaves without being counted, and the simulator counts it


def counted(batch, start, outcome, evicted):
    """Of outcomes uint8[m] of page accesses, those of request i from start[i] on."""
    write = np.repeat(batch.op, np.diff(start)) == 1
    hit = outcome == HIT
    return Counted(int(np.sum(hit & ~write)), int(np.sum(hit & write)), int(np.sum(outcome == ADMITTED)), evicted)


def reads_of(batch, pages):
    """The reads, and their pages as a cache knows them around which writes go: a written page is another one."""
    write = np.repeat(batch.op, np.diff(pages.request_start)) == 1
    ids, _ = version_ids(pages.page_ids, write, pages.n_pages)
    table, read = IdTable(), batch.op == 0
    counts = np.diff(pages.request_start)[read]
    versions = PageAccesses(
        np.concatenate([[0], np.cumsum(counts)]), table.lookup(ids[~write].astype(np.int64)), table.count
    )
    columns = {name: getattr(batch, name)[read] for name in ("time_us", "op", "offset", "size")}
    return RequestBatch(**columns, volume=Coded.of(["disk"] * int(read.sum()))), versions


def by_reuse(batch, writes):
    pages = batch.pages()
    if writes == "around":
        batch, pages = reads_of(batch, pages)
    run = load(REUSE).serving().run(batch, pages, CAPACITY).followed.run
    return counted(batch, pages.request_start, run.outcome, None if writes == "around" else np.sum(run.victim >= 0))


def decided(batch):
    """The queue for what each request misses, by the library: numpy sums otherwise, and outputs may be close."""
    words = (batch.time_us.tolist(), batch.op.tolist(), batch.offset.tolist(), batch.size.tolist())
    with open_model(CACHING, CAPACITY) as model:
        for at, op, offset, size in zip(*words, strict=True):
            yield model.observe(at, ("read", "write")[op], offset, size, "disk").queue


def by_caching(batch, writes):
    """The naive cache, by the model's decisions."""
    policy, pages = load(CACHING).serving().policy, batch.pages()
    queues = decided(batch if writes != "around" else reads_of(batch, pages)[0])
    naive = NaiveManager(CAPACITY, policy["demote_capacities"] * CAPACITY, policy["protected_percent"], True)
    outcome = []
    for i, op in enumerate(batch.op.tolist()):
        touched = pages.page_ids[pages.request_start[i] : pages.request_start[i + 1]].tolist()
        if op == 1 and writes == "around":
            drop(naive, touched)
            outcome += [0] * len(touched)
        else:
            outcome += naive.serve(touched, op == 1, next(queues))[0]
    return counted(batch, pages.request_start, np.array(outcome, np.uint8), naive.counts["evictions"])


def drop(naive, pages):
    """What was overwritten is not there any more."""
    for page in pages:
        for queue in naive.queues.values():
            if page in queue:
                queue.remove(page)
                del naive.clocks[page]


EXPECTED = {CACHING: by_caching, REUSE: by_reuse}


@dataclass(frozen=True)
class Sent:
    """Requests of a few pages, most of them near the beginning of a disk; one in five is a write."""

    rows: tuple[tuple[bool, int, int], ...]  # write, offset, size

    @staticmethod
    def of(n):
        rng = np.random.default_rng(derive_seed(0, "sent to a model"))
        first = np.minimum(rng.exponential(150, n).astype(np.int64), PAGES - 8)
        run = rng.random(n) < 0.2
        first[run] = rng.integers(0, PAGES - 8, int(run.sum()))
        begin, size = rng.integers(0, 8, n) * 512, rng.integers(1, 33, n) * 512
        return Sent(tuple(zip((rng.random(n) < 0.2).tolist(), (first * UNIT + begin).tolist(), size.tolist(),
                              strict=True)))  # fmt: skip

    def send(self, disk):
        blank = bytes(33 * 512)
        for write, offset, size in self.rows:
            if write:
                disk.write(offset, blank[:size])
            else:
                disk.read(offset, size)


def as_logged(folder):
    """The requests at the times at which the filter had them."""
    ingest(TraceFiles([folder / "log.csv"]), folder / "log.parquet")
    return batch_of(read_trace(folder / "log.parquet"))


@pytest.mark.parametrize("writes", WRITES)
@pytest.mark.parametrize("model", MODELS, ids=named)
def test_a_replayed_trace_hits_as_in_the_simulator(built, library, tmp_path, model, writes):
    with (tmp_path / "disk").open("wb") as file:
        file.truncate(PAGES * UNIT)
    given = options(tmp_path, "1M", f"cz-bundle={model}", f"cz-writes={writes}", f"cz-log={tmp_path / 'log.csv'}")
    with serve(built, tmp_path, [*given, f"cz-label={tmp_path / 'label'}"]) as server:
        with server.disk() as disk:
            Sent.of(ROWS).send(disk)
        found = status(tmp_path)
        server.stop()
    expected = EXPECTED[model](as_logged(tmp_path), writes)
    evicted = found["evicted"] if expected.evicted is not None else None
    assert Counted(found["read_hits"], found["write_hits"], found["admitted"], evicted) == expected
    assert min(found["read_hits"], found["admitted"], found["evicted"]) > 0
    assert (found["kind"], found["bundle"], found["policy_failures"]) == (named(model), model.name, 0)


@pytest.mark.parametrize("writes", WRITES)
@pytest.mark.parametrize("model", MODELS, ids=named)
def test_a_restart_takes_up_what_the_ssd_holds(built, folder, model, writes):
    """After a clean end and, with a label, after a kill; what was written is there."""
    given = options(folder, "512K", f"cz-bundle={model}", f"cz-writes={writes}", f"cz-label={folder / 'label'}")
    content = (folder / "disk").read_bytes()
    for ends in ("stop", "kill", "stop"):
        with serve(built, folder, given) as server:
            with server.disk() as disk:
                before = status(folder)
                for number in (*range(96), *range(64, 96)):
                    assert disk.read(number * UNIT, UNIT)[0] == content[number * UNIT : (number + 1) * UNIT]
                found = status(folder)
                data = ends[0].encode() * UNIT
                disk.write(7 * UNIT, data)
                disk.flush()
                content = content[: 7 * UNIT] + data + content[8 * UNIT :]
            server.stop() if ends == "stop" else server.kill()
        if before["resident_at_start"]:
            assert before["resident_at_start"] >= 90
            assert found["hits_read_from_disk"] == 0
            assert found["read_hits"] >= 90 + 32
    assert before["resident_at_start"] >= 90
    assert (folder / "disk").read_bytes() == content


@pytest.mark.parametrize("other", ["cz-policy=s3fifo", f"cz-bundle={REUSE}", f"cz-bundle={CACHING}"])
@pytest.mark.parametrize("model", MODELS, ids=named)
def test_a_reload_puts_a_model_in_a_policys_place_and_back_and_keeps_the_pages(built, folder, model, other):
    with serve(built, folder, options(folder, "1M", other)) as server:
        with server.disk() as disk:
            read_units(disk, folder)
            answer = ask(folder, "reload", f"cz-bundle={model}")
            assert (answer["bundle"], answer["kept_units"]) == (model.name, UNITS)
            read_units(disk, folder)
            found = status(folder)
            assert (found["mode"], found["kind"], found["read_hits"]) == ("model", named(model), UNITS)
            disk.write(3 * UNIT, bytes(UNIT))
            kept = ask(folder, "reload", other)["kept_units"]
            assert kept == UNITS - 1
            read_units(disk, folder)
        found = status(folder)
        assert (found["read_hits"], found["ssd_corrupt"], found["reloads"]) == (2 * UNITS - 1, 0, 2)
        server.stop()


LOAD = {"around": (), "through": ("cz-writes=through",), "back": ("cz-writes=back", "cz-dirty=25", "cz-delay=1")}
LONG = [pytest.param(writes, marks=pytest.mark.long) for writes in ("around", "through")]


@pytest.mark.parametrize("kills", [2, pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.parametrize("writes", ["back", *LONG])
@pytest.mark.parametrize("model", MODELS, ids=named)
def test_no_kill_makes_a_stale_byte_or_loses_one(built, slow, tmp_path, model, writes, kills):
    given = [f"cz-bundle={model}", f"cz-label={tmp_path / 'label'}", *LOAD[writes]]
    counts = run_kills(built, slow, tmp_path, kills, given)
    assert min(counts["resident_at_start"], counts["read_hits"]) > 0
    assert counts["ssd_errors"] == counts["ssd_corrupt"] == 0


@pytest.mark.parametrize("crashes", [4, pytest.param(500, marks=pytest.mark.long)])
@pytest.mark.parametrize("writes", ["back", *LONG])
@pytest.mark.parametrize("model", MODELS, ids=named)
def test_no_loss_of_power_makes_a_stale_byte_or_loses_what_was_flushed(built, slow, tmp_path, model, writes, crashes):
    counts = run_crashes(set_up(tmp_path, built, slow, f"cz-bundle={model}", *LOAD[writes]), crashes)
    assert counts["resident_at_start"] > 0


# ---- models that take turns ----


def taking_turns(bundles):
    """Options, or lines of a reload."""
    watches, begins, *models = bundles
    return [f"cz-bundle={begins}", f"cz-monitor={watches}", f"cz-models={':'.join(str(path) for path in models)}"]


def by_turns(bundles, batch, writes, every_s):
    """Hits of reads, admitted pages, takeovers, the last category and whose model decides, by the library."""
    columns = [column.tolist() for column in (batch.time_us, batch.op, batch.offset, batch.size)]
    with open_model(bundles[1], CAPACITY) as model, open_model(bundles[0]) as watches:
        found = model.cache(CAPACITY, writes=writes)
        watches.vote_every(every_s)
        found.follow(watches, [open_model(path, CAPACITY) for path in bundles[2:]])
        hits = 0
        for at, op, offset, size in zip(*columns, strict=True):
            hits += found.access(at, ("read", "write")[op], offset, size, "disk").hits * (op == 0)
        following, admitted = found.following(), found.stats()["admitted"]
        found.close()
    return hits, admitted, following.takeovers, following.category, following.decides


@pytest.mark.parametrize(("writes", "every_s"), [*((writes, None) for writes in WRITES), ("back", 0), ("back", 3600)])
def test_models_take_turns_as_in_the_library(built, library, tmp_path, writes, every_s):
    """A vote an hour is one vote here, and so one takeover at most."""
    with (tmp_path / "disk").open("wb") as file:
        file.truncate(PAGES * UNIT)
    bundles = turns(tmp_path)
    given = options(tmp_path, "1M", f"cz-writes={writes}", f"cz-log={tmp_path / 'log.csv'}", *taking_turns(bundles))
    given += [] if every_s is None else [f"cz-vote-every={every_s}"]
    with serve(built, tmp_path, [*given, f"cz-label={tmp_path / 'label'}"]) as server:
        with server.disk() as disk:
            Sent.of(ROWS).send(disk)
        found = status(tmp_path)
        server.stop()
    made = [found[name] for name in ("read_hits", "admitted", "takeovers", "category", "decides")]
    assert made == list(by_turns(bundles, as_logged(tmp_path), writes, every_s))
    assert found["takeovers"] > 2 if every_s != 3600 else found["takeovers"] == 1
    assert found["policy_failures"] == 0


def test_a_reload_lets_models_take_turns_and_keeps_the_pages(built, folder):
    """What does not do here what it did where it was made is refused, of all of them."""
    watches, begins, *_ = turns(folder)
    models = [folder / "other.pairs", folder / "other.turns"]
    for path in models:
        shutil.copytree(CACHING, path)
        reseal(path, lambda manifest, path=path: manifest.update(category=path.suffix[1:]))
    with serve(built, folder, options(folder, "1M", "cz-policy=lru")) as server:
        with server.disk() as disk:
            read_units(disk, folder)
            answer = ask(folder, "reload", *taking_turns([watches, begins, *models]))
            assert "is not what this runtime computes" in answer["error"]
            assert ask(folder, "reload", *taking_turns([WORKLOAD, begins, *models]))["kept_units"] == UNITS
            read_units(disk, folder)
            found = status(folder)
            alone = ask(folder, "reload", "cz-vote-every=60")["error"]
            assert alone == "cz-vote-every is for cz-monitor; give that too, or leave it out"
            again = ask(folder, "reload", *taking_turns([WORKLOAD, begins, *models]), "cz-vote-every=60")
            assert again["kept_units"] == UNITS and status(folder)["category"] == ""
            assert ask(folder, "reload", "cz-policy=lru")["kept_units"] == UNITS
        assert status(folder)["category"] == ""
        server.stop()
    assert (found["read_hits"], found["kind"], found["policy_failures"]) == (UNITS, "caching", 0)


@pytest.mark.needs("fio")
@pytest.mark.parametrize("writes", WRITES)
def test_fio_finds_what_it_wrote_while_models_take_turns(built, tmp_path, writes):
    with (tmp_path / "disk").open("wb") as file:
        file.truncate(8 << 20)
    job = [
        "fio", "--name=verify", "--ioengine=nbd", f"--uri=nbd+unix:///?socket={tmp_path / 'nbd.sock'}", "--rw=randrw",
        "--rwmixread=40", "--bsrange=512-64k", "--blockalign=512", "--size=8m", "--io_size=24m", "--iodepth=16",
        "--verify=crc32c", "--verify_fatal=1", "--do_verify=1", "--verify_backlog=64", "--randseed=7",
        "--verify_state_save=0",
    ]  # fmt: skip
    given = [*options(tmp_path, "2M"), *taking_turns(turns(tmp_path)), f"cz-label={tmp_path / 'label'}", *LOAD[writes]]
    with serve(built, tmp_path, given) as server:
        subprocess.run(job, check=True, capture_output=True, timeout=120)
        found = status(tmp_path)
        server.stop()
    assert min(found["takeovers"], found["read_hits"]) > 0
    assert (found["ssd_corrupt"], found["ssd_errors"], found["policy_failures"]) == (0, 0, 0)


@pytest.mark.parametrize("kills", [2, pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.parametrize("writes", ["back", *LONG])
def test_no_kill_makes_a_stale_byte_while_models_take_turns(built, slow, tmp_path, writes, kills):
    given = [*taking_turns(turns(tmp_path)), f"cz-label={tmp_path / 'label'}", *LOAD[writes]]
    counts = run_kills(built, slow, tmp_path, kills, given)
    assert min(counts["resident_at_start"], counts["read_hits"]) > 0
    assert counts["ssd_errors"] == counts["ssd_corrupt"] == 0


def test_models_that_cannot_take_turns_are_refused_in_a_line(built, folder):
    watches, begins, pairs, _ = turns(folder)
    wrong = {
        "need each other": [f"cz-bundle={begins}", f"cz-monitor={watches}"],
        "and cz-bundle, the model that begins": ["cz-policy=lru", f"cz-monitor={watches}", f"cz-models={pairs}"],
        "not a bundle of kind workload": [f"cz-bundle={begins}", f"cz-monitor={pairs}", f"cz-models={pairs}"],
        "category 'database' is none": [f"cz-bundle={begins}", f"cz-monitor={watches}", f"cz-models={begins}"],
        "another model of category": [f"cz-bundle={begins}", f"cz-monitor={watches}", f"cz-models={pairs}:{pairs}"],
        "in a cache of kind caching": [f"cz-bundle={REUSE}", f"cz-monitor={watches}", f"cz-models={pairs}"],
        "cz-vote-every is for cz-monitor": [f"cz-bundle={begins}", "cz-vote-every=60"],
        "a whole number from 0 to 1048576": [*taking_turns([watches, begins, pairs]), "cz-vote-every=1048577"],
        "a path of it is": [f"cz-bundle={begins}", f"cz-monitor={watches}", f"cz-models={pairs}:"],
    }
    for said, given in wrong.items():
        message = refused(built, folder, [f"cz-ssd={folder / 'ssd'}", "cz-size=1M", *given])
        assert said in message and message.count("\n") == 1, message
    with serve(built, folder, options(folder, "1M", f"cz-bundle={begins}")) as server:
        answer = ask(folder, "reload", f"cz-bundle={begins}", f"cz-monitor={watches}", f"cz-models={pairs}:there")
        assert "the whole path" in answer["error"]
        assert status(folder)["category"] == ""
        server.stop()
