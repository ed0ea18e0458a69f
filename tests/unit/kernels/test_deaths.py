import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.kernels.deaths import MAX_VALUE, NAMES, Places, Written, describe_writes, log2_of
from tests.oracles.deaths import log2_of as naive_log2
from tests.oracles.deaths import naive_deaths


def given_to_kernel(requests, further=()):
    """Requests as the kernel takes them; pages that nothing here writes may lie among the others."""
    numbers = np.array([number for pages, _ in requests for number in pages], np.int64)
    distinct = np.unique(np.concatenate([numbers, np.array(further, np.int64)]))
    lengths = np.array([len(pages) for pages, _ in requests], np.int64)
    begins = np.zeros(len(numbers), np.bool_)
    begins[np.cumsum(lengths) - lengths] = True
    gaps = np.repeat(np.array([gap for _, gap in requests], np.int64), lengths)
    chunk, region = (np.unique(distinct // size, return_inverse=True)[1].astype(np.int32) for size in (4, 128))
    written = Written(np.searchsorted(distinct, numbers).astype(np.int32), begins, gaps)
    return written, Places(distinct, chunk, region, distinct // 128)


REQUESTS = st.lists(
    st.tuples(
        st.builds(lambda low, n: list(range(low, low + n)), st.integers(0, 300), st.integers(1, 6)),
        st.integers(-1, 50),
    ),
    min_size=1,
    max_size=40,
)


@settings(deadline=None)
@given(REQUESTS, st.integers(1, 9), st.lists(st.integers(0, 310), max_size=20))
def test_matches_the_naive_log_whatever_other_pages_there_are(requests, half_life, further) -> None:
    written, places = given_to_kernel(requests, further)
    found = describe_writes(written, places, half_life)
    assert found.shape[1] == len(NAMES)
    np.testing.assert_allclose(found, naive_deaths(requests, half_life), rtol=1e-6)


@settings(deadline=None)
@given(REQUESTS, REQUESTS, REQUESTS)
def test_what_comes_later_changes_no_input(first, one, other) -> None:
    n = sum(len(pages) for pages, _ in first)
    found = [describe_writes(*given_to_kernel([*first, *later]))[:n] for later in (one, other)]
    assert found[0].tobytes() == found[1].tobytes()


@given(st.integers(0, 1 << 40))
def test_logarithms_are_exact_at_powers_of_two_and_rise(value) -> None:
    assert log2_of(value) == naive_log2(value)
    assert log2_of(value) < log2_of(value + 1)
    assert log2_of((1 << value.bit_length()) - 1) == value.bit_length()


def test_values_stay_whole_in_float32() -> None:
    written, places = given_to_kernel([([1 << 40], 1 << 40)])
    row = dict(zip(NAMES, describe_writes(written, places)[0].tolist(), strict=True))
    assert row["gap_us"] == row["place"] == MAX_VALUE
    assert row["alignment"] == 10
