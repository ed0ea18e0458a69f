"""The files of MLflow's runs: one folder for each run in the project's mlflow-artifacts."""

import hashlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from cachezoo.io import sha256_file

ARTIFACTS = "mlflow-artifacts"
CARD, PLOTS, BUNDLE, MODEL = "card.md", "plots", "bundle", "model"
OURS = {CARD, PLOTS, BUNDLE, MODEL}
FILES = "artifacts"
RUN = re.compile(r"[0-9a-f]{32}")


def files_of(root: Path, run_id: str) -> Path:
    """The folder of a run's files."""
    return root / ARTIFACTS / run_id / FILES


def seal(root: Path, run_id: str) -> str:
    """sha256 over the names and contents of a run's files, so that a later sync sees what is missing or changed."""
    folder = files_of(root, run_id)
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{file.relative_to(folder).as_posix()}\0{sha256_file(file)}\n".encode())
    return digest.hexdigest()


def clear(root: Path, run_id: str) -> None:
    """Remove a run's files, which are logged again."""
    folder = files_of(root, run_id)
    if folder.exists():
        shutil.rmtree(folder)


def prune(root: Path, owned: Callable[[], set[str]]) -> int:
    """Remove the folders of runs that no database knows any more.

    Only what a sync makes goes: a folder named as MLflow names runs, which holds such files as a sync logs and no
    others. Where mlflow-artifacts is a link, other projects may keep theirs there, and all stays.

    Args:
        root: the project.
        owned: asks the database for the runs whose files are kept. It is asked after the folders are listed: MLflow
            knows a run before it has files, so one that another sync has just begun is known too.

    Returns:
        How many folders were removed.
    """
    store = root / ARTIFACTS
    if store.is_symlink() or not store.is_dir():
        return 0
    found = [folder for folder in sorted(store.iterdir()) if _ours(folder)]
    kept = owned()
    orphans = [folder for folder in found if folder.name not in kept]
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
