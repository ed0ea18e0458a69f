"""The tiny pipeline: run once for all tests and processes of a session, and copied for those that change something.

And what tests of the mounted cache are run with.
"""

import os

import pytest

from tests.c_library import make
from tests.e2e.workspace import copied, run_once
from tests.nbd_filter import build_plugin


@pytest.fixture(scope="session")
def ran(tmp_path_factory):
    """The clone in which `dvc repro` has run; not to be changed."""
    base = tmp_path_factory.getbasetemp()
    return run_once((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "pipeline")


@pytest.fixture(scope="session")
def made(ran, tmp_path_factory):
    """A copy of it, whose stages run in this process."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("die_with_parent", "heed_interrupts"):
            patch.setattr(f"cachezoo.stage.{name}", lambda: None)
        patch.setattr("cachezoo.stage.settle_environment", lambda root: None)
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        patch.setenv("CACHEZOO_JOBS", "1")
        yield copied(ran, tmp_path_factory.mktemp("tiny") / "copy")


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The filter."""
    return make(tmp_path_factory, "filter") / "nbdkit-cachezoo-filter.so"


@pytest.fixture(scope="session")
def slow(tmp_path_factory):
    """A plugin of nbdkit whose disk is slow."""
    return build_plugin(tmp_path_factory.mktemp("plugin") / "slow.so")
