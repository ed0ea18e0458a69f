from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.flash_cache.problem import FlashProblem, flash_problem
from cachezoo.kernels.segments import Geometry, expand_segments
from cachezoo.traces.table import Trace
from cachezoo.zoo.admission.fit import fit_prepared
from cachezoo.zoo.admission.serve import history_of, serve_trace
from lab.baleen.rivals import (
    RIVALS,
    WINDOWS,
    Course,
    Labelled,
    Part,
    block_gaps,
    in_ram,
    linear,
    next_read,
    scores_of,
)
from tests.baleen_data import FIT, FLASH, LABEL, labelled_parts, make_trace, rewritten_after, small_requests

Requests = tuple[list[int], list[int], list[int], list[int]]


@given(small_requests())
def test_next_reads_match_a_search(requests: Requests) -> None:
    volume, op, offset, size = requests
    accesses = expand_segments(np.array(volume, np.int32), np.array(offset), np.array(size), Geometry(64, 16))
    lists = [set(accesses.segment[a:b].tolist()) for a, b in zip(accesses.start, accesses.start[1:], strict=False)]
    expected = []
    for i, own in enumerate(lists):
        until, left = np.inf, set(own)
        for j in range(i + 1, len(op)):
            if op[j] == 0 and left & lists[j]:
                until = min(until, j - i)
            left -= lists[j]
        expected.append(until)
    assert next_read(accesses, np.array(op) == 0).tolist() == expected


@given(st.lists(st.integers(0, 4), min_size=1, max_size=40), st.integers(1, 5))
def test_gaps_match_a_search(blocks: list[int], count: int) -> None:
    for i, row in enumerate(block_gaps(np.array(blocks), count, 99.0)):
        seen = [j for j in range(i + 1) if blocks[j] == blocks[i]][::-1]
        gaps = [float(a - b) for a, b in pairwise(seen)][:count]
        assert row.tolist() == gaps + [99.0] * (count - len(gaps))


def test_what_ram_knows_by_hand() -> None:
    trace = make_trace(2000, 3)
    rows, found = in_ram(flash_problem(trace, LABEL, FLASH), 40)
    reads = trace.op == 0
    assert found.any() and not found[~reads].any()
    assert (rows[reads & ~found] == 0).all()  # it has just come in
    assert (rows[found, :2].sum(axis=1) > 0).all() and (rows[:, 2] >= rows[:, 3]).all()


def test_a_line_is_found() -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(4000, 2)).astype(np.float32)
    likely = 1 / (1 + np.exp(-(2.0 * rows[:, 0] - rows[:, 1] + 0.5)))
    np.testing.assert_allclose(linear(rows, rng.random(4000) < likely), [2.0, -1.0, 0.5], atol=0.2)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> tuple[Course, Part]:
    (prepared,) = labelled_parts({"train": make_trace(6000, 1)}, tmp_path_factory.mktemp("labels"))
    model = fit_prepared("database", [prepared], FIT, {})[0]

    def part(trace: Trace) -> tuple[Trace, FlashProblem, np.ndarray]:
        return trace, flash_problem(trace, LABEL, FLASH), serve_trace(history_of(model), trace)

    train = [Labelled(*part(prepared.trace), prepared.labels)]
    found = Course("database", model.features, train, 300, LABEL, FIT)
    return found, Part(*part(make_trace(4000, 2)))


@pytest.mark.parametrize("name", RIVALS)
def test_a_rival_tells_requests_apart_and_its_seed_is_all_its_chance(name: str, course: tuple[Course, Part]) -> None:
    learning, part = course
    scores = scores_of(name, learning, 1)(part)
    assert scores.shape == (4000,) and np.isfinite(scores).all() and len(np.unique(scores)) > 50
    np.testing.assert_array_equal(scores_of(name, learning, 1)(part), scores)
    assert (scores_of(name, learning, 2)(part) != scores).any()
    again = next_read(part.problem.accesses, part.problem.read) <= learning.age
    read = part.problem.read
    assert scores[read & again].mean() > scores[read & ~again].mean()


def test_online_training_knows_the_past_alone(course: tuple[Course, Part]) -> None:
    learning, part = course
    cut = 3 * 4000 // WINDOWS
    other = Part(rewritten_after(part.trace, cut), part.problem, part.rows)
    scores, changed = (scores_of("online", learning, 1)(one) for one in (part, other))
    np.testing.assert_array_equal(scores, changed)
