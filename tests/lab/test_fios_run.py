"""FIOS's combinations on drives of generated writes."""

import numpy as np
import pytest

from cachezoo.coded import Coded
from cachezoo.settings.data import CorpusEntry
from cachezoo.settings.wear import Drive, StreamsLabel
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import write_trace
from cachezoo.traces.table import OP_READ, OP_WRITE, Trace, TraceMeta
from cachezoo.zoo.streams.cluster import COMBINATIONS
from cachezoo.zoo.streams.settings import Fit, Judge, Model
from lab.fios import run as fios_run

PAGE = 8192
CHUNKS = 500
SETTINGS = fios_run.Settings(
    Model(arch="fios", streams=4, window="100th"),
    StreamsLabel(),
    Fit(windows=["1s", "100th"], sid_bytes_per_tb=8e6),
    Judge(baselines={"equal": {"streams": [2, 4]}, "oracle": {"rule": ["lifetime"]}}, least_gain=0.02,
          least_waf=1.05, over_provisioning=[0.4]),
    Drive(over_provisioning=0.25, gc_free_blocks=5),
    {"ledger": {"train": ["train.parquet"], "validation": ["validation.parquet"], "test": ["test.parquet"]}},
    {"mail": {"day": CorpusEntry(path="x", format="csv", program="p", setup="a", role="test")}},
    7,
)  # fmt: skip


def written(pages, op=OP_WRITE, key="t"):
    n = len(pages)
    return Trace(
        np.arange(n, dtype=np.int64) * 1000, np.full(n, op, np.uint8), pages.astype(np.int64) * PAGE,
        np.full(n, PAGE, np.int64), Coded(np.zeros(n, np.int32), ("sda",)), TraceMeta(key, "ledger", "csv", "0" * 64),
    )  # fmt: skip


def skewed(seed, n=15_000):
    """Nine writes in ten go to every fourth chunk."""
    rng = np.random.default_rng(seed)
    hot = rng.random(n) < 0.9
    chunk = np.where(hot, 4 * rng.integers(0, CHUNKS // 4, n), rng.integers(0, CHUNKS, n))
    return written(4 * chunk + rng.integers(0, 4, n))


def stored(trace, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    write_trace(trace, path, expand_pages(trace))


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """A function that stores the corpus's one trace and gives its source."""
    monkeypatch.chdir(tmp_path)

    def make(trace):
        (source,) = [one for one in fios_run.sources(SETTINGS) if one.corpus]
        stored(trace, tmp_path / source.cycles[0][0])
        return source

    return make


def test_sources_are_the_categories_and_the_whole_corpus():
    ledger, day = fios_run.sources(SETTINGS)
    assert (ledger.key, ledger.corpus, len(ledger.cycles)) == ("ledger", False, 3)
    assert day == ("day", (("data/corpus/mail/day.parquet",),), True)


def test_a_part_has_the_page_accesses_of_its_requests():
    trace = skewed(1, 100)
    own, pages = fios_run.part_of(trace, expand_pages(trace), 40, 70)
    alone = expand_pages(own)
    np.testing.assert_array_equal(own.offset, trace.offset[40:70])
    np.testing.assert_array_equal(pages.request_start, alone.request_start)
    # Ids are those of the whole trace; the same pages are equal in both.
    np.testing.assert_array_equal(np.unique(pages.page_ids, return_inverse=True)[1].size, alone.page_ids.size)
    assert len(set(zip(pages.page_ids.tolist(), alone.page_ids.tolist(), strict=True))) == alone.n_pages


def test_frequency_tells_hot_chunks_apart_on_a_trace_that_overwrites(corpus):
    case = fios_run.measure(corpus(skewed(3)), SETTINGS)
    assert case.corpus and not case.reason and case.pages_per_block == fios_run.SMALL_BLOCK
    assert {row.policy for row in case.combinations} == set(COMBINATIONS)
    assert {"P", "FP", "FASP", *fios_run.REALS} <= {row.policy for row in case.rows if row.kind == "ours"}
    frequency = case.row("F")
    assert frequency.of_legacy_interval[1] < 1 and frequency.of_legacy_interval[1] < case.row("equal").of_legacy
    assert frequency.hindsight_of_legacy == pytest.approx(frequency.of_legacy, abs=0.05)
    assert frequency.seeds_sd == 0 and case.row("interval").seeds_sd is not None and case.row("equal").seeds_sd is None
    assert {"equal.4", f"equal.{case.chosen.streams}"} <= {row.policy for row in case.rows}
    assert case.host_pages == 15_000 - round(0.7 * 15_000)
    assert fios_run.measure(corpus(skewed(3)), SETTINGS) == case


@pytest.mark.parametrize("trace", [written(np.arange(800)), written(np.zeros(800, np.int64), OP_READ)])
def test_a_trace_of_the_corpus_that_does_not_overwrite_is_none(corpus, trace):
    assert fios_run.measure(corpus(trace), SETTINGS) is None


def test_a_drive_that_cannot_be_says_why(corpus):
    small = fios_run.measure(corpus(written(np.tile(np.arange(64), 20))), SETTINGS)
    assert small.reason.startswith("64 pages of 8192 bytes") and small.rows == []
    one = fios_run.measure(corpus(written(np.zeros(200, np.int64))), SETTINGS)
    assert one.reason == "one chunk alone is written: there is nothing to tell apart"


def test_a_category_whose_last_cycle_writes_nothing_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = fios_run.sources(SETTINGS)[0]
    for k, (file,) in enumerate(ledger.cycles):
        stored(skewed(k, 2000) if k < 2 else written(np.arange(50), OP_READ), tmp_path / file)
    assert fios_run.measure(ledger, SETTINGS).reason == "nothing is written in a later cycle"


def test_every_combination_is_tried_by_every_window():
    found = fios_run.families(["1s", "100th"])
    assert found["F"] == ["F"] and found["FA"] == ["FA.1s", "FA.100th"] and found["FP"] == ["FP.1s", "FP.100th"]
    assert set(COMBINATIONS) < set(found) and len(found) == 15 + 8 + len(fios_run.REALS)
