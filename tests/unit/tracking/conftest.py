import contextlib
import os
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from cachezoo.tracking.sync import QUIET
from tests.bundle_data import bundle_dir, trained, trained_of  # noqa: F401 - fixtures


def carelessly(connection: sqlite3.Connection, _record: object) -> None:
    """Do not wait for the disk: no test here looks at what a power cut leaves."""
    connection.execute("PRAGMA synchronous = OFF")


@pytest.fixture(scope="session", autouse=True)
def quick_databases() -> Iterator[None]:
    """MLflow begins a database by running all its migrations, over a hundred commits; from the second on it is copied.

    The first database of a test run is MLflow's own work.
    """
    os.environ.update(QUIET)
    from mlflow.store.db import utils
    from sqlalchemy import Engine, event

    begin = utils._initialize_tables

    def begin_or_copy(engine: Engine) -> None:
        with contextlib.closing(sqlite3.connect(str(engine.url.database))) as file:
            if kept.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                kept.backup(file)
            else:
                begin(engine)
                file.backup(kept)

    listener: tuple[Any, ...] = (Engine, "connect", carelessly)
    event.listen(*listener)
    with contextlib.closing(sqlite3.connect(":memory:")) as kept, pytest.MonkeyPatch.context() as patch:
        patch.setattr(utils, "_initialize_tables", begin_or_copy)
        yield
    event.remove(*listener)
