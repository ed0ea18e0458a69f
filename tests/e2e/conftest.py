"""The tiny pipeline's workspace, made once for all tests that damage a copy of its inputs or fill its disk."""

import pytest

from tests.e2e.workspace import make


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        for name in ("die_with_parent", "heed_interrupts"):
            patch.setattr(f"cachezoo.stage.{name}", lambda: None)
        patch.setattr("cachezoo.stage.settle_environment", lambda root: None)
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        yield make(tmp_path_factory.mktemp("tiny"))
