"""Open CAS' iotrace."""

import json

import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.formats import fits_of
from cachezoo.traces.formats.base import Fit
from cachezoo.traces.source import Source
from tests.trace_data import read, texts

DEVICE = {"header": {"sid": "0", "timestamp": "1"}, "deviceDescription": {"id": "2064", "name": "/dev/sda"}}


def event(time=5_001_505_432, **io):
    return {"header": {"sid": "1", "timestamp": str(time)}, "io": {"len": 8, "deviceId": "2064", **io}}


def made(tmp_path, *events):
    path = tmp_path / "t.json"
    path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in events))
    return path


def test_values_of_zero_are_left_out_of_json(tmp_path):
    path = made(
        tmp_path,
        DEVICE,
        event(operation="Write", lba="30120", len=64),
        event(5_002_000_000),
        event(5_003_000_000, lba=8),
    )
    assert fits_of(Source(path)) == {"opencas": Fit.SURE}
    trace = read(path)
    assert (trace.op.tolist(), trace.offset.tolist()) == ([1, 0, 0], [30120 * 512, 0, 4096])
    assert (trace.size.tolist(), trace.time_us.tolist()) == ([32768, 4096, 4096], [0, 495, 1495])
    assert texts(trace.volume) == ["2064"] * 3
    assert trace.meta.extra["left_out.other_events"] == "1"


def test_traces_parsed_before_have_devices_and_latencies(tmp_path):
    one = {
        "header": {"timestamp": 7000},
        "device": {"id": "1", "name": "/dev/sdb"},
        "io": {"len": 1, "latency": "2500"},
    }
    two = one | {"io": {"lba": "1", "len": 1, "latency": "0", "operation": "Write"}}
    trace = read(made(tmp_path, one, two))
    assert (texts(trace.volume), trace.latency_us.tolist()) == (["/dev/sdb"] * 2, [2, 0])


def test_what_moves_no_data_is_left_out(tmp_path):
    trace = read(made(tmp_path, event(), event(operation="Discard", lba="8", len=16), event(operation="Write", len=0)))
    assert len(trace) == 1
    assert (trace.meta.extra["left_out.discard"], trace.meta.extra["left_out.flush"]) == ("1", "1")
    assert (trace.discards.offset.tolist(), trace.discards.size.tolist()) == ([4096], [8192])


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("{", "is no event of iotrace"),
        ('{"a": 1}', "is no event of iotrace"),
        ("[" * 100_000, "is no event of iotrace"),
        (event(lba="x"), "lba is 'x', not a whole number"),
        (event(lba=True), "lba is 'True', not a whole number"),
        (event(lba="9" * 5000), "lba is '999"),
        (event(lba=1.5), "lba is '1.5'"),
        (event(operation="Sing"), "operation is 'Sing'"),
        (event(lba=-1), "offset is -512"),
        (event(deviceId="\ud800x"), "its device is "),
        ({"header": {"timestamp": 7000}, "device": {"name": "a\udfff"}, "io": {"len": 1}}, "its device is "),
    ],
)
def test_bad_rows_are_named(tmp_path, bad, said):
    path = made(tmp_path, event(), event(), bad)
    with pytest.raises(TraceError, match=f"row 3: {said}"):
        read(path)
    assert len(read(path, skip_bad_rows=1)) == 2


def test_other_json_is_no_trace(tmp_path):
    assert fits_of(Source(made(tmp_path, {"header": {}}, {"header": {"a": 1}, "ios": []}))) == {}
