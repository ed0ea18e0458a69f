import numpy as np
import pytest

from cachezoo.errors import ConfigError, TraceError
from cachezoo.traces.mixing import sources
from cachezoo.traces.pages import expand_pages
from lab.reconfigure.streams import Phase, changing
from tests.lab.changing_data import CLASSES, part, stream


def test_phases_take_turns_and_each_request_keeps_its_own_times():
    parts = [part("mail", n=500), part("web", n=700, seed=3)]
    made = changing("two", parts, 200, 2, 0.25)
    assert made.phases == (
        Phase("mail_test", "mail", 0, 200), Phase("web_test", "web", 200, 400),
        Phase("mail_test", "mail", 400, 600), Phase("web_test", "web", 600, 800),
    )  # fmt: skip
    assert made.categories == ["mail", "web"]
    source = sources(made.trace)
    for own in parts:
        rows = np.flatnonzero(source.codes == source.names.index(own.key))
        assert len(rows) == 400
        for phase in made.phases:
            inside = (rows >= phase.first) & (rows < phase.end)
            assert inside.sum() == (200 if phase.key == own.key else 0)
        np.testing.assert_array_equal(made.trace.size[rows], own.trace.size[:400])
        np.testing.assert_array_equal(made.times.hdd_us[rows], own.hdd_us[:400])
        np.testing.assert_array_equal(made.times.ssd_us[rows], own.ssd_us[:400])
    assert (np.diff(made.trace.time_us) >= 0).all()


def test_the_cache_is_a_part_of_one_workload_s_pages():
    parts = [part("mail"), part("web", seed=3)]
    made = changing("two", parts, 300, 2, 0.25)
    distinct = [expand_pages(own.trace.rows(0, 600)).n_pages for own in parts]
    assert made.pages.n_pages == sum(distinct)
    assert made.capacity == round(0.25 * round(sum(distinct) / 2))
    first = made.first_counted
    assert made.pages.request_start[first - 1] < made.warmup <= made.pages.request_start[first]


def test_turns_are_as_long_as_the_shortest_trace_allows():
    made = changing("two", [part("mail", n=90), part("web")], 200, 2, 0.25)
    assert [phase.end for phase in made.phases] == [45, 90, 135, 180]


def test_codes_are_places_among_the_classes():
    made = stream(100)
    np.testing.assert_array_equal(made.codes(["web", "other", "mail"]), [2] * 100 + [0] * 100)
    with pytest.raises(ConfigError, match="stream 1: web_test is of web; the classes are mail"):
        made.codes(["mail"])


@pytest.mark.parametrize(("requests", "periods"), [(0, 1), (100, 0), (-5, 2)])
def test_refuses_turns_of_nothing(requests, periods):
    said = f"two: turns of {requests} requests, {periods} periods; give at least 1 of each"
    with pytest.raises(ConfigError, match=said):
        changing("two", [part(name) for name in CLASSES], requests, periods, 0.25)


def test_refuses_one_workload_and_one_too_short_for_its_turns():
    with pytest.raises(ConfigError, match="at least two"):
        changing("one", [part("mail")], 100, 1, 0.25)
    with pytest.raises(ConfigError, match="2 traces are called mail_test"):
        changing("twice", [part("mail"), part("mail")], 100, 1, 0.25)
    with pytest.raises(TraceError, match="ask for less"):
        changing("long", [part("mail", n=3), part("web")], 100, 4, 0.25)
