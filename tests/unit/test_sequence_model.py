"""The parallel scan and the area of benchmarks/sequence_model.py beside loops."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from sequence_model import LAYERS, WIDTH, Network, area, scan


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 12, 64])
def test_the_scan_and_its_gradients_are_those_of_a_loop(steps):
    torch.manual_seed(steps)
    keep = torch.rand(steps, 2, 3, dtype=torch.float64, requires_grad=True)
    add, weight = torch.randn(2, steps, 2, 3, dtype=torch.float64)
    add.requires_grad_()
    state, states = torch.zeros(2, 3, dtype=torch.float64), []
    for t in range(steps):
        state = keep[t] * state + add[t]
        states.append(state)
    looped = torch.stack(states)
    torch.testing.assert_close(scan(keep, add), looped)
    theirs = torch.autograd.grad((looped * weight).sum(), (keep, add))
    ours = torch.autograd.grad((scan(keep, add) * weight).sum(), (keep, add), allow_unused=True)
    torch.testing.assert_close(ours[0] if ours[0] is not None else torch.zeros_like(keep), theirs[0])
    torch.testing.assert_close(ours[1], theirs[1])


def test_spans_score_as_the_whole_and_only_memory_looks_back():
    torch.manual_seed(0)
    rows = torch.randn(40, 1, WIDTH)
    changed = rows.clone()
    changed[3] += 1
    for memory in (True, False):
        network = Network(memory)
        with torch.no_grad():
            whole, _ = network(rows, [None] * LAYERS)
            first, states = network(rows[:17], [None] * LAYERS)
            second, _ = network(rows[17:], states)
            other, _ = network(changed, [None] * LAYERS)
        torch.testing.assert_close(torch.cat([first, second]), whole)
        assert torch.equal(other[:3], whole[:3])
        assert torch.equal(other[4:], whole[4:]) is not memory


def test_the_area_counts_ordered_pairs():
    rng = np.random.default_rng(0)
    scores, truth = rng.integers(0, 5, 60).astype(np.float32), rng.random(60) < 0.4
    pairs = scores[truth][:, None], scores[~truth][None]
    wins = (pairs[0] < pairs[1]).mean() + (pairs[0] == pairs[1]).mean() / 2
    assert area(scores, truth) == pytest.approx(wins)
