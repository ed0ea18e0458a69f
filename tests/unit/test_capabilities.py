import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.capabilities import CAPABILITIES, ESSENTIAL, LOOP, TRACES, advice, captured_programs, there
from tools.capture.disk import call

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]
MARKS = "    needs: x\n    slow: x\n"
TWO = """
import pytest

@pytest.mark.needs("fio", "nbdkit")
def test_that_needs_much():
    pass

@pytest.mark.needs("public_traces")
def test_that_needs_traces():
    pass

@pytest.mark.skip(reason="needs luck, which this machine lacks")
def test_that_is_skipped():
    pass

def test_that_needs_nothing():
    pass
"""


@pytest.fixture
def bare(pytester, monkeypatch, tmp_path):
    """A run of four tests, in this process, on a machine without programs and public traces."""
    pytester.makeconftest((ROOT / "tests/conftest.py").read_text())
    pytester.makeini("[pytest]\naddopts = --strict-markers -p no:cacheprovider\nmarkers = needs: capabilities\n")
    pytester.makepyfile(TWO)
    for name in (TRACES, "CZ_REQUIRE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    return pytester


def test_what_is_missing_skips_and_the_last_line_says_what_brings_it(bare):
    done = bare.runpytest_inprocess()
    assert done.ret == 0
    done.assert_outcomes(passed=1, skipped=3)
    said, brings = done.outlines[-1].split(": ")
    assert said == "tests were skipped for want of fio, nbdkit, public_traces"
    assert brings == "apt-get install fio nbdkit nbdkit-plugin-dev; set CACHEZOO_PUBLIC_TRACES"


def test_where_all_is_there_nothing_is_said(bare, monkeypatch, tmp_path):
    monkeypatch.setitem(CAPABILITIES, "nbdkit", CAPABILITIES["fio"])
    monkeypatch.setenv(TRACES, str(tmp_path))
    (tmp_path / "fio").write_text("#!/bin/sh\n")
    (tmp_path / "fio").chmod(0o755)
    done = bare.runpytest_inprocess()
    done.assert_outcomes(passed=3, skipped=1)
    assert "want of" not in done.stdout.str()


@pytest.mark.parametrize("required", ["public_traces", "root,public_traces", " public_traces ,"])
def test_a_required_capability_that_is_missing_fails_the_run(bare, monkeypatch, required):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("CZ_REQUIRE", required)
    done = bare.runpytest_inprocess()
    assert done.ret == 2
    assert "CZ_REQUIRE names public_traces, and this machine lacks it" in done.stdout.str() + done.stderr.str()


def test_an_unknown_capability_fails_the_run(bare, monkeypatch):
    monkeypatch.setenv("CZ_REQUIRE", "nosuch")
    done = bare.runpytest_inprocess()
    assert done.ret == 2
    assert "CZ_REQUIRE names nosuch" in done.stdout.str() + done.stderr.str()


def test_a_required_capability_that_is_there_is_enough(bare, monkeypatch, tmp_path):
    monkeypatch.setenv("CZ_REQUIRE", "public_traces")
    monkeypatch.setenv(TRACES, str(tmp_path))
    bare.runpytest_inprocess().assert_outcomes(passed=2, skipped=2)


# Of a package that brings a library alone, PATH says nothing.
PROGRAMS = [name for name, capability in CAPABILITIES.items() if capability.packages and name != "libsodium"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_packages_bring_is_missing_where_its_programs_are(monkeypatch, tmp_path, name):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not there(name)


@pytest.mark.parametrize("absent", LOOP)
def test_a_loop_device_without_one_of_its_programs_is_none(monkeypatch, tmp_path, absent):
    for name in set(LOOP) - {absent}:
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os.path, "exists", lambda _: True)
    assert not there("loop")
    (tmp_path / absent).symlink_to(next(tmp_path.iterdir()))
    assert there("loop")


def test_what_a_capture_runs_is_in_the_packages_that_its_capability_names():
    assert set(captured_programs().values()) - ESSENTIAL == set(CAPABILITIES["capture"].packages)
    assert {"losetup", "umount", "postgres", "wrk"} <= set(captured_programs())


def test_a_capture_finds_the_systems_programs_where_a_users_path_lacks_them(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "chroot" in call(["chroot", "--version"])


def test_every_capability_says_what_brings_it():
    assert all(capability.packages or capability.otherwise for capability in CAPABILITIES.values())
    assert advice({"nbdkit", "gcc"}).endswith(": apt-get install gcc nbdkit nbdkit-plugin-dev")
    assert advice({"root"}) == "tests were skipped for want of root: run as root"


def test_ci_requires_what_the_tests_need_and_installs_what_brings_it():
    """Public traces are required where they are there, S3 is not; ci/packages.txt or the kernel gives the rest."""
    sources = [path.read_text() for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)]
    calls = [names for source in sources for names in re.findall(r"mark\.needs\(([^)]+)\)", source)]
    marked = {name for names in calls for name in re.findall(r'"(\w+)"', names)}
    ci = (ROOT / ".ci/run").read_text()
    required = set(re.search(r"^required=([\w,]+)$", ci, re.MULTILINE)[1].split(","))
    optional = {"public_traces", "s3"}
    assert marked | optional == set(CAPABILITIES) == required | optional
    assert "required=$required,public_traces" in ci
    listed = (ROOT / "ci/packages.txt").read_text().split()
    assert {package for name in required for package in CAPABILITIES[name].packages} <= set(listed)


@pytest.mark.parametrize(("worker", "order"), [(False, "abpz"), (True, "pbza")])
def test_what_takes_long_begins_first_where_there_are_two_processes(pytester, worker, order):
    """Files by what their longest test may take, each in one piece; without pytest-xdist all stay as they are."""
    as_worker = "\n\ndef pytest_configure(config):\n    config.workerinput = {}\n"
    pytester.makeconftest((ROOT / "tests/conftest.py").read_text() + as_worker * worker)
    pytester.makeini(f"[pytest]\naddopts = --strict-markers -p no:cacheprovider\nmarkers =\n{MARKS}")
    text = "import pytest\n\ndef test_one():\n    pass\n\n{}\ndef test_two():\n    pass\n"
    slow, slower = "@pytest.mark.slow", "@pytest.mark.slow(seconds=60)"
    files = {"test_a": "", "test_b": slow, "test_p": slower, "test_z": slow}
    pytester.makepyfile(**{name: text.format(mark) for name, mark in files.items()})
    done = pytester.runpytest_inprocess("-v")
    done.assert_outcomes(passed=8)
    ran = re.findall(r"^test_(\w)\w*\.py::test_\w+ PASSED", done.stdout.str(), re.MULTILINE)
    assert len(ran) == 8 and "".join(dict.fromkeys(ran)) == order


PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
DEVICES = tuple(f"unit/devices/{name}" for name in ("fio/test_target.py", "nbd", "test_emulated.py"))
SOME = ("tools/capture/test_capture.py", *DEVICES)


def test_a_machine_with_none_of_the_packages_ends_green_and_says_what_they_are(tmp_path):
    """Its PATH has a shell and what it runs, and no folder of the system's; Ctrl-C is ignored, as in the background."""
    for name in ("sh", "env", "true", "cat", "sleep", "stat"):
        (tmp_path / name).symlink_to(shutil.which(name))
    kept = {name: value for name, value in os.environ.items() if name not in (TRACES, "CZ_REQUIRE", "PYTEST_ADDOPTS")}
    done = subprocess.run(
        [*PYTEST, f"--basetemp={tmp_path}/inner", *(f"tests/{name}" for name in SOME)],
        cwd=ROOT,
        env={**kept, "PATH": str(tmp_path), "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    assert done.returncode == 0, done.stdout[-3000:]
    *before, last = done.stdout.splitlines()
    assert re.search(r"\d+ passed, \d+ skipped", before[-1])
    assert last.startswith("tests were skipped for want of capture, ") and "fio, gcc, loop, nbdkit" in last
    assert "apt-get install apache2-bin caddy dbench" in last
    assert not [line for line in before if "want of" in line]
