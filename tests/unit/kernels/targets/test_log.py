"""The record of a cache's I/Os."""

from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels.targets.log import empty, note, room

io = st.tuples(st.integers(0, 7), st.integers(0, 3), st.integers(0, 6), st.integers(1, 3))


@given(st.lists(io))
def test_a_log_grows_and_joins_what_goes_on(ios):
    ios.sort(key=lambda one: one[1])
    log, told = empty(1), []
    for code, request, place, pages in ios:
        log = room(log, 1)
        note(log, code, request, place, pages)
        if told and told[-1][:2] == (code, request) and told[-1][2] + told[-1][3] == place:
            told[-1] = (code, request, told[-1][2], told[-1][3] + pages)
        else:
            told.append((code, request, place, pages))
    used = log.used[0]
    columns = (log.code, log.request, log.place, log.pages)
    assert list(zip(*(column[:used].tolist() for column in columns), strict=True)) == told
