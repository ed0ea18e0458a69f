"""The one entry through which every DVC stage starts."""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.console import complain, err
from cachezoo.errors import CachezooError, ConfigError, os_message
from cachezoo.jobs import die_with_parent, spread, started_by
from cachezoo.kept import Each, Hashes, Job, keep, restore
from cachezoo.pinned import PINNED
from cachezoo.private import closed_folder
from cachezoo.to_go import timed

if TYPE_CHECKING:
    from cachezoo.settings.params import Params


def heed_interrupts() -> None:
    """Let Ctrl-C end the stage even where a background shell had turned it off."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def settle_environment(root: Path) -> None:
    """Keep caches inside the clone, and fix what would make bytes depend on the machine."""
    cache = root / ".cache"
    closed_folder(cache)
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
        complain(f"{name}: {error}")
        raise SystemExit(1) from error
    except OSError as error:
        complain(f"{name}: {os_message(error)}")
        raise SystemExit(1) from error


def _do(main: Callable[..., object], job: Job, digest: str) -> None:
    """Do a job and keep what it has written."""
    from cachezoo.config.load import load_params

    main(load_params(), *filter(None, [job.key]))
    keep(job, digest)


def run_jobs(main: Callable[..., object], jobs: Sequence[Job], title: str) -> None:
    """Do the jobs of a stage, some at a time; those whose results are kept are not done again.

    Args:
        main: called with params.yaml and the job's key.
        jobs: all of the stage.
        title: of the progress.
    """
    hashes = Hashes()
    digests = {job.key: job.digest(hashes) for job in jobs}
    todo = [job for job in jobs if not restore(job, digests[job.key])]
    if len(todo) < len(jobs):
        err().print(f"{title}: {len(jobs) - len(todo)} of {len(jobs)} jobs are as they were", markup=False)
    spread(title, _do, [(main, job, digests[job.key]) for job in todo])


def stage(main: Callable[..., object], each: Each | None = None) -> Callable[[], None]:
    """Turn `main(params)` or, with jobs, `main(params, key)` into a script, run from the project's root.

    Args:
        main: what the stage does; a function of a module, or of the script itself.
        each: its jobs; without them it is one. With a key as its argument the script does that job alone, and keeps
            nothing.
    """

    def run() -> None:
        name, words = Path(sys.argv[0]).stem, sys.argv[1:]
        with guarded(f"{name}.py"):
            from cachezoo.config.load import load_params

            if len(words) > (each is not None):
                takes = "a job's key or nothing" if each is not None else "nothing"
                raise ConfigError(f"takes {takes}, got {' '.join(words)}; it is started by `dvc repro`")
            params: Params = load_params()
            if each is None:
                _timed(name, partial(main, params))
            elif words:
                main(params, each.job(name, words[0], params).key)
            else:
                each.make_roots()
                _timed(name, partial(run_jobs, main, each.jobs(name, params), name))

    return run


def _timed(name: str, work: Callable[[], object]) -> None:
    with timed(name, " ".join(map(str, started_by()))) as said:
        if said:
            err().print(f"{name}: {said}", markup=False)
        work()
