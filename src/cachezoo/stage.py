"""A stage of DVC: what it does, its jobs, and how it starts."""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from cachezoo.console import complain, err
from cachezoo.errors import CachezooError, ConfigError, os_message
from cachezoo.io import write_json
from cachezoo.jobs import die_with_parent, spread, started_by
from cachezoo.kept import Each, Hashes, Job, keep, named, restore
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


@dataclass(frozen=True)
class Stage:
    """A stage of the pipeline.

    Attributes:
        main: `main(params)` or, with jobs, `main(params, key)`; as `module:name` it is imported as the stage starts.
            A document that it returns is written as JSON.
        each: its jobs; without them it is one.
        writes: where the document goes; that of a job goes where the job writes.
        parts: modules that it finds by name, such as through the registry: `cachezoo.closure` counts them as imported.
        takes_params: False of a stage before params.yaml: `main()`.
    """

    main: Callable[..., object] | str
    each: Each | None = None
    writes: str = ""
    parts: Sequence[str] = ()
    takes_params: bool = True

    def start(self, name: str, words: Sequence[str]) -> None:
        """Do its work as a process of its own, from the project's root.

        Args:
            name: of the stage.
            words: with a job's key it does that job alone, and keeps nothing.
        """
        with guarded(name):
            if len(words) > (self.each is not None):
                takes = "a job's key or nothing" if self.each is not None else "nothing"
                message = f"takes {takes}, got {' '.join(words)}; it is started by `dvc repro`, conf/ has all values"
                raise ConfigError(message)
            main = named(self.main)
            if not self.takes_params:
                main()
                return
            from cachezoo.config.load import load_params

            params: Params = load_params()
            if self.each is None:
                _timed(name, lambda: _write(main(params), self.writes))
            elif words:
                job = self.each.job(name, words[0], params)
                _write(main(params, job.key), job.writes[0])
            else:
                self.each.make_roots()
                _timed(name, partial(run_jobs, main, self.each.jobs(name, params), name))


@runtime_checkable
class Document(Protocol):
    """What a stage may return: a model of pydantic, on which not every stage depends."""

    def model_dump(self, *, mode: str) -> dict[str, Any]:
        """Its plain values."""


def _write(found: object, path: str | Path) -> None:
    """Write what a stage returned, where that is a document."""
    if isinstance(found, Document):
        write_json(Path(path), found.model_dump(mode="json"))


def _do(main: Callable[..., object], job: Job, digest: str) -> None:
    """Do a job and keep what it has written."""
    from cachezoo.config.load import load_params

    _write(main(load_params(), *filter(None, [job.key])), job.writes[0])
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
    several = any(job.machines > 1 for job in todo)
    spread(title, _do, [(main, job, digests[job.key]) for job in todo], one_by_one=several)


def run(stages: Mapping[str, Stage]) -> None:
    """Do what a script with a table of stages was started for: `SCRIPT NAME [KEY]`."""
    name, words = next(iter(sys.argv[1:]), ""), sys.argv[2:]
    if name not in stages:
        complain(f"stages: there is no stage {name!r}; there are {', '.join(stages)}")
        raise SystemExit(1)
    stages[name].start(name, words)


def _timed(name: str, work: Callable[[], object]) -> None:
    with timed(name, " ".join(map(str, started_by()))) as estimate:
        if estimate:
            err().print(f"{name}: {estimate}", markup=False)
        work()
