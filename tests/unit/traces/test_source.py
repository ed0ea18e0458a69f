import bz2
import gzip
import lzma
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.delimited import Column, Layout, delimited
from cachezoo.traces.reading import Reading
from cachezoo.traces.source import BOM, HEAD_BYTES, Source, wide_text

TEXT = b"".join(b"%d,line\n" % k for k in range(30_000))


def framed(codec, data):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


PACKED = {
    "none": lambda data: data,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": partial(framed, "zstd"),
    "lz4": partial(framed, "lz4"),
}


PACKED_ONLY = [name for name in PACKED if name != "none"]


@pytest.mark.parametrize("name", PACKED)
def test_compression_is_recognised_by_content(tmp_path, name):
    path = tmp_path / "t.csv"
    path.write_bytes(PACKED[name](TEXT))
    source = Source(path)
    assert source.compression == name
    assert source.head() == TEXT[:HEAD_BYTES]
    assert b"".join(source.blocks(1000)) == TEXT
    assert source.consumed == source.size == path.stat().st_size
    assert all(block.endswith(b"\n") for block in source.lines(10_000))
    assert b"".join(source.lines(10_000)) == TEXT
    assert [len(block) for block in source.blocks(700)][:-1] == [700] * (len(TEXT) // 700)


@pytest.mark.parametrize("name", PACKED_ONLY)
def test_members_one_after_another_are_read_to_the_end(tmp_path, name):
    path = tmp_path / "t"
    path.write_bytes(PACKED[name](TEXT) + PACKED[name](b"more\n"))
    assert b"".join(Source(path).blocks()) == TEXT + b"more\n"


@pytest.mark.parametrize("name", PACKED_ONLY)
@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_a_damaged_file_is_a_typed_error(tmp_path, name, damage):
    path = tmp_path / "t.csv.packed"
    data = bytearray(PACKED[name](TEXT))
    middle = len(data) // 2
    path.write_bytes(data[:middle] if damage == "cut" else data[:middle] + b"\xff" * 64 + data[middle + 64 :])
    with pytest.raises(TraceError, match=r"t\.csv\.packed: damaged or cut short after [\d,]+ of [\d,]+ bytes") as error:
        for _ in Source(path).lines():
            pass
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", PACKED_ONLY)
@pytest.mark.parametrize("rest", ["garbage", "damaged"])
def test_damage_after_the_first_member_is_no_end(tmp_path, name, rest):
    path = tmp_path / "t"
    member = PACKED[name](TEXT)
    path.write_bytes(member + (b"garbage" if rest == "garbage" else b"?" + member[1:]))
    with pytest.raises(TraceError, match="damaged or cut short"):
        list(Source(path).blocks(1000))


def test_padding_after_the_last_stream_is_passed_over(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(PACKED["xz"](TEXT) + bytes(8) + PACKED["xz"](b"more\n") + bytes(4))
    assert b"".join(Source(path).blocks()) == TEXT + b"more\n"


def test_bytes_that_are_no_deflate_stream_are_a_typed_error(tmp_path):
    path = tmp_path / "t.gz"
    path.write_bytes(gzip.compress(TEXT)[:10] + b"\xff" * 100)
    with pytest.raises(TraceError, match=r"t\.gz: damaged or cut short"):
        Source(path).head()


@pytest.mark.parametrize("name", PACKED_ONLY)
def test_a_file_cut_short_says_how_far_it_could_be_read(tmp_path, name):
    rows = b"".join(b"%d,%d,7\n" % (k, k * k * 48271 % 1000003) for k in range(400_000))
    packed = PACKED[name](rows)
    path = tmp_path / "t.csv"
    path.write_bytes(packed[: len(packed) * 9 // 10])
    source, size = Source(path), len(packed) * 9 // 10
    read = b""
    with pytest.raises(TraceError, match=rf"t\.csv: damaged or cut short after {size:,} of {size:,} bytes "):
        for block in source.lines():
            assert block.endswith(b"\n")
            read += block
    assert rows.startswith(read) and len(read) > 0.6 * len(rows)
    layout = Layout((Column("a", "int"), Column("b", "int"), Column("c", "int")))
    count = read.count(b"\n")
    with pytest.raises(TraceError, match=rf"of {size:,} bytes, {count:,} rows read before it \("):
        list(delimited(Reading([source]), layout))


def test_a_dash_is_answered_with_the_name_of_standard_input():
    with pytest.raises(TraceError, match=r"^-: no such file; for what is piped in, write /dev/stdin$"):
        Source(Path("-")).head()


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(TraceError, match=r"gone: no such file"):
        _ = Source(tmp_path / "gone").compression
    with pytest.raises(TraceError, match=r"is a folder"):
        _ = Source(tmp_path).compression


def test_a_mark_does_not_make_a_beginning_the_whole_file(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(BOM + TEXT)
    assert Source(path).head() == TEXT[:HEAD_BYTES]


def test_a_file_without_lines_is_no_text(tmp_path, monkeypatch):
    monkeypatch.setattr("cachezoo.traces.source.MOST_LINE_BYTES", 1000)
    path = tmp_path / "t"
    path.write_bytes(b"x" * 5000)
    with pytest.raises(TraceError, match="a line is longer than 1,000 bytes: it is no text"):
        list(Source(path).lines(100))


def test_a_mark_at_the_beginning_is_passed_over_and_a_long_line_kept_whole(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(BOM + b"x" * 5000 + b"\nlast")
    assert Source(path).head().startswith(b"xxx")
    assert list(Source(path).lines(100)) == [b"x" * 5000 + b"\nlast"]


@pytest.mark.parametrize(
    ("name", "stem"), [("hm_0.csv.gz", "hm_0"), ("a.b.csv", "a.b"), ("OLTP.lis.zst", "OLTP"), ("t", "t")]
)
def test_stem(tmp_path, name, stem):
    assert Source(tmp_path / name).stem == stem


WIDE = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}


@pytest.mark.parametrize("encoding", WIDE)
@pytest.mark.parametrize("name", PACKED)
def test_text_in_utf_16_with_its_mark_comes_as_utf_8(tmp_path, encoding, name):
    path = tmp_path / "t.csv"
    text = TEXT + "1,Größe €,\U0001f600\n".encode()
    path.write_bytes(PACKED[name](WIDE[encoding] + text.decode().encode(encoding)))
    assert Source(path).head() == text[:HEAD_BYTES]
    assert b"".join(Source(path).lines()) == text
    assert b"".join(Source(path).blocks(701)) == BOM + text
    assert [len(block) for block in Source(path).blocks(701)][:-1] == [701] * ((len(text) + 3) // 701)


def test_damage_in_text_in_utf_16_is_of_its_row_or_of_the_file(tmp_path):
    path = tmp_path / "t.csv"
    layout = Layout((Column("n", "int"), Column("who", "text")))
    text = "1,a\n2,?\n3,c\n".encode("utf-16-le").replace("?".encode("utf-16-le"), b"\x00\xdc")
    path.write_bytes(WIDE["utf-16-le"] + text)
    with pytest.raises(TraceError, match="row 2: is no text in UTF-8"):
        list(delimited(Reading([Source(path)]), layout))
    path.write_bytes(WIDE["utf-16-le"] + text[:-1])
    with pytest.raises(TraceError, match="damaged or cut short"):
        list(Source(path).lines())


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfe" + bytes(range(256)),
        b"\xff\xfe" + b"plain text of one byte each, which is no such text\n" * 4,
        b"\xff\xfe",
        b"\xff\xfe\x01\x00\x02\x00",
        b"\xfe",
        b"",
    ],
)
def test_other_bytes_that_begin_so_are_left_as_they_are(tmp_path, data):
    path = tmp_path / "t"
    path.write_bytes(data)
    assert b"".join(Source(path).blocks()) == data
    assert wide_text(data) == ""


@pytest.mark.parametrize("encoding", WIDE)
def test_text_in_utf_16_without_its_mark_is_known(encoding):
    assert wide_text(TEXT.decode().encode(encoding)[:256]) == encoding
    assert wide_text(TEXT[:256]) == ""
