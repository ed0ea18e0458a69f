"""One pass says of LRU over LRU what a simulation of each pair of sizes says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.run import DISK, SSD, run_tiers
from cachezoo.questions.tiers.sizing.stack import Stack, is_stack
from tests.tier_data import skewed, stream_of


def compared(stream, text, ram, ssd, first):
    rows = first + np.flatnonzero(~stream.write[first:])
    time_us = np.random.default_rng(2).uniform(1, 9, len(rows))
    tier = run_tiers(parse_hierarchy(text), stream, ram, ssd).tier[rows]
    missed = tier == DISK
    mean = time_us[missed].mean() if missed.any() else 0.0
    assert Stack.of(stream, rows, time_us).served(ram, ssd) == (
        (tier == SSD).sum(), missed.sum(), pytest.approx(mean, rel=1e-9, abs=1e-9)
    )  # fmt: skip


@given(
    accesses=st.lists(st.tuples(st.integers(0, 11), st.booleans()), min_size=1, max_size=120),
    ram=st.integers(1, 9),
    ssd=st.integers(1, 9),
    part=st.floats(0, 0.9),
    text=st.sampled_from(["lru", "lru | lru", "lru | fifo"]),
)
def test_as_simulated(accesses, ram, ssd, part, text):
    page, write = np.array(accesses).T
    compared(stream_of(page, write.astype(bool)), text, ram, ssd if "|" in text else 0, int(part * len(page)))


@pytest.mark.parametrize(("ram", "ssd"), [(1, 1), (100, 600), (700, 2), (3000, 3000)])
def test_as_simulated_at_length(ram, ssd):
    compared(skewed(), "lru | lru", ram, ssd, 10_000)


def test_what_is_a_stack():
    stacks = [text for text in ("lru", "lru | lru", "lru | fifo", "lru | tb=64K | lru", "lru | s3fifo", "arc | lru",
                                "promotion: lru | lru", "inclusive: lru | lru", "lru | rejectx+lru", "arc")
              if is_stack(parse_hierarchy(text))]  # fmt: skip
    assert stacks == ["lru", "lru | lru", "lru | fifo"]
