import os
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
