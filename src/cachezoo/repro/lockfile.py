"""dvc.lock, written by one process: whole at every moment, in the order that a sequential run would have given it.

Also what is done about files of a run that are damaged.

Paths are relative to the project's root, which is the working folder. ADR 13 has the failures that this is for.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
import yaml
from dvc.schema import COMPILED_LOCKFILE_SCHEMA
from dvc.utils.serialize import dumps_yaml, load_yaml
from voluptuous import Invalid

from cachezoo.errors import CachezooError
from cachezoo.paths import PARAMS

LOCK = Path("dvc.lock")
SCRATCH = Path(".dvc/tmp")
HELD = SCRATCH / "rwlock"
BEFORE = SCRATCH / "stages-before"
STAGES = "stages"


def forget_cut_runs(folder: Path) -> None:
    """Remove the empty folders that DVC leaves in its record of runs when it is killed; it falls over one later.

    Args:
        folder: the record, `.dvc/cache/runs`.
    """
    for run in folder.glob("*/*"):
        if run.is_dir() and not any(run.iterdir()):
            run.rmdir()


def release_dead() -> None:
    """Take processes that have ended out of DVC's table of paths in use, to be called while DVC's lock is held.

    DVC does that by itself, but not for a process that its parent has not asked for its status yet, such as those of a
    killed run for a moment, and not when a kill has cut the table short.
    """
    try:
        table = json.loads(HELD.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return
    except ValueError:
        table = {}
    write = {path: by for path, by in table.get("write", {}).items() if _alive(by["pid"])}
    read = {path: [by for by in users if _alive(by["pid"])] for path, users in table.get("read", {}).items()}
    _write(HELD, json.dumps({"write": write, "read": read}))


def _alive(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def recover() -> bool:
    """Put a dvc.lock that a kill cut short aside; DVC's cache of runs then restores the stages that had ended.

    Returns:
        Whether there was one.
    """
    try:
        COMPILED_LOCKFILE_SCHEMA(yaml.load(LOCK.read_bytes(), yaml.CSafeLoader))
    except FileNotFoundError:
        return False
    except (yaml.YAMLError, Invalid):
        committed = _committed()
        _write(LOCK, committed) if committed is not None else LOCK.unlink()
        now = "it is removed" if committed is None else "the committed one is back"
        sys.stderr.write(f"{LOCK}: was cut short when a run was killed; {now}\n")
        return True
    return False


def drop_params() -> bool:
    """Remove a params.yaml that cannot be read, which would stop DVC before the stage compose writes it anew.

    Returns:
        Whether there was one.
    """
    try:
        value = yaml.load(PARAMS.read_bytes(), yaml.CSafeLoader)
    except FileNotFoundError:
        return False
    except (yaml.YAMLError, UnicodeDecodeError):
        value = PARAMS
    if value is None or isinstance(value, dict):
        return False
    PARAMS.unlink()
    sys.stderr.write(f"{PARAMS}: was damaged and is removed; the stage compose writes it anew from conf/\n")
    return True


def _committed() -> str | None:
    """dvc.lock as Git has it; None where it has none, or there is no Git."""
    git = shutil.which("git")
    if git is None:
        return None
    done = subprocess.run([git, "show", f"HEAD:./{LOCK}"], capture_output=True, check=False)
    return done.stdout.decode() if done.returncode == 0 else None


def entry_text(entry: Mapping[str, Any]) -> str:
    """The lines of dvc.lock for one stage.

    Args:
        entry: the stage's name with what DVC records of it.
    """
    text: str = dumps_yaml({STAGES: entry})
    return text.split("\n", 1)[1]


class LockWriter:
    """dvc.lock during a run.

    DVC itself reads, parses, renders and writes the whole file when a stage has ended, all under its lock, which with
    two stages at a time took longer than most stages. Here the text of each stage is kept, and one of them is new.
    """

    def __init__(self, order: Sequence[str]) -> None:
        """Read it.

        Args:
            order: names of all stages, in DVC's order.
        """
        lock: dict[str, Any] = load_yaml(LOCK) if LOCK.exists() else {"schema": "2.0"}
        self._entries = {name: entry_text({name: entry}) for name, entry in lock.pop(STAGES, {}).items()}
        self._head = f"{dumps_yaml(lock)}{STAGES}:\n"
        self._text = LOCK.read_text(encoding="utf-8") if LOCK.exists() else None
        # A run that was killed leaves stages in the order in which they happened to end.
        if not BEFORE.exists() or not self._entries:
            _write(BEFORE, json.dumps(list(self._entries)))
        self._order = list(dict.fromkeys([*json.loads(BEFORE.read_text(encoding="utf-8")), *order]))

    def add(self, name: str, text: str) -> None:
        """Record a stage: in the place that it has; a new one behind those, as DVC goes through the new ones.

        Args:
            name: the stage.
            text: its lines, see `entry_text`.

        Raises:
            CachezooError: another program has written the file since.
        """
        self._entries[name] = text
        ordered = sorted(self._entries, key=self._rank)
        whole = self._head + "".join(self._entries[name] for name in ordered)
        now = LOCK.read_text(encoding="utf-8") if LOCK.exists() else None
        if now != self._text:
            message = f"{LOCK}: another program has written it during this run; let that end and run this again"
            raise CachezooError(message)
        if whole != self._text:
            _write(LOCK, whole)
            self._text = whole

    def _rank(self, name: str) -> int:
        """A stage's place; last if it has left dvc.yaml since a run was killed."""
        return self._order.index(name) if name in self._order else len(self._order)

    def finish(self) -> None:
        """The run has come to its end, and the order is what it shall be."""
        BEFORE.unlink(missing_ok=True)


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all; the temporary name is in a folder that Git and DVC ignore."""
    SCRATCH.mkdir(parents=True, exist_ok=True)
    temporary = SCRATCH / f"{path.name}.new"
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)
