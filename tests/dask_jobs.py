"""Jobs for a cluster, in a module that is quick to import."""

import os
import signal
import time
from pathlib import Path

from cachezoo.errors import ConfigError
from cachezoo.pinned import PINNED

LONG_S = 600


def about(k):
    """Where a job is done, and in which environment."""
    return k, os.getcwd(), {name: os.environ.get(name) for name in PINNED}, os.environ["CACHEZOO_ENGINE"], os.getppid()


def refuse(k):
    """A job that fails."""
    message = f"job {k} is refused"
    raise ConfigError(message)


def die(k):
    """A job whose process is killed."""
    del k
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(folder, k):
    """A job whose worker is killed the first time, where it is the second."""
    if k == 1 and not (folder / "killed").exists():
        (folder / "killed").touch()
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(LONG_S)
    return k


def begin(folder, k):
    """A job that does not end by itself."""
    (folder / f"{k}.begun").write_text(str(os.getpid()))
    time.sleep(LONG_S)


def stage(params, key):
    """Jobs of a stage, the second of which does not end the first time."""
    del params
    with Path(f"{key}.runs").open("a") as runs:
        runs.write("x")
    if key == "b" and Path("b.runs").stat().st_size == 1:
        time.sleep(LONG_S)
    Path(f"out/{key}").write_text(key)
