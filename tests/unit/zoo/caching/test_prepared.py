"""The part of a validation trace that judges never chooses, the epoch included."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.contest.blocks import halves
from cachezoo.contest.counting import first_access
from cachezoo.traces.pages import PageAccesses
from cachezoo.zoo.caching.fit import Inputs, choosing_lanes, fit_prepared
from cachezoo.zoo.caching.prepared import first_requests, judging_requests
from tests.rcrnn_data import FIT, FitTrace, make_part, make_trace


def pages_of(counts: list[int], n_pages: int) -> PageAccesses:
    """Requests of so many pages each; ids number first appearances."""
    start = np.concatenate([[0], np.cumsum(counts)])
    return PageAccesses(start, (np.arange(start[-1]) % n_pages).astype(np.int32), n_pages)


@given(st.integers(40, 400), st.integers(1, 20))
def test_blocks_that_choose_and_blocks_that_judge_take_turns(count: int, blocks: int) -> None:
    chosen, judged = halves(np.arange(count), blocks)
    assert sorted([*chosen, *judged]) == list(range(count))
    assert abs(len(chosen) - len(judged)) <= blocks
    assert chosen[0] == 0 and judged[-1] == count - 1
    assert (np.diff(chosen) > 1).sum() == blocks - 1


@given(st.lists(st.integers(1, 5), min_size=30, max_size=120), st.integers(1, 150))
def test_a_request_judges_where_an_access_of_it_does(counts: list[int], requests: int) -> None:
    pages = pages_of(counts, 7)
    found = judging_requests(pages, requests)
    run = first_requests(pages, requests)
    counted = np.arange(first_access(run), len(run.page_ids))
    judged = set(halves(counted)[1].tolist())
    bounds = zip(pages.request_start[:-1], pages.request_start[1:], strict=True)
    assert found.tolist() == [any(k in judged for k in range(low, high)) for low, high in bounds]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[FitTrace]:
    folder = tmp_path_factory.mktemp("parts")
    return [make_part(make_trace(2500, 1, "train"), folder), make_part(make_trace(2500, 2, "validation"), folder)]


def judged_rows(own: FitTrace) -> np.ndarray:
    return judging_requests(own.part.pages, FIT.judged_requests)


def test_labels_of_the_judging_blocks_choose_no_epoch(parts: list[FitTrace]) -> None:
    train, held = parts
    short = replace(FIT, fit=FIT.fit.model_copy(update={"max_epochs": 2}))
    judging = judged_rows(held)
    assert 0.2 < judging.mean() < 0.3
    tags = {
        key: replace(own, bits=np.where(judging, 0, own.bits).astype(np.uint8))
        for key, own in held.part.labels.tags.items()
    }
    blank = replace(held, part=replace(held.part, labels=replace(held.part.labels, tags=tags)))
    curves = [fit_prepared("database", [train], [own], short, {})[1][0].curves for own in (held, blank)]
    assert curves[0] == curves[1]
    (lane,) = choosing_lanes([held], Inputs.of([train], FIT.model), ["belady"], FIT)
    assert (lane.counts == ~judging).all()
