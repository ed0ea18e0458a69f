"""The corpus that the project ships: what its README says is true, it is by its recipes, and is worth learning from."""

import json
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from cachezoo import paths
from cachezoo.config.load import load_params
from cachezoo.contest.counting import first_access
from cachezoo.errors import ConfigError
from cachezoo.policies.registry import OPTIMUM
from cachezoo.policies.simulate import Simulator
from cachezoo.settings.data import CorpusEntry, Data
from cachezoo.settings.params import Params
from cachezoo.sizes import pages_of
from cachezoo.traces.ingest import ingest_corpus
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import Trace
from scripts.corpus_table import full_at
from tools.capture.corpus import TRACES, corpus_names, corpus_recipe

ROOT = Path(__file__).resolve().parents[3]
PARAMS = load_params(ROOT / "params.yaml")
CORPUS = PARAMS.data.corpus
ENTRIES = {f"{category}/{key}": entry for category, rows in CORPUS.items() for key, entry in rows.items()}
README = (ROOT / TRACES / "README.md").read_text(encoding="utf-8")
UNSEEN = {"database": "mariadb", "fileserver": "git", "mail": "dovecot", "web": "lighttpd"}
# Of the programs that scripts drive.
UNSEEN_SCRIPTS = {"hdf5", "mercurial", "mu", "restic", "slapd", "squid"}
MOST_BYTES = 150_000_000


LONG = sorted(name for name, entry in ENTRIES.items() if entry.long)
CAPACITIES = 300


@pytest.fixture(params=sorted(ENTRIES))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def trace(name: str) -> Trace:
    return read_trace(ROOT / TRACES / f"{name}.parquet")


def test_the_matrix_has_every_trace_and_every_trace_its_recipe() -> None:
    files = {str(path.relative_to(ROOT / TRACES).with_suffix("")) for path in (ROOT / TRACES).glob("*/*.parquet")}
    assert files == set(ENTRIES) == set(corpus_names())
    assert {name: entry.path for name, entry in ENTRIES.items()} == {
        name: str(TRACES / f"{name}.parquet") for name in ENTRIES
    }
    assert len(files) + len(PARAMS.data.traces) - 3 >= 50


def test_the_split_is_by_program_and_set_up() -> None:
    for category, rows in CORPUS.items():
        assert UNSEEN[category] in {entry.program for entry in rows.values() if entry.unseen}
        for key, entry in rows.items():
            assert key in {f"{entry.program}_{entry.setup}", f"{category}_{entry.setup}"}
            assert entry.long == key.endswith("_long") and entry.home == key.endswith("_test_long")
            assert entry.unseen == (entry.program in {UNSEEN[category], *UNSEEN_SCRIPTS})
            test = entry.unseen or entry.long or entry.setup == "c"
            assert entry.role == ("test" if test else "train"), key


def test_all_raw_traces_together_are_small() -> None:
    assert sum(path.stat().st_size for path in (ROOT / "data/raw").rglob("*.parquet")) <= MOST_BYTES


def test_it_was_made_by_the_recipe_beside_it(name: str, trace: Trace) -> None:
    meta, recipe = trace.meta, corpus_recipe(name)
    assert json.loads(meta.extra["recipe"]) == recipe.model_dump(mode="json", exclude_none=True)
    assert (meta.trace_id, meta.category) == (name.split("/")[1], name.split("/")[0])
    assert (meta.licence, meta.source_format) == ("CC0-1.0", "capture")
    events = json.loads(meta.extra["events"])
    assert not any(events[key] for key in ("other", "requeued", "failed", "unmatched_issue"))
    # Requests of the warm-up that were under way when recording began.
    assert events["unmatched_complete"] <= 50
    assert trace.latency_us is not None and trace.latency_us.min() >= 0
    versions = json.loads(meta.extra["programs"])
    assert "mkfs.ext4" in versions and len(versions) >= 2
    if recipe.schedule is None:
        phases = json.loads(meta.extra["phases"])
        limits = [phase.requests for phase in recipe.played or ()]
        assert len(phases) == len(limits) and len(trace) <= sum(limits)
        # A phase may end some requests late; over many rounds these are as many as the last phase has.
        assert ENTRIES[name].long or phases[-1]["first_request"] < len(trace)
    assert json.loads(meta.extra["machine"])["loop_direct_io"] is True


@pytest.mark.parametrize("name", LONG, indirect=True)
def test_a_long_one_is_long_enough(name: str, trace: Trace) -> None:
    pages = expand_pages(trace)
    capacity = pages_of(10, pages.n_pages)
    first = full_at(pages, capacity)
    assert len(np.unique(pages.page_ids[:first])) == capacity
    assert len(pages.page_ids) - first >= CAPACITIES * capacity and pages.n_pages >= 30_000
    (line,) = re.findall(rf"^\| {name.split('/')[1]} \|.*$", README, re.MULTILINE)
    assert f"| {len(trace):,} | {len(pages.page_ids):,} | {pages.n_pages:,} |" in line


@pytest.mark.parametrize("name", sorted(set(ENTRIES) - set(LONG)), indirect=True)
def test_there_is_something_to_learn(name: str, trace: Trace) -> None:
    """A cache of a tenth of the pages is filled and used, and the future would help it."""
    pages = expand_pages(trace)
    assert 15_000 <= len(trace) <= 100_000
    assert pages.n_pages >= 20_000 and 2 * pages.n_pages <= len(pages.page_ids) <= 470_000
    capacity = pages_of(10, pages.n_pages)
    simulator, warmup = Simulator(trace, pages), first_access(pages)
    lru = simulator.run("lru", capacity, warmup).hit_ratio
    optimum = simulator.run(OPTIMUM, capacity, warmup).hit_ratio
    assert optimum >= 0.2 and optimum - lru >= 0.05
    (line,) = re.findall(rf"^\| {name.split('/')[1]} \|.*$", README, re.MULTILINE)
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[2] == f"{len(trace):,}"
    assert cells[4:6] == [f"{len(pages.page_ids):,}", f"{pages.n_pages:,}"]
    assert (cells[6], cells[8]) == (f"{lru:.4f}", f"{optimum:.4f}")


def tiny(entries: dict[str, CorpusEntry]) -> Params:
    data = PARAMS.data.model_copy(update={"corpus": {"web": entries}})
    return PARAMS.model_copy(update={"data": data})


def test_the_stage_writes_each_trace_with_dense_page_ids_and_the_same_bytes_again(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("one.csv").write_text("time_us,op,offset,size\n0,R,8192,4096\n5,W,0,8192\n9,R,8192,4096\n")
    entries = {key: CorpusEntry(path="one.csv", format="csv", program="x", setup=key, role="train") for key in "ab"}
    ingest_corpus(tiny(entries), "web")
    folder = paths.corpus("web")
    assert sorted(path.name for path in folder.iterdir()) == ["a.parquet", "b.parquet"]
    table = pq.read_table(folder / "a.parquet")
    assert table["page_ids"].to_pylist() == [[0], [1, 2], [0]]
    meta = read_trace(folder / "a.parquet").meta
    assert (meta.trace_id, meta.category) == ("a", "web")
    before = (folder / "a.parquet").read_bytes()
    ingest_corpus(tiny({"a": entries["a"]}), "web")
    assert [path.name for path in folder.iterdir()] == ["a.parquet"]
    assert (folder / "a.parquet").read_bytes() == before
    np.testing.assert_array_equal(read_trace(folder / "a.parquet").offset, [8192, 0, 8192])


def test_the_stage_names_a_category_that_the_corpus_lacks() -> None:
    with pytest.raises(ConfigError, match=r"params\.yaml: holds no data\.corpus\.none; run `dvc repro compose`"):
        ingest_corpus(PARAMS, "none")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"web": {"a_a": ("a", "train", True)}}, "corpus a_a: unseen is True, but its program is a and a train trace"),
        ({"web": {"a_a": ("a", "test", False)}}, "corpus a_a: unseen is False, but its program is a and no train"),
        ({"web": {"a_a": ("a", "train", False, True)}}, "corpus a_a: long is said of a train trace, but only a test"),
        ({"web": {"a_a": ("a", "test", True, True, True)}}, "corpus a_a: home is said of a long trace of a program"),
        ({"none": {"a_a": ("a", "train", False)}}, "corpus: none is no category of page traces"),
        ({"web": {"a_a": ("a", "train", False)}, "mail": {"a_a": ("a", "train", False)}}, "key a_a stands in two"),
    ],
)
def test_a_corpus_that_makes_no_sense_is_refused(rows, message) -> None:
    fields = ("program", "role", "unseen", "long", "home")
    corpus = {
        category: {
            key: {"path": "x", "format": "csv", "setup": "a", **dict(zip(fields, row, strict=False))}
            for key, row in own.items()
        }
        for category, own in rows.items()
    }
    with pytest.raises(ValueError, match=message):
        Data.model_validate({"traces": {}, "page_categories": ["mail", "web"], "corpus": corpus})
