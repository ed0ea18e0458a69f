"""The jobs of a stage, and what ended ones have written, kept: a stage that is run again does what has changed alone.

DVC decides whether a stage has to run. Within it there is one job for each trace, category or model. What a job wrote
is kept in `.cache/kept`, under a digest of all that can change its bytes: the sources of the stage, the values of
params.yaml and the files that it reads. So a run that was killed goes on with the jobs that had not ended, and a trace
that joins one category concerns no other.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cachezoo import paths
from cachezoo.errors import ConfigError
from cachezoo.io import atomic_dir, dump_json, sha256_file
from cachezoo.params import Picked, value_of

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

KEPT = Path(".cache/kept")
LIST = "files.json"
NEWEST = 2
"""Results of a job that are kept: today's, and that of the values or sources that one may go back to."""

Names = dict[str, str]


def named(name: Any) -> Any:  # noqa: ANN401 - whatever the module has of that name
    """What `module:name` is, imported; what is no text is itself."""
    if not isinstance(name, str):
        return name
    module, _, inside = name.partition(":")
    return getattr(import_module(module), inside)


@dataclass(frozen=True)
class Each:
    """What the jobs of a stage are.

    Attributes:
        over: the jobs in params.yaml: names for each, of which `key` is its key.
        values: dotted paths of the values of params.yaml that a job reads, or the dataclass that picks them, which may
            be given as `module:name`.
        reads: files and folders that it reads.
        writes: files and folders that it writes, which no other job does.
        roots: the folders that all of these are in, there even where there is no job; those that the paths begin with.

    In all of them `{name}` is a name of the job; `{arch_<kind>}` is the architecture of each kind of model.
    """

    over: Callable[["Params"], list[Names]]
    values: type[Picked] | str | Sequence[str]
    reads: Sequence[str]
    writes: Sequence[str]
    roots: Sequence[str] = ()

    def make_roots(self) -> None:
        """Make the folders of a stage's outputs: DVC wants them even where there was nothing to do."""
        for root in self.roots or [text[: text.index("{")].rpartition("/")[0] for text in self.writes]:
            Path(root).mkdir(parents=True, exist_ok=True)

    def jobs(self, stage: str, params: "Params") -> list["Job"]:
        """The jobs, those that read most first: the last to end then keeps the fewest processes waiting."""
        archs = {f"arch_{kind}": model.arch for kind, model in dict(params.model).items()}
        values = named(self.values)
        values = tuple(values.places().values()) if isinstance(values, type) and issubclass(values, Picked) else values
        found = [self._job(stage, {**archs, **names}, values, params) for names in self.over(params)]
        return sorted(found, key=lambda job: (-job.size(), job.key))

    def job(self, stage: str, key: str, params: "Params") -> "Job":
        """One of the jobs; of a stage of one job its key is empty.

        Raises:
            ConfigError: there is none of that key.
        """
        found = [job for job in self.jobs(stage, params) if job.key == key]
        if not found:
            known = ", ".join(names["key"] for names in self.over(params))
            raise ConfigError(f"{stage}: has no job {key[:60]!r}; it has {known or 'none'}")
        return found[0]

    def _job(self, stage: str, names: Names, values: Sequence[str], params: "Params") -> "Job":
        picked = {path: value_of(params, path) for path in (text.format(**names) for text in values)}
        reads, writes = ([Path(text.format(**names)) for text in given] for given in (self.reads, self.writes))
        return Job(stage, names["key"], picked, reads, writes)


@dataclass(frozen=True)
class Job:
    """One part of a stage's work."""

    stage: str  # the stage
    key: str  # of the job within the stage; empty where it is the only one
    values: Mapping[str, Any]  # those of params.yaml that it reads, by their dotted paths
    # files and folders; one that is not there counts as empty, as an optional part of a trace's category is
    reads: Sequence[Path]
    writes: Sequence[Path]  # files and folders

    def size(self) -> int:
        """Bytes that it reads."""
        return sum(file.stat().st_size for path in self.reads for file in _files(path))

    @property
    def machines(self) -> int:
        """How many machines of a cluster do it together."""
        return max((getattr(value, "machines", 1) for value in self.values.values()), default=1)

    def digest(self, hashes: "Hashes") -> str:
        """Of all that can change the bytes that it writes."""
        from pydantic_core import to_jsonable_python

        said = {
            "stage": [self.stage, self.key],
            "sources": hashes.of(paths.SOURCES / f"{self.stage}.json"),
            "values": to_jsonable_python(self.values),
            "reads": {str(path): {str(file): hashes.of(file) for file in _files(path)} for path in self.reads},
            "writes": [str(path) for path in self.writes],
        }
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:32]

    def folder(self) -> Path:
        """Where its results are kept."""
        return KEPT / self.stage / (self.key or "all")


@dataclass
class Hashes:
    """sha256 of files, each read once."""

    known: dict[Path, str] = field(default_factory=dict)

    def of(self, file: Path) -> str:
        """Of one file; empty where there is none."""
        if file not in self.known:
            self.known[file] = sha256_file(file) if file.is_file() else ""
        return self.known[file]


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.is_file())
    return [path] if path.is_file() else []


def restore(job: Job, digest: str) -> bool:
    """Put what a job had written where it belongs.

    Args:
        job: the job.
        digest: of what it would read now.

    Returns:
        Whether it was kept, whole.
    """
    kept = job.folder() / digest
    try:
        listed = json.loads((kept / LIST).read_text(encoding="utf-8"))
        whole = all(sha256_file(kept / name) == sha for name, sha in listed.items())
    except (OSError, ValueError, AttributeError):
        return False
    if not whole:
        return False
    for path in job.writes:
        source = kept / path
        if source.is_dir():
            with atomic_dir(path) as folder:
                shutil.copytree(source, folder, dirs_exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, path)
    os.utime(kept)
    return True


def keep(job: Job, digest: str) -> None:
    """Keep what a job has written, and of what it wrote before the newest."""
    with atomic_dir(job.folder() / digest) as folder:
        for path in job.writes:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if path.is_dir() else shutil.copy)(path, folder / path)
        listed = {str(file): sha256_file(folder / file) for path in job.writes for file in _files(path)}
        (folder / LIST).write_text(dump_json(listed), encoding="utf-8")
    results = sorted(job.folder().iterdir(), key=lambda path: (path.stat().st_mtime_ns, path.name))
    for old in results[:-NEWEST]:
        shutil.rmtree(old)


def one_job(_: "Params") -> list[Names]:
    """One job, which is no trace's or category's."""
    return [{"key": ""}]


def traces(params: "Params") -> list[Names]:
    """A job for each trace of a cache."""
    return _rows(params, "traces", paths.REQUESTS)


def all_traces(params: "Params") -> list[Names]:
    """A job for each trace of a cache, and for each that is for streams alone."""
    return [*traces(params), *_rows(params, "writes", paths.WRITES)]


def page_traces(params: "Params") -> list[Names]:
    """A job for each trace of a page cache."""
    return [names for names in traces(params) if names["category"] in params.data.page_categories]


def stream_traces(params: "Params") -> list[Names]:
    """A job for each trace that streams are learned from."""
    return [*page_traces(params), *_rows(params, "writes", paths.WRITES)]


def _rows(params: "Params", table: str, folder: Path) -> list[Names]:
    """The rows of a table of the matrix, with the folder of their canonical requests."""
    rows: Mapping[str, Any] = getattr(params.data, table)
    return [
        {"key": key, "category": row.category, "path": row.path, "table": table, "folder": str(folder)}
        for key, row in rows.items()
    ]


def categories(params: "Params") -> list[Names]:
    """A job for each category of a cache."""
    return _once(traces(params))


def page_categories(params: "Params") -> list[Names]:
    """A job for each category of page caches."""
    return _once(page_traces(params))


def stream_categories(params: "Params") -> list[Names]:
    """A job for each category that streams are learned for, with the folder of its requests."""
    return _once(stream_traces(params))


def _once(rows: list[Names]) -> list[Names]:
    found = {row["category"]: row["folder"] for row in rows}
    return [{"key": name, "category": name, "folder": folder} for name, folder in sorted(found.items())]


def corpora(params: "Params") -> list[Names]:
    """A job for each category of the corpus, with the folder of its raw traces."""
    return [
        {"key": name, "category": name, "folder": str(Path(next(iter(rows.values())).path).parent)}
        for name, rows in params.data.corpus.items()
    ]
