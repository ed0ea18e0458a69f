"""The one entry through which every DVC stage starts."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cachezoo.errors import CachezooError, ConfigError, os_message
from cachezoo.pinned import PINNED
from cachezoo.private import make_closed

PR_SET_PDEATHSIG = 1
STARTED_BY = "CACHEZOO_STARTED_BY"
"""Environment variable: the process that a stage ends with."""


def die_with_parent() -> None:
    """Ask the kernel to end this process when its parent dies, so that no stage outlives a killed `dvc repro`.

    On a busy machine it takes seconds until an interpreter comes here, and its parent may be gone by then. Who started
    the stage says so in the environment.
    """
    parent = os.getppid()
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    started_by = os.environ.get(STARTED_BY, "")
    gone = started_by.isdecimal() and not Path("/proc", started_by).exists()
    if gone or os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def heed_interrupts() -> None:
    """Let Ctrl-C end the stage even where a background shell had turned it off."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def settle_environment(root: Path) -> None:
    """Keep caches inside the clone, and fix what would make bytes depend on the machine."""
    cache = root / ".cache"
    make_closed(cache)
    os.environ.setdefault("CACHEZOO_CACHE_DIR", str(cache))
    os.environ.setdefault("MPLCONFIGDIR", str(cache / "matplotlib"))
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache / "torchinductor"))
    os.environ.setdefault("XDG_CACHE_HOME", str(cache / "xdg"))
    os.environ.setdefault("XDG_CONFIG_HOME", str(cache / "xdg-config"))
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    # All but what numpy read as it was imported: `scripts/python` sets these before the interpreter starts.
    os.environ.update(PINNED)


@contextmanager
def guarded(name: str) -> Iterator[None]:
    """Run a stage's work: it ends with DVC, keeps caches in the clone, and says in one line what is wrong."""
    die_with_parent()
    heed_interrupts()
    try:
        settle_environment(Path.cwd())
        yield
    except CachezooError as error:
        sys.stderr.write(f"{name}: {error}\n")
        raise SystemExit(1) from error
    except OSError as error:
        sys.stderr.write(f"{name}: {os_message(error)}\n")
        raise SystemExit(1) from error


def stage(main: Callable[..., object]) -> Callable[[], None]:
    """Turn `main(params[, key])` into a script: `python pipelines/NAME.py [KEY]` from the project's root."""

    def run() -> None:
        name, keys = Path(sys.argv[0]).name, sys.argv[1:]
        expected = main.__code__.co_argcount - 1
        with guarded(name):
            from cachezoo.config.load import load_params

            if len(keys) != expected:
                message = f"takes {expected} key, got {len(keys)}; it is started by `dvc repro`"
                raise ConfigError(message)
            main(load_params(), *keys)

    return run
