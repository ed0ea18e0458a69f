"""MLflow's database file, a view of stage outputs, and the files of its runs, a folder each in mlflow-artifacts."""

import hashlib
import os
import re
import shutil
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from cachezoo.bundles.protocol import one_line
from cachezoo.console import err
from cachezoo.errors import CachezooError
from cachezoo.io import atomic_file, sha256_file

DATABASE = "mlflow.db"
EXPERIMENT, STUDIES = "cachezoo", "cachezoo studies"
DIGEST, FINGERPRINT, SEAL = "cachezoo.digest", "cachezoo.fingerprint", "cachezoo.files"
WAIT_S = 30.0  # for a program that holds it
BESIDE = ("-journal", "-wal", "-shm")  # of SQLite
MADE = f"SELECT key, value FROM experiment_tags JOIN experiments USING (experiment_id) WHERE name = '{EXPERIMENT}'"
# Whatever no sync logs: users' experiments, runs, models and traces.
OTHERS = f"""
SELECT EXISTS (SELECT * FROM experiments WHERE name NOT IN ('Default', '{EXPERIMENT}', '{STUDIES}'))
    OR EXISTS (SELECT * FROM runs WHERE run_uuid NOT IN (SELECT run_uuid FROM tags WHERE key = '{DIGEST}'))
    OR EXISTS (SELECT * FROM registered_models
               WHERE name NOT IN (SELECT name FROM model_version_tags WHERE key = '{DIGEST}'))
    OR EXISTS (SELECT * FROM trace_info)
"""


@dataclass(frozen=True)
class View:
    """A database as a sync left it."""

    tags: dict[str, str]  # of the experiment
    runs: list[str]  # ids of its runs, those of studies included
    others: bool  # users have logged into it


def read_view(path: Path) -> View | None:
    """What is in a database; None where it is missing, damaged or none of this MLflow's.

    Raises:
        CachezooError: it is no file, or cannot be read now.
    """
    if not path.exists():
        return None
    if not path.is_file():
        raise CachezooError(f"{path}: is no file; move it away and run `cachezoo models track sync`, which makes it")
    with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(path, WAIT_S)) as file:
        try:
            if file.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                return None
        except sqlite3.OperationalError as error:
            message = f"{path}: cannot be read ({one_line(error)}); end the program that holds it, or move it away"
            raise CachezooError(message) from error
        runs = [row[0] for row in file.execute("SELECT run_uuid FROM runs ORDER BY run_uuid")]
        return View(dict(file.execute(MADE)), runs, bool(file.execute(OTHERS).fetchone()[0]))
    return None


@contextmanager
def replacing(path: Path, old: View | None) -> Iterator[Path]:
    """A file for a new database, which takes the place of the old one in one step once it is whole.

    What users logged into the old one is kept under another name, and so is one that cannot be read.

    Args:
        path: the database.
        old: what is in it.
    """
    with atomic_file(path) as temporary:
        yield temporary
        kept = next(own for k in count(1) if not (own := path.with_name(f"{path.name}.kept-{k}")).exists())
        keep = path.exists() and (old is None or old.others)
        if keep:
            what = "cannot be read" if old is None else "holds what no sync has logged"
            err().print(f"note: {path}: {what}; it is kept as {kept.name}", soft_wrap=True, markup=False)
        for suffix in ("", *BESIDE):
            own = Path(f"{path}{suffix}")
            if keep and own.exists():
                os.replace(own, f"{kept}{suffix}")
            elif suffix:  # the new one would be read with it
                own.unlink(missing_ok=True)


@contextmanager
def refusals(path: Path, cure: str = "") -> Iterator[None]:
    """Say in one line what MLflow refuses.

    Args:
        path: the database.
        cure: what to do.

    Raises:
        CachezooError: MLflow refuses.
    """
    from alembic.util import CommandError
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (CommandError, SQLAlchemyError, MlflowException) as error:
        raise CachezooError(f"{path}: MLflow refuses ({one_line(error)}){cure}") from error


ARTIFACTS = "mlflow-artifacts"
CARD, RESULTS, PLOTS, BUNDLE, MODEL = "card.md", "results.md", "plots", "bundle", "model"
OURS = {CARD, RESULTS, PLOTS, BUNDLE, MODEL}
FILES = "artifacts"
RUN = re.compile(r"[0-9a-f]{32}")


def seal(root: Path, runs: Collection[str]) -> str:
    """sha256 over the names and contents of runs' files, so that a later sync sees what is missing or changed."""
    store, digest = root / ARTIFACTS, hashlib.sha256()
    for run in sorted(runs):
        for file in sorted(path for path in (store / run / FILES).rglob("*") if path.is_file()):
            digest.update(f"{file.relative_to(store).as_posix()}\0{sha256_file(file)}\n".encode())
    return digest.hexdigest()


def prune(root: Path, kept: Collection[str]) -> int:
    """Remove the folders of runs that the database does not know.

    Only what a sync makes goes: a folder named as MLflow names runs, which holds such files as a sync logs and no
    others. Where mlflow-artifacts is a link, other projects may keep theirs there, and all stays.

    Args:
        root: the project.
        kept: ids of the runs whose files are kept.

    Returns:
        How many folders were removed.
    """
    store = root / ARTIFACTS
    if store.is_symlink() or not store.is_dir():
        return 0
    orphans = [folder for folder in sorted(store.iterdir()) if folder.name not in kept and _ours(folder)]
    for folder in orphans:
        shutil.rmtree(folder)
    return len(orphans)


def _ours(folder: Path) -> bool:
    if not RUN.fullmatch(folder.name) or folder.is_symlink() or not folder.is_dir():
        return False
    inner = folder / FILES
    if [path.name for path in folder.iterdir()] != [FILES] or inner.is_symlink() or not inner.is_dir():
        return False
    return {path.name for path in inner.iterdir()} <= OURS
