"""Programs of libcachezoo's tests."""

import pytest

from tests.c_library import CHECKED, make


@pytest.fixture(scope="session")
def history_run(tmp_path_factory):
    """The program runtimes/c/tests/history_run.c."""
    return make(tmp_path_factory, "tests/history_run") / "tests/history_run"


@pytest.fixture(scope="session")
def checked_history_run(tmp_path_factory):
    """The same with the sanitizers on."""
    return make(tmp_path_factory, "tests/history_run", **CHECKED) / "tests/history_run"
