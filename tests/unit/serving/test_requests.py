from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.errors import BundleError, ConfigError
from cachezoo.serving.requests import NUMBERS, TEXTS, RequestBatch, batch_of, from_csv, join, to_csv
from cachezoo.traces.pages import PageAccesses, expand_pages
from tests.baleen_data import make_trace

TRACE = make_trace(500, 4)


def texts(coded: Coded | None) -> list[str] | None:
    return None if coded is None else [coded.names[code] for code in coded.codes]


def assert_same(one: RequestBatch, other: RequestBatch) -> None:
    for name in NUMBERS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        assert getattr(one, name).dtype == getattr(other, name).dtype
    assert [texts(getattr(one, name)) for name in TEXTS] == [texts(getattr(other, name)) for name in TEXTS]


def assert_same_pages(one: PageAccesses, other: PageAccesses) -> None:
    np.testing.assert_array_equal(one.request_start, other.request_start)
    np.testing.assert_array_equal(one.page_ids, other.page_ids)
    assert one.n_pages == other.n_pages


def test_a_trace_s_batch_copies_nothing() -> None:
    batch = batch_of(TRACE)
    assert len(batch) == len(TRACE) and batch.namespace is None
    assert all(getattr(batch, name) is getattr(TRACE, name) for name in (*NUMBERS, *TEXTS))


@given(st.integers(0, 500), st.integers(0, 500))
def test_a_part_holds_its_own_requests_and_names(first: int, end: int) -> None:
    whole, part = batch_of(TRACE), batch_of(TRACE).part(first, end)
    kept = range(len(TRACE))[first:end]
    assert len(part) == len(kept)
    for name in NUMBERS:
        assert getattr(part, name).tolist() == getattr(whole, name)[first:end].tolist()
    for name in ("volume", "user"):
        assert texts(getattr(part, name)) == texts(getattr(whole, name))[first:end]
        assert set(getattr(part, name).names) == set(texts(getattr(part, name)))


@given(st.integers(1, 500))
def test_pages_are_those_of_the_trace(end: int) -> None:
    assert_same_pages(batch_of(TRACE).part(0, end).pages(), expand_pages(TRACE.rows(0, end)))


def test_csv_and_back() -> None:
    batch = batch_of(TRACE).part(0, 400)
    again = from_csv(to_csv(batch), "x")
    assert_same(again, batch)
    assert_same_pages(again.pages(), batch.pages())
    header = to_csv(batch).split(b"\n", 1)[0]
    assert header == b"time_us,op,offset,size,volume,user"
    named = replace(batch, namespace=Coded.of([f'a,"{k % 3}"\n' for k in range(400)]))
    assert_same(from_csv(to_csv(named), "x"), named)
    with pytest.raises(BundleError, match="x: not golden requests"):
        from_csv(to_csv(batch).replace(b"read", b"erase"), "x")


def test_joined_batches_run_on() -> None:
    first, second = batch_of(TRACE).part(0, 300), batch_of(make_trace(200, 9))
    both = join([first, second])
    assert len(both) == 500 and (np.diff(both.time_us) >= 0).all() and both.time_us[0] == 0
    np.testing.assert_array_equal(np.diff(both.time_us[300:]), np.diff(second.time_us))
    for name in ("volume", "user"):
        assert texts(getattr(both, name)) == [*texts(getattr(first, name)), *texts(getattr(second, name))]
    assert_same(from_csv(to_csv(both), "x"), both)
    assert join([first, replace(second, user=None)]).user is None


@pytest.mark.parametrize("name", [*NUMBERS, "volume", "user"])
def test_columns_of_other_lengths_are_refused(name: str) -> None:
    batch = batch_of(TRACE)
    column = getattr(batch, name)
    shorter = column.part(0, 7) if isinstance(column, Coded) else column[:7]
    with pytest.raises(ConfigError, match="a batch has one entry a request in each column"):
        replace(batch, **{name: shorter})
