"""Programs of libcachezoo's tests."""

import pytest

from cachezoo.runtime import abi
from tests.c_library import CHECKED, make


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The build folder of the library and of cz."""
    return make(tmp_path_factory, "all")


@pytest.fixture
def library(built, monkeypatch):
    """The library, where cachezoo.runtime finds it."""
    monkeypatch.setenv(abi.VARIABLE, str(built / "libcachezoo.so.1"))
    return built / "libcachezoo.so.1"


@pytest.fixture
def no_library(monkeypatch):
    """No library that cachezoo.runtime finds."""
    monkeypatch.delenv(abi.VARIABLE, raising=False)
    monkeypatch.setattr(abi, "NAME", "libcachezoo-that-is-nowhere.so")


@pytest.fixture(scope="session")
def checked_library(tmp_path_factory):
    """The archive that they link, with the sanitizers on: all of them share what it costs."""
    make(tmp_path_factory, "libcachezoo.a", **CHECKED)


@pytest.fixture(scope="module")
def program(request, tmp_path_factory, checked_library):
    """The program of runtimes/c/tests that the module names, with the sanitizers on."""
    name = f"tests/{request.module.PROGRAM}"
    return make(tmp_path_factory, name, **CHECKED) / name


@pytest.fixture(scope="session")
def history_run(tmp_path_factory):
    """The program runtimes/c/tests/history_run.c."""
    return make(tmp_path_factory, "tests/history_run") / "tests/history_run"


@pytest.fixture(scope="session")
def checked_history_run(tmp_path_factory):
    """The same with the sanitizers on."""
    return make(tmp_path_factory, "tests/history_run", **CHECKED) / "tests/history_run"
