"""Applications from traces, mixtures and volumes, and the order of their references."""

from dataclasses import replace

import numpy as np
import pytest

from cachezoo.coded import Coded
from cachezoo.errors import ConfigError, TraceError
from cachezoo.questions.share.mix import Application, check_names, lockstep, mix_pages, mix_traces
from cachezoo.traces.mixing import interleave
from cachezoo.traces.pages import expand_pages
from tests.sharing_data import named_trace, numbered, small_mix

A, B = named_trace("a", 60, 20, 1), named_trace("b", 30, 9, 2)


def test_lockstep_takes_one_of_each_in_turn_and_one_that_ended_is_over():
    assert lockstep([3, 1, 2]).tolist() == [0, 1, 2, 0, 2, 0]


def test_each_application_keeps_its_own_pages_in_its_own_order():
    mix = mix_traces([A, B], "lockstep")
    assert (mix.names, mix.count, mix.order) == (("a", "b"), 2, "lockstep")
    for own, trace, places in zip(mix.applications, (A, B), mix.at, strict=True):
        pages = expand_pages(trace)
        assert own.page_ids.tolist() == pages.page_ids.tolist() and len(own) == len(places)
        assert (np.diff(places) > 0).all()
    assert mix.n_pages == sum(one.n_pages for one in mix.applications)
    assert set(mix.page_ids[mix.at[0]]).isdisjoint(mix.page_ids[mix.at[1]])
    assert mix.page_ids[mix.at[1]].tolist() == (mix.applications[1].page_ids + mix.applications[0].n_pages).tolist()


def test_distinct_pages_grow_to_all():
    mix = mix_traces([A, B])
    plain = [len(set(mix.page_ids[: k + 1].tolist())) for k in range(len(mix))]
    assert mix.distinct.tolist() == plain and plain[-1] == mix.n_pages


def test_by_clock_references_come_by_time_and_of_equals_those_named_first():
    first = replace(A, time_us=np.full(len(A), 5, np.int64) + np.arange(len(A)) // 10)
    second = replace(B, time_us=np.full(len(B), 5, np.int64) + np.arange(len(B)) // 20)
    mix = mix_traces([first, second], "clock")
    times = [np.repeat(trace.time_us, np.diff(expand_pages(trace).request_start)) for trace in (first, second)]
    found = mix.spread([own.astype(np.int32) for own in times])
    assert (np.diff(found) >= 0).all()
    for time in np.unique(found):
        assert (np.diff(mix.app[found == time]) >= 0).all()


def test_auto_is_the_clock_where_all_have_one():
    assert mix_traces([A, B]).order == "clock"
    assert mix_traces([A, numbered(B)]).order == "lockstep"


def test_a_trace_without_a_clock_is_named_where_it_makes_the_order_lockstep():
    assert mix_traces([A, B]).remarks == mix_traces([A, numbered(B)], "lockstep").remarks == ()
    said = "no clock: page accesses come in lockstep, one of each in turn"
    assert mix_traces([A, numbered(B)]).remarks == (f"b has {said}",)
    assert mix_traces([numbered(A), numbered(B)]).remarks == (f"a and 1 more have {said}",)


def lasting(trace, seconds):
    """The trace, stretched to so many seconds."""
    return replace(trace, time_us=np.linspace(0, seconds * 1e6, len(trace)).astype(np.int64))


def test_traces_that_hardly_run_at_the_same_time_are_not_ordered_by_clock_unless_asked():
    week, minutes = lasting(A, 7 * 86400), lasting(B, 490)
    said = (
        "a lasts 7 days, b 8.17 min: by the clock, from 0 on, they hardly ever run at the same time; "
        "use --order lockstep, or --order clock if that is meant"
    )
    with pytest.raises(ConfigError, match=f"^{said}$"):
        mix_traces([week, minutes])
    assert mix_traces([week, minutes], "clock").remarks == (said.partition(";")[0],)
    assert mix_traces([week, minutes], "lockstep").remarks == ()
    assert mix_traces([lasting(A, 10), lasting(B, 1)]).order == "clock"
    with pytest.raises(ConfigError, match=r"^a lasts 11 s, b 1 s: "):
        mix_traces([lasting(A, 11), lasting(B, 1)])


def test_parts_of_one_trace_have_its_clock_however_short_they_are():
    early = Coded((np.arange(len(A)) > 4).astype(np.int32), ("x", "y"))
    mix = mix_traces([replace(lasting(A, 1000), volume=early)], apart="volume")
    assert mix.order == "clock" and mix.remarks == ()


def test_days_that_pass_at_different_paces_are_said_and_run_all_the_same():
    def paced(trace, scale):
        return replace(trace, meta=replace(trace.meta, extra={"time_scale": scale}))

    assert mix_traces([paced(A, "576"), paced(B, "576")]).remarks == ()
    mix = mix_traces([paced(A, "576"), paced(B, "720")])
    assert mix.remarks == (
        "a second of a stands for 576 s of its day, one of b for 720 s: by the clock b comes 1.25 times too fast "
        "next to a; if that is too much, use --order lockstep, where all are equally busy",
    )
    assert mix.app.tolist() == mix_traces([A, B]).app.tolist()


def test_a_trace_without_a_clock_has_no_place_among_times():
    with pytest.raises(ConfigError, match=r"^b: its trace has no clock.* use --order lockstep$"):
        mix_traces([A, numbered(B)], "clock")


def test_a_mixture_is_taken_apart_by_source_at_its_own_times():
    merged = interleave([A, B], "both")
    mix = mix_traces([merged])
    assert mix.names == ("a", "b") and mix.order == "clock"
    assert mix.app.tolist() == mix_traces([A, B], "clock").app.tolist()
    assert mix_traces([interleave([A, numbered(B)], "both")]).order == "lockstep"


def test_one_trace_is_taken_apart_by_volume():
    volumes = Coded(np.arange(len(A), dtype=np.int32) % 3, ("x", "unused", "z"))
    two = replace(A, volume=Coded(np.where(volumes.codes == 1, 0, volumes.codes).astype(np.int32), volumes.names))
    assert mix_traces([two], apart="volume").names == ("x", "z")
    assert mix_traces([two, B], apart="volume").names == ("a/x", "a/z", "b/vda")
    with pytest.raises(ConfigError, match=r"one trace, which is no mixture.*--apart volume"):
        mix_traces([two])


def test_a_volume_of_one_request_has_the_clock_of_its_trace():
    codes = np.arange(len(A), dtype=np.int32) % 2
    codes[7] = 2
    disk = replace(A, volume=Coded(codes, ("x", "y", "rare")))
    assert mix_traces([disk], apart="volume").order == mix_traces([disk], "clock", "volume").order == "clock"
    assert mix_traces([numbered(disk)], apart="volume").order == "lockstep"


def test_names_replace_those_of_traces():
    assert mix_traces([A, B], names=("x", "y")).names == ("x", "y")
    with pytest.raises(ConfigError, match=r"^1 names for 2 applications; give one each$"):
        mix_traces([A, B], names=("x",))


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], "no application is named"),
        (["a"], "there is one application, a; a cache is shared by at least 2"),
        (["a", "b", "a"], "2 applications are called a; give each a name of its own"),
        ([str(k) for k in range(1025)], "1025 applications; at most 1024"),
    ],
)
def test_applications_that_cannot_share_are_refused(names, said):
    with pytest.raises(ConfigError, match=said):
        check_names(names)


def test_one_trace_alone_is_refused():
    with pytest.raises(
        ConfigError, match=r"^a: one trace, which is no mixture of several; name at least one more trace$"
    ):
        mix_traces([A])


def test_an_application_without_references_is_named():
    with pytest.raises(TraceError, match=r"^none: it has no reference"):
        mix_pages([Application("some", np.zeros(3, np.int32), 1), Application("none", np.zeros(0, np.int32), 0)])


def test_requests_without_a_source_are_refused():
    merged = interleave([A, B], "both")
    codes = merged.source.codes.copy()
    codes[:4] = -1
    with pytest.raises(TraceError, match=r"^both: 4 of its requests have no source"):
        mix_traces([replace(merged, source=Coded(codes, merged.source.names))])


def test_sixteen_applications_and_more():
    mix = mix_pages([Application(str(k), np.arange(k + 1, dtype=np.int32), k + 1) for k in range(64)])
    assert mix.count == 64 and len(mix) == 64 * 65 // 2 and mix.app[:64].tolist() == list(range(64))


def test_a_mix_of_page_references_is_in_lockstep():
    mix = small_mix(10)
    assert mix.app[:6].tolist() == [0, 1, 2, 0, 1, 2] and mix.order == "lockstep"
