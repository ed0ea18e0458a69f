"""Traces on S3, of a server on the loopback: the same requests as of files, and one line for what is not there."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from cachezoo.errors import ConfigError, TraceError
from cachezoo.io import table_batches
from cachezoo.remote import Remote, located
from cachezoo.traces.read import read_any
from cachezoo.traces.store import read_meta, write_trace
from tests.command_line import run
from tests.page_data import seeded_trace
from tests.s3_server import BUCKET, s3_server

KEY = f"s3://{BUCKET}/web/a.parquet"


@pytest.fixture(scope="module")
def served():
    with s3_server() as server:
        yield server


@pytest.fixture
def s3(served, monkeypatch):
    for name, value in served.env.items():
        monkeypatch.setenv(name, value)
    return served


@pytest.fixture
def trace(s3, tmp_path):
    write_trace(seeded_trace(3000, 200, seed=5), tmp_path / "a.parquet")
    s3.client.upload_file(str(tmp_path / "a.parquet"), BUCKET, "web/a.parquet")
    return tmp_path / "a.parquet"


def test_an_object_is_read_as_the_file_that_it_was(trace):
    found, own = read_any(located(KEY)), read_any(trace)
    assert (found.meta, read_meta(located(KEY))) == (own.meta, own.meta)
    for name in ("time_us", "op", "offset", "size"):
        assert np.array_equal(getattr(found, name), getattr(own, name))
    rows = [batch.num_rows for batch in table_batches(located(KEY), ["offset"])]
    assert rows == [batch.num_rows for batch in table_batches(trace, ["offset"])]


def test_raw_text_is_read_from_s3_compressed_too(s3, tmp_path):
    text = b"".join(b"%d,0,R,%d,4096\n" % (k, k % 70 * 4096) for k in range(500))
    (tmp_path / "a.csv").write_bytes(text)
    s3.client.put_object(Bucket=BUCKET, Key="a.csv.gz", Body=gzip.compress(text))
    asked = ("--columns", "time=#1:ms,op=#3,offset=#4:1,size=#5:1", "--policy", "lru", "--size", "20p", "--json")
    found, own = (
        json.loads(run("simulate", place, *asked).stdout)["runs"][0]
        for place in (f"s3://{BUCKET}/a.csv.gz", tmp_path / "a.csv")
    )
    assert {**found, "requests_per_s": 0} == {**own, "requests_per_s": 0}


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (f"s3://{BUCKET}/none.parquet", f"s3://{BUCKET}/none.parquet: no such file"),
        ("s3://nowhere/a.parquet", "s3://nowhere/a.parquet: there is no bucket nowhere"),
        (f"s3://{BUCKET}/web", f"s3://{BUCKET}/web: is a folder; name the trace's files"),
    ],
)
def test_what_is_not_there_is_one_line(trace, key, said):
    with pytest.raises(TraceError) as error:
        read_any(located(key))
    assert str(error.value) == said
    assert run("simulate", key, ok=False).stderr == f"cachezoo: {said}\n"


def test_a_bucket_without_rights_is_one_line(trace, s3):
    with s3.closed(), pytest.raises(TraceError, match=f"^{KEY}: S3 gives no right to read it; [^\n]*$"):
        read_any(located(KEY))
    assert read_any(located(KEY))


def test_a_server_that_does_not_answer_is_one_line(s3, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(TraceError, match=f"^{KEY}: S3 does not give it [^\n]*; check AWS_ENDPOINT_URL and AWS_REGION$"):
        read_any(located(KEY))


def test_objects_are_not_written(s3):
    with pytest.raises(OSError, match="can only be read"):
        located(KEY).open("wb")


def test_a_place_is_a_file_or_an_object():
    assert located("a/b.csv") == Path("a/b.csv")
    assert str(located("file:///a/b%20c.csv")) == "/a/b c.csv"
    one = located("s3://b/k/x.parquet")
    assert (str(one), one.name, one.suffix, str(one.parent)) == (
        "s3://b/k/x.parquet",
        "x.parquet",
        ".parquet",
        "s3://b/k",
    )
    assert isinstance(one.parent, Remote)
    for text in ("s3://bucket", "s3:///key", "gs://b/k", "file://host/a"):
        with pytest.raises(ConfigError, match=f"^{text}: is no place of a trace; "):
            located(text)
