"""The package for servers: what it installs, that it runs on the system's Python, its unit, man pages and .deb."""

import ast
import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cachezoo.devices.nbd.client import connected
from cachezoo.serve.__main__ import COMMANDS, parser
from cachezoo.serve.options import OPTIONS, read_file
from cachezoo.syntax import imported

ROOT = Path(__file__).parents[3]
PACKAGE, SERVE = ROOT / "runtimes/package", ROOT / "src/cachezoo/serve"
OLDEST = (3, 9)


def make(*words):
    done = subprocess.run(["make", "-s", "-C", str(PACKAGE), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def own_modules():
    """Modules of cachezoo that `serve` needs, by name, with their syntax."""
    wanted, seen = [f"cachezoo.serve.{file.stem}" for file in SERVE.glob("*.py")], {}
    while wanted:
        name = wanted.pop()
        file = ROOT / "src" / name.replace(".", "/")
        file = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
        if name in seen or not file.is_file():  # a name of a module is no module
            continue
        seen[name] = ast.parse(file.read_text(encoding="utf-8"), feature_version=OLDEST)
        for node in ast.walk(seen[name]):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("cachezoo"):
                wanted += [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
    return seen


def test_it_needs_the_standard_library_alone():
    modules = own_modules()
    packages = {name.split(".")[0] for tree in modules.values() for name in imported(tree)}
    assert packages <= set(sys.stdlib_module_names) | {"cachezoo", "__future__"}
    assert all(name.startswith("cachezoo.serve") for name in modules)


def test_its_annotations_are_not_computed_by_an_old_python():
    """`X | None` in an annotation is an error in 3.9 unless annotations are kept as text."""
    for name, tree in own_modules().items():
        if any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body):
            continue
        assert not [one for one in ast.walk(tree) if isinstance(one, ast.BitOr)], name


def test_the_command_line_of_people_has_the_same_options():
    import typer.main

    from cachezoo import cli

    group = typer.main.get_command(cli.app).commands["serve"]
    here = {text for action in parser()._actions for text in action.option_strings} - {"-h", "--help"}
    assert {text for param in group.commands["start"].params for text in param.opts if text[0] == "-"} == here
    assert {*group.commands} == {"start", *COMMANDS}


@pytest.mark.parametrize("file", ["cachezoo-serve.1", "cachezoo-serve.5"])
def test_each_option_is_in_the_manual(file):
    text = (PACKAGE / file).read_text().replace("\\-", "-")
    marks = "--{}" if file.endswith("1") else r"\b{}\b"
    assert [name for name in (*OPTIONS, *(["config", "option", "check"] if file[-1] == "1" else ["disk"])) if
            not re.search(marks.format(name), text)] == []  # fmt: skip


def test_the_example_is_a_file_of_options():
    found = read_file(str(PACKAGE / "example.conf"))
    assert {"disk", "ssd", "size", "policy", "mode", "attach"} == {*found}


@pytest.fixture(scope="module")
def installed(tmp_path_factory, built):
    """Everything below a folder, as for /usr, with the filter that is built already."""
    root = tmp_path_factory.mktemp("root")
    make("install", "PREFIX=/usr", f"DESTDIR={root}", f"BUILD={built.parent}")
    return root


@pytest.mark.needs("nbdkit", "gcc")
def test_the_installed_command_runs_on_the_system_s_python(installed, tmp_path):
    files = {str(file.relative_to(installed)) for file in installed.rglob("*") if not file.is_dir()}
    assert {
        "usr/bin/cachezoo-serve", "usr/bin/cz", "usr/lib/libcachezoo.so.1", "usr/lib/systemd/system/cachezoo@.service",
        "usr/lib/cachezoo/nbdkit-cachezoo-filter.so", "usr/share/man/man1/cachezoo-serve.1", "usr/share/man/man1/cz.1",
        "usr/share/man/man5/cachezoo-serve.5", "usr/share/cachezoo/dashboard.json", "usr/share/cachezoo/alerts.yml",
        "usr/share/doc/cachezoo-serve/example.conf",
    } <= files  # fmt: skip
    assert not [name for name in files if "__pycache__" in name]
    (tmp_path / "disk").write_bytes(bytes(1 << 20))
    line = [str(installed / "usr/bin/cachezoo-serve"), "disk", "--ssd", "ssd", "--size", "256K", "--check"]
    clean = {"PATH": os.environ["PATH"], "CACHEZOO_RUN": str(tmp_path / "run")}
    done = subprocess.run(line, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"--filter={installed}/usr/lib/cachezoo/nbdkit-cachezoo-filter.so" in done.stdout
    assert os.listdir(tmp_path) == ["disk"]
    assert not [*installed.rglob("__pycache__")]


@pytest.mark.needs("nbdkit", "gcc")
def test_the_unit_starts_what_is_installed(installed, tmp_path):
    unit = installed / "usr/lib/systemd/system/cachezoo@.service"
    read = configparser.ConfigParser(interpolation=None, strict=False)
    read.optionxform = str
    read.read(unit)
    program, *words = shlex.split(read["Service"]["ExecStart"])
    assert program == "/usr/bin/cachezoo-serve" and (installed / program[1:]).exists()
    asked = parser().parse_args([word.replace("%i", "sdb") for word in words])
    assert (asked.config, asked.name) == ("/etc/cachezoo/sdb.conf", "sdb")
    assert "nbdkit" not in read["Service"]["ExecStart"]  # which is in /usr/sbin, or in /usr/bin
    assert read["Service"]["RuntimeDirectory"] == "cachezoo/%i"
    if not shutil.which("systemd-analyze"):
        return
    own = tmp_path / "cachezoo@.service"
    own.write_text(unit.read_text().replace("/usr/bin/", f"{installed}/usr/bin/").replace("man:", "https://x/"))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", f"{own.parent}/cachezoo@sdb.service"],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert not [line for line in done.stderr.splitlines() if "cachezoo" in line], done.stderr


@pytest.mark.needs("nbdkit", "gcc", "dpkg")
def test_the_deb_installs_and_goes_without_a_trace(built, tmp_path):
    deb = Path(make("deb", f"DEBS={tmp_path}", f"BUILD={built.parent}").strip())
    version = re.search(r"^VERSION := (\S+)$", (ROOT / "runtimes/c/Makefile").read_text(), re.MULTILINE)[1]
    assert re.fullmatch(rf"cachezoo-serve_{re.escape(version)}_\w+\.deb", deb.name)
    needs = subprocess.run(["dpkg-deb", "-f", str(deb), "Depends"], capture_output=True, text=True, check=True).stdout
    own = re.search(r"nbdkit \(>= ([0-9.]+)\), nbdkit \(<< ([0-9.]+)~\)", needs)  # whose filters no other one takes
    built_with = subprocess.run(["nbdkit", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    assert own and own[1] == built_with and [*map(int, own[2].split("."))] > [*map(int, own[1].split("."))]
    root = tmp_path / "root"
    (root / "var/lib/dpkg/updates").mkdir(parents=True)
    (root / "var/lib/dpkg/info").mkdir()
    for name in ("status", "available"):
        (root / "var/lib/dpkg" / name).touch()
    before = files(root)
    dpkg(root, "--force-depends", "-i", str(deb))
    assert (root / "usr/bin/cachezoo-serve").exists() and (root / "usr/lib/libcachezoo.so.1").exists()
    done = subprocess.run([str(root / "usr/bin/cachezoo-serve"), "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: cachezoo-serve")
    serve_once(root / "usr/bin/cachezoo-serve", tmp_path)
    dpkg(root, "-r", "cachezoo-serve")
    assert files(root) == before


def serve_once(program, folder):
    """Serve a file disk by what is installed, on the system's Python, and read it."""
    (folder / "disk").write_bytes(bytes(range(256)) * 4096)
    clean = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "CACHEZOO_RUN": str(folder / "run")}

    def run(*words):
        return subprocess.run([str(program), *words], cwd=folder, env=clean, capture_output=True, text=True, check=True)

    run("disk", "--ssd", "ssd", "--size", "256K", "--attach", "no", "--background")
    try:
        with connected(folder / "run/disk/nbd.sock") as disk:
            assert disk.read(0, 4096)[0] == bytes(range(256)) * 16
        assert run("status").stdout.startswith("disk: ")
    finally:
        assert run("stop").stdout == "disk: stopped. The disk holds everything.\n"


def files(root):
    """All but dpkg's own notes."""
    return {one.relative_to(root) for one in root.rglob("*") if "var/lib/dpkg" not in str(one)} - {Path("var/log")}


def dpkg(root, *words):
    line = ["dpkg", f"--root={root}", "--force-not-root", "--force-script-chrootless", f"--log={root}.log", *words]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
