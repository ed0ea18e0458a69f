"""MLflow's database file: looked at before MLflow opens it, so that what is wrong with it is said in one line.

It is a view of stage outputs. A damaged one is deleted, and `cachezoo track sync` builds it anew.
"""

import contextlib
import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from cachezoo.bundles.protocol import one_line
from cachezoo.errors import CachezooError
from cachezoo.io import atomic_file, held

DATABASE = "mlflow.db"
LOCKED = "database is locked"
SCHEMA = "database schema"
WAIT_S = 30.0


@contextlib.contextmanager
def opened(root: Path, wait_s: float = WAIT_S) -> Iterator[None]:
    """Work with MLflow's database of a project, which may not be there yet.

    Args:
        root: the project.
        wait_s: how long another program may hold it.

    Raises:
        CachezooError: it is damaged, no file or no database of MLflow's, or another program holds it.
    """
    from alembic.util import CommandError
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    path = root / DATABASE
    _check(path, wait_s)
    try:
        if not path.exists():
            _make(path)
        yield
    except (CommandError, SQLAlchemyError) as error:
        raise _said(path, error, of_database=True) from error
    except MlflowException as error:
        causes = isinstance(error.__cause__ or error.__context__, CommandError | SQLAlchemyError)
        raise _said(path, error, of_database=causes or SCHEMA in str(error)) from error


def _make(path: Path) -> None:
    """Make an empty database whole or not at all: MLflow refuses one that it was killed in making.

    Of several processes that find none the first makes it; one made later would take the place of a used one.
    """
    from mlflow.tracking import MlflowClient

    with held(path.parent):
        if path.exists():
            return
        with atomic_file(path) as temporary:
            MlflowClient(tracking_uri=f"sqlite:///{temporary.resolve()}").search_experiments()


def _said(path: Path, error: Exception, of_database: bool) -> CachezooError:
    """What MLflow says, in one line; the database is to be deleted only where that is what it speaks of."""
    if LOCKED in str(error):
        return _locked(path)
    what = f"MLflow refuses ({one_line(error)})"
    return _damaged(path, what) if of_database else CachezooError(f"{path}: {what}")


def _check(path: Path, wait_s: float) -> None:
    if not path.exists():
        return
    if not path.is_file():
        message = f"{path}: is no file; move it away and run `cachezoo track sync`, which makes the database"
        raise CachezooError(message)
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=wait_s, isolation_level=None)) as file:
            file.execute("BEGIN IMMEDIATE")
            found = [row[0] for row in file.execute("PRAGMA quick_check(1)")]
            file.execute("ROLLBACK")
    except sqlite3.DatabaseError as error:
        if LOCKED in str(error):
            raise _locked(path) from error
        if isinstance(error, sqlite3.OperationalError):
            message = (
                f"{path}: cannot be opened ({one_line(error)}); change its permissions or make room, and run it again"
            )
            raise CachezooError(message) from error
        raise _damaged(path, f"is damaged ({one_line(error)})") from error
    if found != ["ok"]:
        raise _damaged(path, f"is damaged ({' '.join(found[0].split())})")


def _damaged(path: Path, what: str) -> CachezooError:
    return CachezooError(f"{path}: {what}; delete it and run `cachezoo track sync`, which builds it anew")


def _locked(path: Path) -> CachezooError:
    return CachezooError(f"{path}: is locked by {_holder(path)}; end that, or wait, and run it again")


def _holder(path: Path) -> str:
    """The program that holds a lock on a file, as the kernel's table of locks has it."""
    status = path.stat()
    place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    try:
        for line in Path("/proc/locks").read_text(encoding="utf-8").splitlines():
            found = re.search(rf" (\d+) {place} ", line)
            if found and int(found[1]) != os.getpid():
                name = Path("/proc", found[1], "comm").read_text(encoding="utf-8").strip()
                return f"{name} (process {found[1]})"
    except OSError:  # no such table, or the program has ended by now
        pass
    return "another program"
