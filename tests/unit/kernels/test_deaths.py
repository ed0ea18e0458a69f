import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.kernels.deaths import MAX_VALUE, NAMES, Requests, describe_writes, log2_of, new_state
from tests.oracles.deaths import log2_of as naive_log2
from tests.oracles.deaths import naive_deaths


def given_to_kernel(requests):
    first, pages, gaps = zip(*((pages[0], len(pages), gap) for pages, gap in requests), strict=True)
    return Requests(*(np.array(column, np.int64) for column in (first, pages, gaps)))


def writes(low, most=300):
    return st.lists(
        st.tuples(
            st.builds(lambda low, n: list(range(low, low + n)), low, st.integers(1, 6)),
            st.one_of(st.integers(-1, 50), st.integers(MAX_VALUE - 1, MAX_VALUE + 1)),
        ),
        min_size=1,
        max_size=most,
    )


NEAR = writes(st.integers(0, 300), 40)
FAR = writes(st.one_of(st.integers(0, 300), st.integers(0, 40).map(lambda k: k << 20), st.integers(0, 1 << 49)), 60)


@settings(deadline=None)
@given(NEAR, st.integers(1, 9))
def test_matches_the_naive_log(requests, half_life) -> None:
    found = describe_writes(given_to_kernel(requests), half_life=half_life)
    assert found.shape[1] == len(NAMES)
    np.testing.assert_array_equal(found, naive_deaths(requests, half_life))


@settings(deadline=None)
@given(FAR, st.integers(1, 9), st.sampled_from([64, 128, 512]))
def test_forgets_what_was_written_longest_ago_in_its_set(requests, half_life, pages) -> None:
    found = describe_writes(given_to_kernel(requests), new_state(pages), half_life)
    np.testing.assert_array_equal(found, naive_deaths(requests, half_life, pages))


@settings(deadline=None)
@given(NEAR, NEAR, NEAR)
def test_what_comes_later_changes_no_input(first, one, other) -> None:
    n = sum(len(pages) for pages, _ in first)
    found = [describe_writes(given_to_kernel([*first, *later]))[:n] for later in (one, other)]
    assert found[0].tobytes() == found[1].tobytes()


@settings(deadline=None)
@given(FAR, st.integers(0, 60))
def test_calls_of_any_length_describe_alike(requests, cut) -> None:
    state = new_state(64)
    parts = [describe_writes(given_to_kernel(part), state) for part in (requests[:cut], requests[cut:]) if part]
    whole = describe_writes(given_to_kernel(requests), new_state(64))
    assert np.concatenate(parts).tobytes() == whole.tobytes()


@given(st.integers(0, MAX_VALUE - 1))
def test_logarithms_are_exact_at_powers_of_two_and_rise(value) -> None:
    assert log2_of(value) == naive_log2(value)
    assert log2_of(value) <= log2_of(value + 1)
    assert log2_of((1 << value.bit_length()) - 1) == value.bit_length() << 16


def test_values_stay_whole_in_float32() -> None:
    row = describe_writes(given_to_kernel([([1 << 40], 1 << 40)]))[0]
    named = dict(zip(NAMES, row.tolist(), strict=True))
    assert named["gap_us"] == named["place"] == MAX_VALUE
    assert named["alignment"] == 10


def test_all_remembered_values_are_whole_below_the_largest_that_float32_holds() -> None:
    pages = np.zeros(60_000, np.int64)
    found = describe_writes(Requests(pages, np.ones_like(pages), np.zeros_like(pages)))
    assert found.max() < MAX_VALUE and (found == np.floor(found)).all()
