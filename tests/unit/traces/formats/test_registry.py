import re
from pathlib import Path

import pytest

from cachezoo.errors import TraceError
from cachezoo.show.markdown import between
from cachezoo.traces.formats import FORMATS, fits_of
from cachezoo.traces.recognise import choose
from cachezoo.traces.source import Source
from scripts.format_table import PAGE, table


def test_the_table_of_the_documentation_is_the_registry() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert between(text, "formats", table(), PAGE) == text, "run `python -m scripts.format_table --write`"


def test_ids_and_titles_are_unlike() -> None:
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in FORMATS)
    assert len({entry.title for entry in FORMATS.values()}) == len(FORMATS)


@pytest.mark.parametrize(
    "content",
    [
        b'{"traces": [1, 2, 3]}\n',
        b"# A heading\n\nSome text, with commas, and 1 2 3.\n",
        b"a,b,c\n1,2,3\n4,5,6\n",
        b"name,size\nfile,4096\n",
        b"\x7fELF\x02\x01\x01" + bytes(200),
        b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00" + bytes(range(256)),
        b"2024-01-01 12:00:00,192.168.0.1,GET,/index.html,200,512\n",
        bytes(4096),
        b"0.5 1 2\n0.6 1 2\n",
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other"
    path.write_bytes(content * 3)
    assert fits_of(Source(path)) == {}
    with pytest.raises(
        TraceError, match=r"other: is no trace of a known format.*; the nearest: (\w+: .*; ){2}\w+: .*\. Fix: "
    ):
        choose(Source(path), "auto", {})


@pytest.mark.parametrize("row", ["1 {} 0 0\n", "{} 0 1 1 1\n", "{} 0 1 1 1\n{} 0 2 1 0\n"])
def test_numbers_of_thousands_of_digits_are_no_trace(tmp_path: Path, row: str) -> None:
    path = tmp_path / "t"
    path.write_text(row.replace("{}", "9" * 5000))
    assert fits_of(Source(path)) == {}
