"""Jobs for a cluster, in a module that is quick to import."""

import os
import signal
import socket
import time
from pathlib import Path

from cachezoo.errors import ConfigError
from cachezoo.jobs import together
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


def talk(addresses, place, silent):
    """A job that waits for the word of the other, which may end without one; returns its place."""
    host, _, port = addresses[0].rpartition(":")
    if place == 0:
        with socket.create_server((host, int(port))) as server:
            other = server.accept()[0]
            if other.recv(1) != b"x":
                message = "connection closed"
                raise OSError(message)
            other.close()
        return place
    stop = time.monotonic() + LONG_S
    while True:
        try:
            other = socket.create_connection((host, int(port)))
            break
        except ConnectionRefusedError:
            assert time.monotonic() < stop
            time.sleep(0.02)
    if not silent:
        other.sendall(b"x")
    other.close()
    return place


def train(params, key):
    """A job of a stage that two machines do."""
    del params
    here = "here" if os.environ["CACHEZOO_ENGINE"] == "dask" else "there"
    Path(f"out/{key}").write_text(" ".join([here, *map(str, together(key, talk, [(False,)] * 2))]))
