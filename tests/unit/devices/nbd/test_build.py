import subprocess
import tomllib
from pathlib import Path

import pytest

from cachezoo.devices.nbd import server
from cachezoo.errors import DeviceError

PACKAGES = "gcc, nbdkit and nbdkit-plugin-dev"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CACHEZOO_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def program(folder, name, text):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


@pytest.mark.needs("gcc", "nbdkit")
def test_source_has_no_warning(tmp_path):
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    command = ["gcc", *server.FLAGS, *strict, str(server.SOURCE), "-o", str(tmp_path / "disk.so"), *server.LIBRARIES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.needs("gcc", "nbdkit")
def test_compiles_once_for_each_source(cache, tmp_path, monkeypatch):
    first = server.plugin_file()
    made = first.stat().st_mtime_ns
    assert server.plugin_file() == first
    assert first.stat().st_mtime_ns == made
    changed = tmp_path / "disk.c"
    changed.write_text(server.SOURCE.read_text() + "/* changed */\n")
    monkeypatch.setattr(server, "SOURCE", changed)
    second = server.plugin_file()
    assert second != first
    assert sorted((cache / "nbd").iterdir()) == sorted([first, second])


def test_source_is_in_the_package():
    root = Path(__file__).parents[4]
    setup = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["cachezoo"]
    assert any(server.SOURCE in (root / "src" / "cachezoo").glob(pattern) for pattern in setup)


@pytest.mark.parametrize("present", [(), ("gcc",), ("nbdkit",)])
def test_missing_program_is_named_with_its_packages(present, cache, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    for name in present:
        program(tmp_path / "bin", name, "echo 1")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    missing = "nbdkit" if "gcc" in present else "gcc"
    with pytest.raises(DeviceError, match=f"^{missing} is missing; .*{PACKAGES}"):
        server.plugin_file()


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("disk.c:23:10: fatal error: nbdkit-plugin.h: No such file", f"^nbdkit-plugin.h is missing; .*{PACKAGES}"),
        ("disk.c:1:1: error: unknown type name", r"disk\.c does not compile: disk\.c:1:1: error: unknown type name; "),
    ],
)
def test_what_the_compiler_says_is_told(said, message, cache, tmp_path, monkeypatch):
    program(tmp_path / "bin", "gcc", f'echo "{said}" >&2; exit 1')
    program(tmp_path / "bin", "nbdkit", "echo 1")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    with pytest.raises(DeviceError, match=message):
        server.plugin_file()
    assert list((cache / "nbd").iterdir()) == []


def test_compiler_that_hangs_is_given_up(cache, tmp_path, monkeypatch):
    program(tmp_path / "bin", "gcc", "exec sleep 60")
    program(tmp_path / "bin", "nbdkit", "echo 1")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(server, "COMPILE_S", 0.2)
    with pytest.raises(DeviceError, match="gcc did not end within"):
        server.plugin_file()
