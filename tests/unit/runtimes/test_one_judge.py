"""Python's reader and libcachezoo refuse the same bundles, each in one line."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cachezoo.bundles.integrity import archive_bytes
from cachezoo.bundles.protocol import ACTS
from tests import signed
from tests.judges import by_c, by_python, comparable
from tests.refused import CASES, setting, stored
from tests.sealed import files_of, sealed

KINDS = ("admission", "caching", "policy", "reuse", "streams", "streams.spool", "virtual", "workload")


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


# In the place of every value that decides.
ODD: list[Any] = [None, True, -1, 0, 1, 0.5, 70_000, 1e308, -(1 << 63), "", "x", "1", [], {}, [1], ["x"]]
DECIDING = ("policy", "calibration", "geometry", "arch", "features", "encodings")


def places(value: object, at: str) -> Iterator[str]:
    """Of a value, and of all in it; of a list's those of its first and its last."""
    yield at
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], f"{at}.{key}")
    elif isinstance(value, list):
        for number in sorted({0, len(value) - 1}) if value else ():
            yield from places(value[number], f"{at}.{number}")


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_both_judge_every_odd_value_alike(kind, path):
    files = files_of(stored(kind))
    whole, found = json.loads(files[ACTS]), []
    for place in [place for top in DECIDING if top in whole for place in places(whole[top], top)]:
        for value in ODD:
            document = json.loads(files[ACTS])
            setting(place, value)(document)
            changed = {**files, ACTS: json.dumps(document, indent=2, sort_keys=True).encode()}
            path.write_bytes(archive_bytes(sealed(changed)))
            python, c = by_python(path), by_c(path)
            if comparable(python) and (python is None) != (c is None):
                found.append(f"{place} as {value!r}: Python says {python}, libcachezoo {c}")
    assert not found, "\n".join(found)


@pytest.mark.needs("libsodium")
@pytest.mark.parametrize("case", signed.CASES, ids=lambda case: case.name)
def test_both_hold_a_bundle_to_a_signed_release(case, tmp_path):
    path, key = case.world().write(tmp_path)
    for line in (by_python(path, key), by_c(path, key)):
        if not case.says:
            assert line is None
            continue
        assert line is not None and str(tmp_path) in line
        assert "\n" not in line and len(line) < 512
        assert re.search(case.says, line), line


@pytest.mark.needs("libsodium")
@pytest.mark.parametrize("judge", [by_python, by_c])
def test_a_bundle_that_is_named_by_no_name_is_refused_and_slashes_at_the_end_are_no_name(judge, tmp_path, monkeypatch):
    world = signed.World(name=signed.ID)
    path, key = world.write(tmp_path)
    assert judge(Path(f"{path}/./"), key) is None
    monkeypatch.chdir(path)
    for name in (".", "..", "golden/.."):
        line = judge(Path(name), key)
        assert line is not None and (name == ".." or "give the bundle by its name" in line), name
    monkeypatch.chdir(tmp_path)
    assert judge(Path(signed.ID), key) is None


@pytest.mark.parametrize("judge", [by_python, by_c])
def test_a_key_in_the_environment_is_one_that_is_set_and_an_empty_one_is_none(judge, tmp_path, monkeypatch):
    path, key = signed.World(without="release.sig").write(tmp_path)
    monkeypatch.setenv("CACHEZOO_KEY", "")
    assert judge(path) is None
    monkeypatch.setenv("CACHEZOO_KEY", str(key))
    assert "asks for a signed release" in str(judge(path))
    monkeypatch.setenv("CACHEZOO_KEY", str(tmp_path / "nowhere"))
    assert "no bundle is opened without the key that is set" in str(judge(path))


def test_what_python_alone_sees_is_not_held_against_libcachezoo(path):
    files = files_of(stored("admission"))
    document = json.loads(files[ACTS])
    setting("golden.branches.admit", 0)(document)
    path.write_bytes(archive_bytes(sealed({**files, ACTS: json.dumps(document).encode()})))
    line = by_python(path)
    assert line is not None and not comparable(line) and by_c(path) is None
    assert comparable(None) and comparable("model.json: $.features is missing")
