import os
import shutil
import signal
import subprocess
import sys

import pytest

from cachezoo.errors import CachezooError
from cachezoo.io import atomic_dir, atomic_file, dump_json, read_json, write_json
from cachezoo.seeds import derive_seed


def test_seeds_have_golden_values():
    assert derive_seed(1, "train", "mail", 3) == derive_seed(1, "train", "mail", 3)
    assert derive_seed(1, "train", "mail") != derive_seed(1, "train", "web")
    assert derive_seed(1, "train", 3) != derive_seed(1, "train", "3")
    assert derive_seed(20, "golden") == 1500595226


def test_json_is_sorted_and_refuses_nan(tmp_path):
    assert dump_json({"b": 1, "a": [1.5]}) == '{\n  "a": [\n    1.5\n  ],\n  "b": 1\n}\n'
    with pytest.raises(CachezooError, match=r"\$\.a\[1\]\.x is NaN"):
        write_json(tmp_path / "x.json", {"a": [0, {"x": float("nan")}]})
    assert list(tmp_path.iterdir()) == []


def test_read_json_names_the_file(tmp_path):
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(CachezooError, match=r"x\.json: not readable as JSON"):
        read_json(tmp_path / "x.json")


def test_json_that_is_nested_too_deeply_is_named(tmp_path):
    (tmp_path / "x.json").write_text("[" * 20_000)
    with pytest.raises(CachezooError, match=r"x\.json: not readable as JSON \(nested too deeply\)$"):
        read_json(tmp_path / "x.json")


def test_atomic_outputs_are_whole_or_absent(tmp_path):
    (tmp_path / "f").write_text("old")
    with pytest.raises(RuntimeError), atomic_file(tmp_path / "f") as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert (tmp_path / "f").read_text() == "old"
    with pytest.raises(RuntimeError), atomic_dir(tmp_path / "d") as folder:
        (folder / "x").write_text("half")
        raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    with atomic_dir(tmp_path / "d") as folder:
        (folder / "x").write_text("whole")
    assert (tmp_path / "d" / "x").read_text() == "whole"


@pytest.fixture
def folder(tmp_path):
    with atomic_dir(tmp_path / "d") as temporary:
        (temporary / "x").write_text("old")
    return tmp_path / "d"


def replace(folder):
    with atomic_dir(folder) as temporary:
        (temporary / "y").write_text("new")


def test_a_folder_is_replaced_whole(folder):
    replace(folder)
    assert [path.name for path in folder.iterdir()] == ["y"]
    assert [path.name for path in folder.parent.iterdir()] == ["d"]


@pytest.mark.parametrize("failing", [1, 2])
def test_a_folder_that_cannot_be_replaced_is_left_alone(folder, monkeypatch, failing):
    rename, calls = os.replace, []

    def fail(source, target):
        calls.append(source)
        if len(calls) == failing:
            raise PermissionError(13, "Permission denied", str(source))
        rename(source, target)

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(PermissionError):
        replace(folder)
    assert (folder / "x").read_text() == "old"
    assert [path.name for path in folder.parent.iterdir()] == ["d"]


def test_the_old_folder_is_deleted_only_once_the_new_one_is_in_place(folder, monkeypatch):
    delete, seen = shutil.rmtree, []

    def look(path, **options):
        seen.append((folder / "y").exists())
        delete(path, **options)

    monkeypatch.setattr(shutil, "rmtree", look)
    replace(folder)
    assert seen
    assert all(seen)


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(CachezooError, match=r"is a folder"):
        write_json(tmp_path, {})
    (tmp_path / "f").write_text("")
    with pytest.raises(CachezooError, match=r"f/x\.json: cannot be written"):
        write_json(tmp_path / "f" / "x.json", {})


KILLED = """
import os, signal, sys
from pathlib import Path
from cachezoo.io import atomic_dir, atomic_file
with {writer}(Path(sys.argv[1])) as temporary:
    (temporary / "x" if temporary.is_dir() else temporary).write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("writer", [atomic_file, atomic_dir])
def test_what_a_killed_process_left_goes_with_the_next_output(tmp_path, writer):
    path = tmp_path / "out"
    script = KILLED.format(writer=writer.__name__)
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    [left] = tmp_path.iterdir()
    assert left.name.startswith(".out.")
    with writer(tmp_path / "ou") as other:
        assert {left, other} == set(tmp_path.iterdir())
    with writer(path) as first, writer(path) as second:
        assert not left.exists()
        assert first.exists(), "what another process writes at this moment stays"
        (second / "x" if second.is_dir() else second).write_text("whole")
    assert {entry.name for entry in tmp_path.iterdir()} == {"ou", "out"}


@pytest.mark.parametrize("writer", [atomic_file, atomic_dir])
@pytest.mark.parametrize(
    "error",
    [OSError(28, "No space left on device"), RuntimeError("I/O error: No space left on device (os error 28)")],
)
def test_a_full_disk_is_named_with_the_output_that_stays(tmp_path, writer, error):
    path = tmp_path / "out"
    with writer(path) as temporary:
        (temporary / "x" if temporary.is_dir() else temporary).write_text("old")
    with pytest.raises(CachezooError, match=r"out: cannot be written \(No space left on device\).*make room"):
        with writer(path):
            raise error
    assert (path / "x" if path.is_dir() else path).read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_a_file_in_the_place_of_a_folder_is_named(tmp_path):
    (tmp_path / "out").write_text("old")
    with pytest.raises(CachezooError, match="out: is a file"), atomic_dir(tmp_path / "out"):
        pass
    assert (tmp_path / "out").read_text() == "old"
