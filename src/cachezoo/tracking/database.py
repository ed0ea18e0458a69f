"""MLflow's database file: looked at before MLflow opens it, so that what is wrong with it is said in one line.

It is a view of stage outputs. One that is damaged, of another version of MLflow, or of the folder that a clone was
moved or copied from, is put aside by `cachezoo track sync`, which builds it anew. What is wrong is found out before
MLflow opens the file, as MLflow would keep it open.
"""

import contextlib
import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from cachezoo.bundles.protocol import one_line
from cachezoo.console import err
from cachezoo.errors import CachezooError
from cachezoo.io import atomic_file, held
from cachezoo.tracking.artifacts import ARTIFACTS

DATABASE = "mlflow.db"
REPLACED = f"{DATABASE}.replaced"
EXPERIMENT = "cachezoo"
BESIDE = ("-journal", "-wal", "-shm")  # of SQLite
LOCKED = "database is locked"
SCHEMA = "database schema"
WAIT_S = 30.0
REBUILD = "; run `cachezoo track sync`, which builds it anew"


class UnusableError(CachezooError):
    """The database is no view of this project, and is to be built anew."""


def renew(root: Path, wait_s: float = WAIT_S) -> None:
    """Put a database aside that cannot be used, as `mlflow.db.replaced`; the next use makes an empty one.

    Args:
        root: the project.
        wait_s: how long another program may hold it.

    Raises:
        CachezooError: it is no file, cannot be opened, or another program holds it.
    """
    path = root / DATABASE
    try:
        _check(path, wait_s)
        return
    except UnusableError as error:
        what = str(error)
    with held(root):
        try:
            _check(path, wait_s)  # another process may have put it aside meanwhile
        except UnusableError:
            for suffix in ("", *BESIDE):
                with contextlib.suppress(FileNotFoundError):
                    os.replace(f"{path}{suffix}", f"{root / REPLACED}{suffix}")
    said = what.removesuffix(REBUILD)
    err().print(f"note: {said}; it is built anew, and the old one kept as {REPLACED}", soft_wrap=True, markup=False)


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
    cure = "; delete it and run `cachezoo track sync`, which builds it anew" if of_database else ""
    return CachezooError(f"{path}: MLflow refuses ({one_line(error)}){cure}")


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
            if found == ["ok"]:
                _check_owner(path, file)
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


def _check_owner(path: Path, file: sqlite3.Connection) -> None:
    """See that an undamaged database is of this MLflow and this folder."""
    tables = {row[0] for row in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not {"alembic_version", "experiments"} <= tables:
        raise _damaged(path, "is no database of MLflow's")
    versions = {row[0] for row in file.execute("SELECT version_num FROM alembic_version")}
    if versions != _versions():
        raise _damaged(path, "was made by another version of MLflow")
    wanted = (path.parent.resolve() / ARTIFACTS).as_uri()
    for (place,) in file.execute("SELECT artifact_location FROM experiments WHERE name = ?", (EXPERIMENT,)):
        if place != wanted:
            raise _damaged(path, f"was made in another folder ({place})")


def _versions() -> set[str]:
    """What the installed MLflow calls its newest schema."""
    from alembic.script import ScriptDirectory
    from mlflow.store import db_migrations

    return set(ScriptDirectory(str(Path(db_migrations.__file__).parent)).get_heads())


def _damaged(path: Path, what: str) -> CachezooError:
    return UnusableError(f"{path}: {what}{REBUILD}")


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
