"""The filter, built once for all tests and processes of a session."""

import pytest

from tests.c_library import make


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The filter; beside it are the library and cz."""
    make(tmp_path_factory, "all")
    return make(tmp_path_factory, "filter") / "nbdkit-cachezoo-filter.so"
