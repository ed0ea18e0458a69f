"""RC-RNN's scenarios (Table 1, Sec. 3.2 and 5.4), rebuilt from captured and from public traces by transforms.

The paper's own traces (Radius_Auth, mail_index, home_ikki, enterprise_tpc_1 of SNIA's collection) are not at hand;
what is rebuilt is how the scenarios are made: two, three and four applications, each scenario keeping those of the one
before; workload types that change periodically; concurrent streams in shares; and a change after 50,000 requests.
"""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from cachezoo.traces.mixing import Turn, in_turns, interleave, sources
from cachezoo.traces.sampling import sample
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import CODED_COLUMNS, Trace, validate
from cachezoo.traces.transforms import cut, split_by
from tests.trace_data import read, texts
from tests.trace_data import sample as public_sample

WINDOW = 100
CAPTURED = Path(__file__).resolve().parents[3] / "data/raw/captured"
# Table 1: the number of applications of each scenario; those of a smaller one are in the larger one.
SCENARIOS = {"single_purpose_server": 2, "virtualization_server": 3, "storage_system": 4}
APPLICATIONS = {
    "captured": ("database_test", "web_test", "database_validation", "web_train"),
    # A mail server, a database's pages, a virtual machine, and cloud volumes.
    "public": (
        "block/postmark.disksim.gz",
        "lbn/OLTP.lis.zst",
        "block/cloudphysics.vscsi",
        "fixtures/tencent_cbs.bz2",
    ),
}
FROM = [
    pytest.param("captured", id="captured"),
    pytest.param("public", id="public", marks=pytest.mark.needs("public_traces")),
]


@cache
def application(origin: str, name: str) -> Trace:
    """Its first requests; of OLTP, whose rows are accesses without times, a spatial sample."""
    if origin == "captured":
        return cut(read_trace(CAPTURED / f"{name}.parquet"), last=60_000)
    trace = read(public_sample(name))
    trace = replace(trace, meta=replace(trace.meta, trace_id=Path(name).name.split(".")[0]))
    return cut(sample(trace, 0.5, 11) if name.startswith("lbn") else trace, last=50_000)


def applications(origin: str, scenario: str) -> list[Trace]:
    return [application(origin, name) for name in APPLICATIONS[origin][: SCENARIOS[scenario]]]


def check_own_requests(mixed: Trace, given: list[Trace], counts: list[int]) -> None:
    """Each source's requests come back, in order, with all columns that the source has but its times."""
    parts = split_by(mixed, "source")
    assert list(parts) == [trace.meta.trace_id for trace in given]
    for trace, count in zip(given, counts, strict=True):
        part = parts[trace.meta.trace_id]
        assert len(part) == count
        for name in ("op", "offset", "size"):
            np.testing.assert_array_equal(getattr(part, name), getattr(trace, name)[:count])
        if trace.latency_us is not None:
            np.testing.assert_array_equal(part.latency_us, trace.latency_us[:count])
        for name in set(CODED_COLUMNS) - {"source"}:
            if (column := getattr(trace, name)) is not None:
                prefix = f"{trace.meta.trace_id}/" if name == "volume" else ""
                assert texts(getattr(part, name)) == [f"{prefix}{text}" for text in texts(column)[:count]]


def check_windows(mixed: Trace, given: list[Trace]) -> None:
    """What the column says of each window of 100 is what is found by taking requests off the sources one by one."""
    codes, cursors = sources(mixed).codes.tolist(), [0] * len(given)
    assert sources(mixed).names == tuple(trace.meta.trace_id for trace in given)
    columns = [[trace.op.tolist(), trace.offset.tolist(), trace.size.tolist()] for trace in given]
    rows = list(zip(mixed.op.tolist(), mixed.offset.tolist(), mixed.size.tolist(), strict=True))
    volumes = texts(mixed.volume)
    for start in range(0, len(mixed) - WINDOW + 1, WINDOW):
        for row in range(start, start + WINDOW):
            label = codes[row]
            assert rows[row] == tuple(column[cursors[label]] for column in columns[label])
            assert volumes[row].startswith(f"{given[label].meta.trace_id}/")
            cursors[label] += 1


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("origin", FROM)
def test_workload_types_change_periodically(origin, scenario):
    given = applications(origin, scenario)
    turns = [Turn(trace.meta.trace_id, requests=1000) for trace in given]
    mixed = validate(in_turns(given, scenario, turns, periods=40), scenario)
    codes = sources(mixed).codes
    wanted = np.tile(np.repeat(np.arange(len(given)), 1000), 40)
    np.testing.assert_array_equal(codes, wanted)  # so changes fall on every 1,000th request, and only there
    np.testing.assert_array_equal(np.flatnonzero(np.diff(codes)) + 1, np.arange(1000, len(mixed), 1000))
    windows = codes.reshape(-1, WINDOW)
    assert (windows == windows[:, :1]).all() and len(windows) == 400 * len(given)
    check_own_requests(mixed, given, [40_000] * len(given))
    check_windows(mixed, given)
    # Each clock runs in its own turns alone: together they last as long as the sources' own clocks ran.
    ran = [int(trace.time_us[40_000] - trace.time_us[0]) for trace in given]
    last = len(given) - 1
    tail = given[last].time_us[40_000] - given[last].time_us[39_999]
    assert mixed.time_us[0] == 0 and mixed.time_us[-1] == sum(ran) - tail


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("origin", FROM)
def test_applications_run_side_by_side(origin, scenario):
    given = applications(origin, scenario)
    weights = (0.4, 0.3, 0.2, 0.1)[: len(given)]
    mixed = validate(interleave(given, scenario, weights), scenario)
    codes = sources(mixed).codes
    counts = np.bincount(codes, minlength=len(given))
    np.testing.assert_allclose(counts / len(mixed), np.array(weights) / sum(weights), atol=1e-4)
    check_own_requests(mixed, given, counts.tolist())
    check_windows(mixed, given)
    ends = [int(mixed.time_us[codes == k][-1]) for k in range(len(given))]
    assert set(ends) == {int(mixed.time_us[-1])}
    said = json.loads(mixed.meta.extra["transforms"])[0]["interleave"]
    assert said["requests"] == dict(zip((trace.meta.trace_id for trace in given), counts.tolist(), strict=True))


@pytest.mark.parametrize("share", [0.6, 0.8])
@pytest.mark.parametrize("origin", FROM)
def test_mixtures_of_two_and_the_majority_of_their_windows(origin, share):
    given = applications(origin, "single_purpose_server")
    mixed = interleave(given, "mixture", (share, 1 - share))
    codes = sources(mixed).codes
    assert abs((codes == 0).mean() - share) < 1e-4
    whole = len(mixed) // WINDOW * WINDOW
    issued = (codes[:whole].reshape(-1, WINDOW) == 0).sum(axis=1)
    assert len(issued) >= 100 and abs(issued.sum() / whole - share) < 0.001
    check_own_requests(mixed, given, np.bincount(codes).tolist())


@pytest.mark.parametrize("origin", FROM)
def test_one_workload_follows_another_after_50_000_requests(origin):
    """Sec. 5.4, Fig. 17: 50,000 requests of one workload, then 50,000 of another."""
    given = [application(origin, APPLICATIONS[origin][k]) for k in (0, 2)]
    half = 50_000
    turns = [Turn(trace.meta.trace_id, requests=half) for trace in given]
    mixed = validate(in_turns(given, "change", turns), "change")
    np.testing.assert_array_equal(sources(mixed).codes, np.repeat([0, 1], half))
    check_own_requests(mixed, given, [half, half])
    np.testing.assert_array_equal(np.diff(mixed.time_us[half:]), np.diff(given[1].time_us[:half]))


@pytest.mark.parametrize("origin", FROM)
def test_applications_keep_their_clocks(origin):
    given = [cut(trace, stop_s=60.0) for trace in applications(origin, "virtualization_server")]
    mixed = validate(interleave(given, "as_traced"), "as_traced")
    check_own_requests(mixed, given, [len(trace) for trace in given])
    for trace, part in zip(given, split_by(mixed, "source").values(), strict=True):
        np.testing.assert_array_equal(part.time_us, trace.time_us)


def test_changes_at_set_times():
    given = applications("captured", "virtualization_server")
    turns = [Turn(trace.meta.trace_id, seconds=10.0) for trace in given]
    mixed = validate(in_turns(given, "days", turns, periods=5), "days")
    np.testing.assert_array_equal(sources(mixed).codes, mixed.time_us // 10_000_000 % 3)
    check_own_requests(mixed, given, [int(np.searchsorted(trace.time_us, 50_000_000)) for trace in given])
