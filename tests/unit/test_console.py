"""What progress says where there is no terminal."""

import pytest

from cachezoo import console


@pytest.fixture
def lines(monkeypatch, capsys):
    """Says how far each moment is, and returns what was printed."""

    def at(*moments: tuple[float, float]) -> list[str]:
        times = iter([0.0, *(time for time, _ in moments)])
        monkeypatch.setattr(console.time, "monotonic", lambda: next(times))
        console.err.cache_clear()
        with console.progress("work", 100) as advance:
            for _, done in moments:
                advance(done)
        console.err.cache_clear()
        return capsys.readouterr().err.splitlines()

    return at


def test_no_time_to_go_is_told_from_a_first_step_that_may_be_the_slowest(lines):
    assert lines((11, 1), (22, 50)) == ["work: 1 %", "work: 50 %, 22 s to go"]


def test_long_work_tells_a_time_to_go_before_a_tenth_is_done(lines):
    assert lines((61, 5)) == ["work: 5 %, 1159 s to go"]
