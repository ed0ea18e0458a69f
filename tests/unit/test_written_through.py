"""What a file is written to that is none: devices, pipes and open files are written through, links are followed."""

import ast
import os
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from cachezoo.errors import CachezooError
from cachezoo.io import atomic_dir, atomic_file, check_file
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import write_trace
from tests.command_line import run
from tests.request_data import trace_of

ROOT = Path(__file__).resolve().parents[2]

NULL, FULL, DISK = (1, 3), (1, 7), (7, 250)  # major and minor; the last is a block device that nothing is behind


def write(path, text="whole"):
    check_file(path)
    with atomic_file(path) as temporary:
        temporary.write_text(text)


def node(path, device, kind=stat.S_IFCHR):
    os.mknod(path, kind | 0o666, os.makedev(*device))
    return path


def kind_of(path):
    found = path.lstat()
    return stat.S_IFMT(found.st_mode), found.st_rdev, found.st_ino


@pytest.fixture
def trace(tmp_path):
    place = {"size": 4096, "volume": "disk"}
    made = trace_of([{"time_us": k, "op": k % 2, "offset": 4096 * (k % 2), **place} for k in range(3)])
    write_trace(made, tmp_path / "trace.parquet", expand_pages(made))
    return tmp_path / "trace.parquet"


@pytest.mark.needs("root")
def test_a_device_takes_what_is_written_and_stays(tmp_path):
    path = node(tmp_path / "null", NULL)
    before = kind_of(path)
    write(path)
    assert kind_of(path) == before
    assert os.listdir(tmp_path) == ["null"]


@pytest.mark.needs("root")
def test_a_device_without_room_is_named(tmp_path):
    path = node(tmp_path / "full", FULL)
    before = kind_of(path)
    with pytest.raises(CachezooError, match=r"full: cannot be written \(No space left on device\)"):
        write(path)
    assert kind_of(path) == before


@pytest.mark.needs("root")
@pytest.mark.parametrize("writer", [write, check_file])
def test_a_disk_is_no_file_to_write(tmp_path, writer):
    """What is on it would be gone."""
    path = node(tmp_path / "disk", DISK, stat.S_IFBLK)
    before = kind_of(path)
    with pytest.raises(CachezooError, match="disk: is a block device, whose content would be lost; name a file"):
        writer(path)
    assert kind_of(path) == before


def read_beside(path, found):
    thread = threading.Thread(target=lambda: found.append(path.read_bytes()))
    thread.start()
    return thread


def test_a_pipe_takes_what_is_written_and_stays(tmp_path):
    path, found = tmp_path / "pipe", []
    os.mkfifo(path)
    before = kind_of(path)
    thread = read_beside(path, found)
    write(path)
    thread.join()
    assert found == [b"whole"]
    assert kind_of(path) == before
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_pipe_whose_writer_fails_gets_nothing(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(RuntimeError), atomic_file(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert stat.S_ISFIFO(path.lstat().st_mode)


def test_a_pipe_whose_reader_has_gone_is_named(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def look():
        with path.open("rb", buffering=0) as file:
            file.read(1)

    thread = threading.Thread(target=look)
    thread.start()
    with (
        pytest.raises(CachezooError, match=r"pipe: cannot be written \(Broken pipe\); what reads it has ended"),
        atomic_file(path) as temporary,
    ):
        temporary.write_bytes(bytes(1 << 22))  # more than a pipe holds
    thread.join()


@pytest.mark.parametrize("links", [1, 3])
@pytest.mark.parametrize("there", [True, False])
def test_a_link_to_a_file_is_followed(tmp_path, links, there):
    (tmp_path / "store").mkdir()
    target = tmp_path / "store/file"
    if there:
        target.write_text("old")
    names = [tmp_path / f"link{number}" for number in range(links)]
    for name, to in zip(names, [*names[1:], Path("store/file")], strict=True):
        name.symlink_to(to)
    write(names[0])
    assert target.read_text() == "whole"
    assert not target.is_symlink()
    assert all(name.is_symlink() for name in names)
    assert os.listdir(target.parent) == ["file"]


def test_a_link_to_a_folder_is_followed(tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "store/old").touch()
    (tmp_path / "link").symlink_to("store")
    with atomic_dir(tmp_path / "link") as folder:
        (folder / "new").touch()
    assert (tmp_path / "link").is_symlink()
    assert os.listdir(tmp_path / "store") == ["new"]
    assert sorted(os.listdir(tmp_path)) == ["link", "store"]


@pytest.mark.parametrize("writer", [write, lambda path: atomic_dir(path).__enter__()])
def test_links_in_a_circle_are_named(tmp_path, writer):
    for one, other in (("a", "b"), ("b", "a")):
        (tmp_path / one).symlink_to(other)
    with pytest.raises(CachezooError, match="a: its symbolic links lead in a circle"):
        writer(tmp_path / "a")
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_a_folder_that_a_link_leads_to_and_is_not_there_is_named(tmp_path):
    (tmp_path / "link").symlink_to("gone/file")
    with pytest.raises(CachezooError, match=r"link: cannot be written .*gone: no such folder"):
        check_file(tmp_path / "link")


@pytest.mark.needs("root")
def test_a_link_to_a_device_is_followed(tmp_path):
    path = node(tmp_path / "null", NULL)
    (tmp_path / "link").symlink_to("null")
    before = kind_of(path)
    write(tmp_path / "link")
    assert kind_of(path) == before
    assert (tmp_path / "link").is_symlink()


OPEN = """
import sys
from pathlib import Path
from cachezoo.io import write_json
print("before", flush=True)
write_json(Path(sys.argv[1]), [1])
print("after", flush=True)
"""


@pytest.mark.parametrize("kind", ["pipe", "file"])
def test_an_open_file_is_written_through(tmp_path, kind):
    """As /dev/stdout leads there; a file that a shell appends to keeps what it has."""
    (tmp_path / "stdout").symlink_to("/proc/self/fd/1")
    command = [sys.executable, "-c", OPEN, str(tmp_path / "stdout")]
    if kind == "pipe":
        said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    else:
        (tmp_path / "out").write_text("kept\n")
        with (tmp_path / "out").open("a") as file:
            subprocess.run(command, stdout=file, check=True)
        said = (tmp_path / "out").read_text().removeprefix("kept\n")
    assert said == "before\n[\n  1\n]\nafter\n"
    assert (tmp_path / "stdout").is_symlink()


@pytest.mark.needs("root")
@pytest.mark.parametrize(
    "command",
    [
        ("trace", "ingest", "{trace}", "-o", "{out}"),
        ("trace", "cut", "{trace}", "-o", "{out}", "--last-row", "2"),
        ("trace", "convert", "{trace}", "-o", "{out}", "--to", "csv"),
        ("trace", "convert", "{trace}", "-o", "{out}", "--to", "oraclegeneral"),
        ("trace", "convert", "{trace}", "-o", "{out}", "--to", "fio"),
        ("trace", "convert", "{trace}", "-o", "{out}", "--to", "msr"),
    ],
    ids=lambda command: command[-1],
)
def test_no_command_puts_a_file_in_the_place_of_a_device(tmp_path, trace, command):
    out = node(tmp_path / "null", NULL)
    before = kind_of(out)
    run(*(word.format(trace=trace, out=out) for word in command))
    assert kind_of(out) == before
    assert sorted(os.listdir(tmp_path)) == ["null", "trace.parquet"]


@pytest.mark.needs("root")
def test_a_trace_that_is_sorted_in_files_leaves_a_devices_folder_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    for name in ("dev", "temporary"):
        (tmp_path / name).mkdir()
    (tmp_path / "t.csv").write_text("time_us,op,offset,size\n9,R,0,4096\n5,R,0,4096\n")
    out = node(tmp_path / "dev/null", NULL)
    seen = []
    own = tempfile.mkdtemp
    monkeypatch.setattr(tempfile, "mkdtemp", lambda *words, **more: seen.append(own(*words, **more)) or seen[-1])
    run("trace", "ingest", tmp_path / "t.csv", "-o", out)
    assert seen and all(Path(made).parent == tmp_path / "temporary" for made in seen)
    assert os.listdir(out.parent) == ["null"]
    assert os.listdir(tmp_path / "temporary") == []


RENAMES = {"replace", "rename", "renames", "move"}
# Theirs are names of their own, no person's: MLflow's database put aside, a compiled plugin.
OWN_NAMES = {"tracking/database.py", "devices/nbd/server.py", "serve/state.py"}


def renames(tree):
    """Calls that rename a file; a text's `replace` takes two arguments, and dataclasses' has names."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in RENAMES:
            owner = call.func.value.id if isinstance(call.func.value, ast.Name) else ""
            if owner in ("os", "shutil") or (len(call.args) == 1 and not call.keywords):
                yield call


def test_nothing_else_renames_over_what_a_person_names():
    package = ROOT / "src/cachezoo"
    renaming = [file for file in package.rglob("*.py") if any(renames(ast.parse(file.read_text())))]
    assert {str(file.relative_to(package)) for file in renaming} == {"io.py", *OWN_NAMES}
