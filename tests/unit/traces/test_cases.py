"""Small files of others that were read wrongly or not at all, with what is right of each."""

import numpy as np
import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.formats.columns import parsed
from cachezoo.traces.ingest import describe_files
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.read import TraceFiles, read_files
from cachezoo.traces.recognise import UnclearTrace
from tests.trace_data import sample

pytestmark = pytest.mark.needs("public_traces")
BYTES = 3_485_696
SAME = {"requests": 300, "reads": 193, "bytes": BYTES, "pages": 771}
SENT = SAME | {"span_ms": 739}


def figures(name: str, columns: str = "", skip_bad_rows: int = 0, **given: str) -> dict[str, int]:
    """What a file of the cases holds."""
    options = parsed(columns) if columns else given
    files = TraceFiles(
        [sample(f"cases/{name}")], "columns" if columns else "auto", options=options, skip_bad_rows=skip_bad_rows
    )
    trace = read_files(files, quiet=True)
    return {
        "requests": len(trace),
        "reads": int(np.count_nonzero(trace.op == 0)),
        "bytes": int(trace.size.sum()),
        "pages": expand_pages(trace).n_pages,
        "span_ms": round(int(trace.time_us[-1]) / 1000),
        "volumes": len(trace.volume.names),
    }


@pytest.mark.parametrize(
    ("name", "columns", "right"),
    [
        (
            "alibaba-quoted-fields.csv",
            "",
            {"requests": 300, "reads": 205, "bytes": 7_442_432, "pages": 1730, "volumes": 3},
        ),
        ("hdr_disksim.txt", "", SENT),
        ("hdr_fiu.txt", "", SENT),
        ("hdr_spc.csv", "", SENT),
        ("hdr_tencent.csv", "", SAME),
        ("msr-timestamps-in-scientific-notation.csv", "", SENT),
        ("msr-utf-16-powershell.csv", "", SENT),
        ("parquet-with-canonical-names-no-metadata.parquet", "", SENT),
        ("foreign-pandas.parquet", "time=ts,offset=lba:512,size=len,op=op", SENT),
        ("foreign-pandas.parquet", "time=ts:date,offset=lba:512,size=len,op=op", SENT),
        ("msr.csv.lz4", "", SENT),
        ("hex-addresses-without-0x.csv", "time=time:s,offset=addr,size=len,op=rw", SENT),
        ("hex-addresses-without-0x.csv", "time=time:s,offset=addr:hex,size=len:hex,op=rw", SENT),
        (
            "semicolon-decimal-comma.csv",
            "time=Zeit:s,offset=Adresse,size=Groesse,op=Vorgang:Lesen/Schreiben",
            SENT,
        ),
    ],
)
def test_a_file_of_others_has_its_right_figures(name, columns, right):
    found = figures(name, columns)
    assert {figure: found[figure] for figure in right} == right


def test_an_empty_row_of_a_data_frame_is_one_bad_row():
    name, columns = "pandas-floats-and-one-empty-row.csv", "time=timestamp_us:us,offset=offset,size=size,op=op"
    with pytest.raises(TraceError, match="row 21: offset is empty; fill it in or drop the row"):
        figures(name, columns)
    assert figures(name, columns, skip_bad_rows=1)["requests"] == 299


def test_a_log_of_fio_that_may_count_nanoseconds_is_asked_for():
    name = "fio-iolog-v3-with-nanoseconds.log"
    with pytest.raises(UnclearTrace, match="--option time_unit=ns") as raised:
        figures(name)
    assert [row["span"] for row in raised.value.rows] == ["12.3 min", "0.739 s"]
    assert figures(name, time_unit="ns")["span_ms"] == 739


def test_milliseconds_since_1970_of_objects():
    stats = describe_files(TraceFiles([sample("cases/libcachesim-csv-milliseconds-since-1970.csv")]))
    assert (stats["objects"], stats["span_s"]) == (400, 5.894)


def test_ids_that_count_blocks_of_4_kib_are_addresses_in_them():
    found = figures("oracleGeneral-ids-count-4KiB-blocks-scan.bin")
    assert (found["requests"], found["pages"]) == (3000, 3000)  # no page twice: nothing can hit
