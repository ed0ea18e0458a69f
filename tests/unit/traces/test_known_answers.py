"""Answers known from the papers and from other simulators, on the public samples."""

import numpy as np
import pytest

from cachezoo.policies.simulate import simulate
from cachezoo.traces.pages import expand_pages
from tests.trace_data import read, sample

pytestmark = pytest.mark.needs("public_traces")


@pytest.fixture(scope="module")
def oltp():
    trace = read(sample("lbn/OLTP.lis.zst"))
    return trace, expand_pages(trace)


def test_pages_of_the_arc_paper(oltp):
    # Table III of the ARC paper: requests and distinct pages.
    _, pages = oltp
    assert (len(pages.page_ids), pages.n_pages) == (914_145, 186_880)
    pages = expand_pages(read(sample("lbn/P2.lis.zst")))
    assert (len(pages.page_ids), pages.n_pages) == (12_729_495, 913_347)


@pytest.mark.parametrize(("policy", "misses"), [("lru", 306_044), ("arc", 299_245), ("belady", 217_506)])
def test_misses_on_oltp(oltp, policy, misses):
    # libCacheSim 0.3.5 at a tenth of the pages: miss ratios 0.3348, 0.3273 and 0.2379.
    trace, pages = oltp
    assert len(pages.page_ids) - simulate(trace, pages, policy, 18_688, 0).hits == misses


@pytest.mark.parametrize(("mebibytes", "percent"), [(256, 25), (512, 47), (1024, 76)])
def test_lru_hit_ratios_on_cloudphysics(mebibytes, percent):
    trace = read(sample("block/cloudphysics.vscsi"))
    hit_ratio = simulate(trace, expand_pages(trace), "lru", mebibytes * 256, 0).hit_ratio
    assert round(100 * hit_ratio) == percent


def test_one_trace_in_three_formats():
    binary = read(sample("block/cloudphysics.vscsi"))
    text = read(sample("block/cloudphysics_us.csv.gz"))
    oracle = read(sample("block/cloudphysics.oracleGeneral.bin"))
    assert len(binary) == len(text) == len(oracle) == 113_872
    assert np.array_equal(binary.offset, text.offset) and np.array_equal(binary.offset, oracle.offset)
    assert np.array_equal(binary.size, text.size) and binary.size.sum() == 4_205_978_112
    # Its converter gave every request of an object the size of the object's first.
    _, first, number = np.unique(binary.offset, return_index=True, return_inverse=True)
    assert np.array_equal(oracle.size, binary.size[first[number]])
    assert np.count_nonzero(oracle.size != binary.size) == 13_671
