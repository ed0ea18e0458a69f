import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ONE = "tests/unit/test_seeds_io.py"


def run(required: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name != "CACHEZOO_PUBLIC_TRACES"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only", ONE],
        cwd=ROOT,
        env={**kept, "CZ_REQUIRE": required, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("required", ["public_traces", "git,public_traces"])
def test_a_required_capability_that_is_missing_fails_the_run(required: str) -> None:
    done = run(required)
    assert done.returncode == 2
    assert "public_traces, and this machine lacks it" in done.stdout + done.stderr


def test_an_unknown_capability_fails_the_run() -> None:
    done = run("nosuch")
    assert done.returncode == 2
    assert "CZ_REQUIRE names nosuch" in done.stdout + done.stderr


def test_what_is_there_is_enough(tmp_path: Path) -> None:
    assert run("public_traces", CACHEZOO_PUBLIC_TRACES=str(tmp_path)).returncode == 0


def test_ci_requires_what_the_tests_need() -> None:
    """Public traces are required where they are there; everything else ci/packages.txt or the kernel gives."""
    sources = [path.read_text() for path in (ROOT / "tests").rglob("test_*.py")]
    calls = [names for source in sources for names in re.findall(r"mark\.needs\(([^)]+)\)", source)]
    needed = {name for names in calls for name in re.findall(r'"(\w+)"', names)}
    ci = (ROOT / ".ci/run").read_text()
    required = set(re.search(r"^required=([\w,]+)$", ci, re.MULTILINE)[1].split(","))
    assert "git" in needed
    assert needed <= required | {"public_traces"}
    assert "required=$required,public_traces" in ci
    assert run(",".join(sorted(required - {"tracefs", "loop", "cgroup", "capture", "root"}))).returncode == 0
