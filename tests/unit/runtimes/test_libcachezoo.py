"""libcachezoo beside the Python reader: it verifies every stored bundle, and refuses whatever Python refuses."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cachezoo.bundles.protocol import ACTS, MANIFEST
from cachezoo.bundles.writer import write_archive
from tests.c_library import make
from tests.unit.bundles import test_refusals, test_strict
from tests.unit.bundles.test_refusals import (
    copy,  # noqa: F401 - a fixture of the tests below
    test_archive_cut_or_grown,  # noqa: F401 - tests that run here with cz in place of Python's reader
    test_archives_of_other_tools,  # noqa: F401
    test_every_required_file_must_be_listed,  # noqa: F401
    test_golden_rows_that_do_not_come_out,  # noqa: F401
    test_links_and_devices,  # noqa: F401
    test_manifest_sealed,  # noqa: F401
    test_missing_and_extra_files,  # noqa: F401
    test_sizes_and_checksums,  # noqa: F401
)
from tests.unit.bundles.test_strict import (
    copy_of,  # noqa: F401 - a fixture of the tests below, which run here with cz as well
    test_a_forest_that_lost_its_trees_is_named,  # noqa: F401
    test_a_model_digest_that_is_not_the_files_is_refused,  # noqa: F401
    test_a_synthetic_row_that_does_not_come_out_is_named,  # noqa: F401
    test_an_unknown_key_anywhere_but_among_names_is_refused,  # noqa: F401
    test_weights_of_a_network_that_are_others_are_named,  # noqa: F401
)

ROOT = Path(__file__).parents[3]
STORED = sorted(path.parent for path in (ROOT / "tests/golden").glob("protocol2/*/manifest.json"))
BUNDLES = pytest.mark.parametrize("stored", STORED, ids=lambda path: path.name)
# What C says in other words than Python.
OTHER_WORDS = {
    "the runtime gives": "the runtime gives|does not have the bytes",
    "has ends in the wrong order": "wrong order",
}


def run(*command: object, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False, cwd=cwd)


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The build folder of the library and of cz."""
    return make(tmp_path_factory, "all", "cachezoo.pc")


@pytest.fixture(scope="session", params=STORED, ids=lambda path: path.name)
def bundle_dir(request: pytest.FixtureRequest) -> Path:
    """A stored bundle of each kind."""
    stored: Path = request.param
    return stored


def refused_by(cz: Path, command: str, path: Path, match: str) -> None:
    done = run(cz, command, path)
    assert done.returncode == 1 and not done.stdout
    line = done.stderr.removesuffix("\n")
    assert "\n" not in line and len(line) < 512 and str(path) in line
    assert re.search(OTHER_WORDS.get(match, match), line), line


@pytest.fixture(autouse=True)
def _by_cz(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The damages of the Python reader's tests are shown to cz; of test_strict's any one line will do."""
    checked = test_refusals.verify

    def refused(path: Path, match: str, check: Callable[[Path], object] = test_refusals.load) -> None:
        refused_by(library / "cz", "verify" if check in (checked, verify) else "inspect", path, match)

    def load(path: Path) -> None:
        done = run(library / "cz", "inspect", path)
        assert done.returncode == 0, done.stderr

    def verify(path: Path) -> dict[str, bool]:
        return {"ok": run(library / "cz", "verify", path).returncode == 0}

    monkeypatch.setattr(test_refusals, "refused", refused)
    monkeypatch.setattr(test_refusals, "load", load)
    monkeypatch.setattr(test_strict, "verify", verify)
    monkeypatch.setattr(test_strict, "refused", lambda path, _, check=load: refused(path, "", check))


@BUNDLES
def test_stored_bundles_are_verified(library: Path, stored: Path, tmp_path: Path) -> None:
    manifest = json.loads((stored / MANIFEST).read_text())
    packed = tmp_path / "bundle.zip"
    write_archive(stored, packed)
    for path in (stored, packed):
        done = run(library / "cz", "verify", path)
        assert done.returncode == 0, done.stderr
        assert f"verified: {manifest['id']} {manifest['version']}, " in done.stdout
        assert done.stdout.endswith(", 1 of decisions equal\n")


@BUNDLES
def test_inspect_says_what_the_bundle_says(library: Path, stored: Path) -> None:
    manifest = json.loads((stored / MANIFEST).read_text()) | json.loads((stored / ACTS).read_text())
    done = run(library / "cz", "inspect", stored)
    assert done.returncode == 0, done.stderr
    said = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    digest = (stored / "manifest.sha256").read_text().split()[0]
    assert said["id"] == manifest["id"] and said["kind"] == manifest["kind"] and said["digest"] == digest
    assert said["model_digest"] == manifest["model_digest"]
    assert said["profile"] == manifest["profile"]
    assert int(said["features"]) == len(manifest["features"])
    for name in ("page_bytes", "segment_bytes", "block_bytes"):
        assert int(said.get(name, 0)) == manifest["geometry"].get(name, 0)
    if "threshold" in manifest["calibration"]:
        assert float(said["threshold"]) == manifest["calibration"]["threshold"]


def test_every_byte_flipped_in_an_archive_is_refused(library: Path, bundle_dir: Path, tmp_path: Path) -> None:
    packed = tmp_path / "bundle.zip"
    write_archive(bundle_dir, packed)
    whole = packed.read_bytes()
    rng = np.random.default_rng(1)
    places = [*rng.integers(0, len(whole), 20), *rng.integers(len(whole) - 1200, len(whole), 20)]
    for at in places:
        packed.write_bytes(whole[:at] + bytes([whole[at] ^ int(rng.integers(1, 256))]) + whole[at + 1 :])
        refused_by(library / "cz", "inspect", packed, "zip|sha256|PROTOCOL|JSON|listed|missing|holds no")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "unknown command"),
        (["dance"], "unknown command"),
        (["verify"], "name a bundle"),
        (["verify", "a", "--precision", "fp8"], "unknown choice"),
        (["verify", "a", "--precision"], "no value after"),
        (["verify", "a", "b"], "belong to run"),
        (["run", "a"], "run needs a trace"),
        (["run", "a", "b", "--capacity", "0"], "not a whole number"),
        (["run", "a", "b", "c"], "one argument too many"),
        (["verify", "a", "--colour", "red"], "unknown option"),
    ],
)
def test_wrong_usage(library: Path, words: list[str], problem: str) -> None:
    done = run(library / "cz", *words)
    assert done.returncode == 2 and problem in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["inspect", "{stored}"]])
def test_an_output_without_room_is_an_error(library: Path, words: list[str]) -> None:
    stored = next((ROOT / "tests/golden/protocol2").iterdir())
    with Path("/dev/full").open("w") as full:
        command = [library / "cz", *(word.format(stored=stored) for word in words)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "cz: standard output cannot be written to (No space left on device)\n"


def test_help_and_version(library: Path) -> None:
    assert "usage: cz verify" in run(library / "cz", "--help").stdout
    assert run(library / "cz", "--version").stdout.startswith("cz 1.")


@pytest.mark.parametrize("mode", ["lru", "rejectx", "model"])
def test_run_serves_a_trace(library: Path, mode: str) -> None:
    stored = next(path for path in STORED if path.name.startswith("admission"))
    done = run(library / "cz", "run", stored, stored / "golden/requests.csv", "--capacity", 64, "--mode", mode)
    assert done.returncode == 0, done.stderr
    said = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    rows = (stored / "golden/requests.csv").read_text().count("\n") - 1
    assert said["mode"] == mode and int(said["requests"]) == rows
    assert 0 < int(said["hits"]) < int(said["units"]) and 0 < int(said["written"])
    assert float(said["hit_ratio"]) == pytest.approx(int(said["hits"]) / int(said["units"]), abs=1e-6)


def test_run_takes_every_word_of_the_canonical_csv(library: Path, tmp_path: Path) -> None:
    stored = next(path for path in STORED if path.name.startswith("admission"))
    text = (stored / "golden/requests.csv").read_text()
    said = set()
    for read, write in (("read", "write"), ("R", "W"), ("r", "w"), ("READ", "Write")):
        (tmp_path / "t.csv").write_text(text.replace(",read,", f",{read},").replace(",write,", f",{write},"))
        done = run(library / "cz", "run", stored, tmp_path / "t.csv", "--capacity", 64)
        assert done.returncode == 0, done.stderr
        said.add(done.stdout)
    assert len(said) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "cannot be read, or is empty"),
        ("time_us,op,size\n", "row 1: the header needs"),
        ("time_us,op,offset,size\n0,read,0\n", "row 2: it has more or fewer fields"),
        ("time_us,op,offset,size\n0,read,0,1\n0,erase,0,1\n", "row 3: op is none of R, W, read and write"),
        ("time_us,op,offset,size\n0,rw,0,1\n", "row 2: op is none of R, W, read and write"),
        ("time_us,op,offset,size\n0,read,-5,1\n", "row 2: a number is none"),
        ("time_us,op,offset,size\n0,read,0,0\n", "row 2: size is 0"),
    ],
)
def test_run_refuses_a_bad_trace(library: Path, tmp_path: Path, text: str, problem: str) -> None:
    stored = next(path for path in STORED if path.name.startswith("admission"))
    trace = tmp_path / "trace.csv"
    trace.write_text(text)
    done = run(library / "cz", "run", stored, trace, "--capacity", 64)
    assert done.returncode == 1 and f"{trace}: " in done.stderr and problem in done.stderr
    assert done.stderr.count("\n") == 1


def test_only_the_api_is_visible(library: Path) -> None:
    """A cache that links the library gets the names of cachezoo.h and no other."""
    header = (ROOT / "runtimes/c/include/cachezoo.h").read_text()
    declared = set(re.findall(r"CZ_API [^;]*?\b(cz_\w+)\(", header))
    shown = run("nm", "-D", "--defined-only", library / "libcachezoo.so").stdout
    assert {line.split()[-1] for line in shown.splitlines()} == declared
    assert "libcachezoo.so.1" in run("objdump", "-p", library / "libcachezoo.so").stdout


PROGRAM = """
#include <cachezoo.h>
#include <stdio.h>
int main(int argc, char **argv) {
    cz_bundle *bundle;
    cz_error error;
    if (argc != 2 || cz_open(argv[1], CZ_FP32, &bundle, &error)) {
        fprintf(stderr, "%s\\n", error.text);
        return 1;
    }
    int result = cz_verify(bundle, NULL, NULL);
    cz_close(bundle);
    return result;
}
"""


def test_installed_library_links_and_goes_away(library: Path, tmp_path: Path) -> None:
    """make install, a program against it in C and in C++, make uninstall; all as a packager does, with DESTDIR."""
    stage, prefix = tmp_path / "stage", "/usr"
    settings = (f"BUILD={library}", f"PREFIX={prefix}", f"DESTDIR={stage}", "CC=gcc")
    installed = run("make", "-C", ROOT / "runtimes/c", *settings, "install")
    assert installed.returncode == 0, installed.stderr
    found = {str(path.relative_to(stage)) for path in stage.rglob("*") if not path.is_dir()}
    assert {"usr/bin/cz", "usr/include/cachezoo.h", "usr/lib/libcachezoo.so.1"} <= found
    assert "usr/lib/pkgconfig/cachezoo.pc" in found and "usr/share/man/man1/cz.1" in found
    flags = (stage / "usr/lib/pkgconfig/cachezoo.pc").read_text()
    assert "libdir=/usr/lib\n" in flags and "Version: 1.4.0\n" in flags
    for compiler, name in (("gcc", "program.c"), ("g++", "program.cc")):
        (tmp_path / name).write_text(PROGRAM)
        where = (f"-I{stage}/usr/include", f"-L{stage}/usr/lib", f"-Wl,-rpath,{stage}/usr/lib")
        built = run(compiler, "-Wall", "-Werror", *where, tmp_path / name, "-lcachezoo", "-o", tmp_path / "program")
        assert built.returncode == 0, built.stderr
        assert run(tmp_path / "program", STORED[0]).returncode == 0
    assert run("make", "-C", ROOT / "runtimes/c", *settings, "uninstall").returncode == 0
    assert not [path for path in stage.rglob("*") if not path.is_dir()]
