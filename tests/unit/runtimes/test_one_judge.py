"""Python's reader and libcachezoo refuse the same bundles, each in one line."""

import re
from pathlib import Path

import pytest

from cachezoo.bundles.archive import archive_bytes
from tests.judges import by_c, by_python, comparable
from tests.refused import CASES, stored
from tests.sealed import files_of, sealed

KINDS = ("admission", "caching", "prefetch", "reuse", "streams", "virtual", "workload")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "bundle.zip"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_both_refuse_it_in_one_line(case, path):
    path.write_bytes(archive_bytes(case.files()))
    for line in (by_python(path), by_c(path)):
        assert line is not None and str(path) in line
        assert "\n" not in line and len(line) < 512
        assert re.search(case.says, line), line


@pytest.mark.parametrize("kind", KINDS)
def test_both_verify_what_is_sealed_again(kind, path):
    path.write_bytes(archive_bytes(sealed(files_of(stored(kind)))))
    assert by_python(path) is None and by_c(path) is None


def test_what_python_alone_sees_is_not_held_against_libcachezoo(path):
    files = files_of(stored("admission"))
    path.write_bytes(archive_bytes(sealed({**files, "model.onnx": b""})))
    line = by_python(path)
    assert line is not None and not comparable(line) and by_c(path) is None
    assert comparable(None) and comparable("model.json: $.inputs is missing")
