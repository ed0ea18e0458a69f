import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.kernels.distinct import BITS, Distinct

PAGE = 4096


@given(
    requests=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 10**6), st.integers(1, 50_000)), max_size=60),
    parts=st.integers(1, 4),
)
@settings(deadline=None, max_examples=30)
def test_few_pages_are_counted_nearly_exactly_however_often_they_come(requests, parts):
    found, pages = Distinct(), set()
    for own in requests:
        pages |= {(own[0], page) for page in range(own[1] // PAGE, (own[1] + own[2] - 1) // PAGE + 1)}
    for k in range(parts):
        keys, offset, size = np.array([*requests[k::parts]], np.int64).reshape(-1, 3).T
        for _ in range(2):
            found.add(keys.astype(np.uint64) << np.uint64(40), offset, size, PAGE)
    assert abs(found.count - len(pages)) <= 1 + len(pages) // 100


@pytest.mark.parametrize("n", [10_000, 300_000, 1_500_000, 4_000_000])
def test_any_number_is_counted_to_within_four_standard_errors(n):
    found = Distinct()
    one = np.ones(n, np.int64)
    found.add(np.full(n, 77, np.uint64), np.arange(n) * PAGE, one, PAGE)
    assert abs(found.count / n - 1) < 4 * 1.04 / 2 ** (BITS / 2)
