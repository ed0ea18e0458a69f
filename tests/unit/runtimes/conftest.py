"""libcachezoo, built once for all tests of a process."""

import pytest

from tests.c_library import make


@pytest.fixture(scope="session")
def history_run(tmp_path_factory):
    """The program runtimes/c/tests/history_run.c."""
    return make(tmp_path_factory.mktemp("libcachezoo"), "tests/history_run")[0]


@pytest.fixture(scope="session")
def checked_history_run(tmp_path_factory):
    """The same with the sanitizers on."""
    flags = "-g -fsanitize=address,undefined -fno-sanitize-recover=all"
    return make(tmp_path_factory.mktemp("libcachezoo"), "tests/history_run", EXTRA_CFLAGS=flags)[0]
