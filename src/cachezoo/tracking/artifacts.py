"""The files of MLflow's runs: one folder for each run in the project's mlflow-artifacts."""

import hashlib
import re
import shutil
from collections.abc import Collection
from pathlib import Path

from cachezoo.io import sha256_file

ARTIFACTS = "mlflow-artifacts"
CARD, PLOTS, BUNDLE, MODEL = "card.md", "plots", "bundle", "model"
OURS = {CARD, PLOTS, BUNDLE, MODEL}
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
