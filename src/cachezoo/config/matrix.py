"""Add a trace to conf/matrix.yaml: the file is read, the row checked with the whole of conf/, then written."""

import filecmp
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from pydantic import ValidationError

from cachezoo.config.compose import compose
from cachezoo.config.matrix_text import LISTS, OBJECT_TABLE, PAGE_TABLE, WRITE_TABLE, with_trace
from cachezoo.errors import ConfigError, TraceError
from cachezoo.io import atomic_file
from cachezoo.settings.data import LONGEST_CATEGORY, LONGEST_KEY, Role, TraceEntry
from cachezoo.yaml_file import parsed

if TYPE_CHECKING:
    from cachezoo.traces.reading import Requests

MATRIX = Path("conf/matrix.yaml")
RAW = Path("data/raw")
IMPORTED = RAW / "imported"
# What stages write, and what DVC and Git keep for themselves, is no raw trace.
NOT_RAW = tuple(
    f"data/{name}" for name in ("requests", "writes", "responses", "replays", "labels", "features", "corpus")
)
NOT_RAW += ("models", ".dvc", ".git", ".cache", ".venv", "mlflow-artifacts")
ROLES: tuple[str, ...] = get_args(Role)
WITHOUT = {
    "train": "the training stages stop",
    "validation": "nothing judges the models, and the export stages stop",
    "test": "there are no test figures",
}
WHOLE = (0.0, 1.0)
IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class NewTrace:
    """A trace that is to go into the matrix."""

    file: Path  # the trace's file
    category: str  # of workload; may be a new one
    role: str  # train, validation or test
    key: str | None = None  # its name; None takes `<category>_<role>`, with _2, _3 … where that is taken
    fmt: str = "auto"  # ``auto`` or a format's id
    part: tuple[float, float] | None = None  # first and last request to keep, as fractions of the trace; None keeps all
    options: Mapping[str, str] | None = None  # the format's options, as text
    skip_bad_rows: int = 0  # how many rows may be skipped instead of refused
    # whether a file from outside the project is brought into it; else the matrix names it where it lies
    copy: bool = True
    objects: bool = False  # a new category is one of large objects, for a flash cache alone; else for a page cache too
    writes: bool = False  # a new category is one of overwrites, for the streams of an SSD alone


@dataclass(frozen=True)
class Added:
    """What `add_trace` did."""

    key: str  # the trace's key
    entry: dict[str, Any]  # its row of the matrix
    new_category: bool  # whether its category was not in the matrix before
    missing: tuple[str, ...]  # roles that its category has no trace of yet
    notes: tuple[str, ...]  # what the user should know, a sentence each
    next_command: str  # what to run next


def add_trace(project: Path, new: NewTrace) -> Added:
    """Put a trace into conf/matrix.yaml, so that the next `dvc repro` uses it; on an error nothing has changed.

    Args:
        project: the root of a cachezoo project.
        new: the trace.

    Raises:
        TraceError: the file is no readable trace of its format, or its requests are of objects.
        ConfigError: the row fits the matrix or conf/ not, or the file cannot be brought into the project.
    """
    _check_words(new)
    path = project / MATRIX
    if not path.is_file():
        raise ConfigError(f"{path}: no such file; run this in the root of a cachezoo project")
    text = _text_of(path)
    traces = _traces(text)
    table = _table(text, new)
    fmt, options, notes = _look(new, table)
    new = replace(new, options=options)
    place = _place(project, new)
    _check_unlisted(project, traces, place, new)
    key = _key(traces, new)
    row = _row(new, place, fmt)
    edited = with_trace(text, str(MATRIX), key, row, table)
    _check_whole(project, edited)
    with _brought(project, new, place):
        with atomic_file(path) as temporary:
            temporary.write_bytes(edited.encode("utf-8"))
    return _report(traces, key, row, [*notes, *_place_notes(new, place)])


def _check_words(new: NewTrace) -> None:
    """Refuse words that a key, category or role cannot be."""
    for what, word, longest in (("category", new.category, LONGEST_CATEGORY), ("key", new.key, LONGEST_KEY)):
        if word is None:
            continue
        if len(word) > longest:
            raise ConfigError(f"{what} {word[:20]}…: has {len(word)} characters; take at most {longest}")
        if not IDENTIFIER.fullmatch(word) or parsed(word, what) != word:
            message = (
                f"{what} {word!r}: take a-z first, then a-z, 0-9 and _, and none of YAML's words such as yes or null"
            )
            raise ConfigError(message)
    if new.role not in ROLES:
        raise ConfigError(f"role {new.role!r}: must be one of {', '.join(ROLES)}")


def _table(text: str, new: NewTrace) -> str:
    """The table of the trace's category; for a new category the one that is asked for."""
    asked = {OBJECT_TABLE: "--objects"} if new.objects else {}
    asked |= {WRITE_TABLE: "--writes"} if new.writes else {}
    if len(asked) > 1:
        raise ConfigError(f"category {new.category}: --objects and --writes are two kinds of traces; take one")
    matrix = parsed(text, str(MATRIX))
    for table in LISTS:
        rows = (matrix.get(table) or {}) if isinstance(matrix, dict) else {}
        if any(row["category"] == new.category for row in rows.values()):
            for other, option in asked.items():
                if other != table:
                    raise ConfigError(f"category {new.category}: {MATRIX} has it among the {table}; leave {option} out")
            return table
    return next(iter(asked), PAGE_TABLE)


def _look(new: NewTrace, table: str) -> tuple[str, dict[str, str], list[str]]:
    """The id of the file's format and its options, its first requests read; and what they give to say."""
    from cachezoo.traces.read import OpenTrace, TraceFiles, silent, without_addresses
    from cachezoo.traces.source import refuse_pipe

    refuse_pipe(new.file)
    options = dict(new.options or {})
    given = OpenTrace(TraceFiles([new.file], new.fmt, new.category, new.key, options, new.skip_bad_rows), silent)
    chunks = given.chunks()
    first = next(chunks)
    if given.objects:
        raise TraceError(without_addresses(given))
    _check_part(new, len(first), chunks)
    notes = [f"{what.replace('_', ' ')}: {said}" for what, said in given.reading.notes.items()]
    volume = first.coded.get("volume")
    volumes = len(set(volume.codes.tolist())) if volume is not None else 1
    if volumes > 1 and table == PAGE_TABLE:
        notes.append(
            f"its first {len(first):,} requests go to {volumes} volumes, but the models are trained on one: "
            "the pipeline will refuse it; `cachezoo trace split FILE -o DIR --by volume` makes a trace of each"
        )
    if given.choice.inferred:
        notes.append(f"read as {given.choice.inferred}")
    return given.format.id, given.choice.options, notes


def _check_part(new: NewTrace, rows: int, more: Iterator["Requests"]) -> None:
    """Refuse a part that no request of the trace lies in; only as much of it is read as that takes."""
    begin, end = new.part or WHOLE
    if not 0 <= begin < end <= 1:
        return  # said where the row is checked
    while rows * (end - begin) < 1:
        chunk = next(more, None)
        if chunk is None:
            break
        rows += len(chunk)
    if int(begin * rows) >= int(end * rows):
        message = f"{new.file}: part {begin:g} to {end:g} of its {rows:,} requests holds none; give a larger one"
        raise ConfigError(message)


def _text_of(path: Path) -> str:
    """The matrix, its line ends as they are."""
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"{MATRIX}: is no text in UTF-8 ({error.reason} at byte {error.start}); fix it first"
        raise ConfigError(message) from error


def _traces(text: str) -> dict[str, TraceEntry]:
    """The matrix's traces as they are."""
    try:
        value = parsed(text, str(MATRIX))
        tables = [value.get(name) or {} for name in ("traces", WRITE_TABLE)] if isinstance(value, dict) else []
        rows = {key: row for table in tables for key, row in table.items()}
        return {str(key): TraceEntry.model_validate(row) for key, row in rows.items()}
    except (ConfigError, ValidationError, AttributeError) as error:
        message = f"{MATRIX}: cannot be used as it is ({' '.join(str(error).split())[:200]}); fix it first"
        raise ConfigError(message) from error


def _place(project: Path, new: NewTrace) -> str:
    """The path that the matrix gets: relative to the project's root for what is or will be inside."""
    real, root = new.file.resolve(), project.resolve()
    if real.is_relative_to(root):
        inside = real.relative_to(root).as_posix()
        if any(inside == name or inside.startswith(f"{name}/") for name in NOT_RAW):
            raise ConfigError(f"{inside}: the pipeline writes this folder itself; give the raw trace, outside of it")
        place = inside
    else:
        place = (IMPORTED / new.file.name).as_posix() if new.copy else real.as_posix()
    if not place.isprintable():
        message = f"{place!r}: a name with control characters or broken UTF-8 cannot stand in YAML; rename the file"
        raise ConfigError(message)
    return place


def _check_unlisted(project: Path, traces: Mapping[str, TraceEntry], place: str, new: NewTrace) -> None:
    """Refuse a file and part that the matrix already has."""
    target, part = os.path.realpath(project / place), new.part or WHOLE
    for key, entry in traces.items():
        if os.path.realpath(project / entry.path) != target or tuple(entry.part) != tuple(part):
            continue
        if _comes_from_outside(place, new) and _differs(project / place, new.file):
            continue  # another file of that name: said where it would be copied
        message = (
            f"{new.file}: {MATRIX} has it already, as {key} ({entry.category}, {entry.role}, part {list(entry.part)}); "
            "give another part, or change that row"
        )
        raise ConfigError(message)


def _key(traces: Mapping[str, TraceEntry], new: NewTrace) -> str:
    if new.key is not None:
        if new.key in traces:
            raise ConfigError(f"key {new.key}: {MATRIX} has it already ({traces[new.key].path}); take another one")
        return new.key
    plain = f"{new.category}_{new.role}"
    number, key = 1, plain
    while key in traces:
        number += 1
        key = f"{plain}_{number}"
    return key


def _row(new: NewTrace, place: str, fmt: str) -> dict[str, Any]:
    """The row, with what is not the default."""
    row: dict[str, Any] = {"path": place, "format": fmt, "category": new.category, "role": new.role}
    if new.part is not None:
        row["part"] = [float(share) for share in new.part]
    if new.options:
        row["options"] = dict(new.options)
    if new.skip_bad_rows:
        row["skip_bad_rows"] = new.skip_bad_rows
    try:
        TraceEntry.model_validate(row)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        message = f"{new.file}: {name + ': ' if name else ''}{first['msg'].removeprefix('Value error, ')}"
        raise ConfigError(message) from error
    return row


def _check_whole(project: Path, edited: str) -> None:
    """Compose conf/ with the edited matrix, in a copy."""
    with tempfile.TemporaryDirectory(prefix="cachezoo-conf-") as folder:
        conf = Path(shutil.copytree(project / MATRIX.parent, Path(folder) / "conf"))
        (conf / MATRIX.name).write_bytes(edited.encode("utf-8"))
        try:
            compose(conf)
        except ConfigError as error:
            raise ConfigError(f"not added: {str(error).replace(str(conf), 'conf')}") from error


def _comes_from_outside(place: str, new: NewTrace) -> bool:
    return new.copy and place == (IMPORTED / new.file.name).as_posix()


def _differs(target: Path, file: Path) -> bool:
    return target.exists() and not filecmp.cmp(target, file, shallow=False)


@contextmanager
def _brought(project: Path, new: NewTrace, place: str) -> Iterator[None]:
    """A file from outside brought in, as a link where the file system can; gone again after an error."""
    target = project / place
    if not _comes_from_outside(place, new) or (target.exists() and not _differs(target, new.file)):
        yield
        return
    if target.exists():
        message = f"{place}: is another file than {new.file}; rename that one, or let the matrix name it where it lies"
        raise ConfigError(message)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(new.file.resolve(), target)
        except OSError:
            with atomic_file(target) as temporary:
                shutil.copyfile(new.file, temporary)
    except OSError as error:
        message = f"{place}: {new.file} cannot be copied there ({error.strerror}); make room, or name it where it lies"
        raise ConfigError(message) from error
    try:
        yield
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def _place_notes(new: NewTrace, place: str) -> list[str]:
    if _comes_from_outside(place, new):
        return [f"the file now lies in {place}, which Git ignores: another clone needs it there too"]
    notes = []
    if Path(place).is_absolute():
        notes.append(f"{MATRIX} now names {place}, a path of this machine: other clones cannot run the pipeline")
    if not Path(place).is_relative_to(RAW):
        notes.append(f"DVC watches {RAW} alone: if {place} changes later, run `dvc repro -f ingest`")
    return notes


def _report(traces: Mapping[str, TraceEntry], key: str, row: dict[str, Any], notes: list[str]) -> Added:
    category = row["category"]
    had = {entry.role for entry in traces.values() if entry.category == category}
    missing = tuple(role for role in ROLES if role not in {*had, row["role"]})
    notes = [*notes, *(f"until {category} has a {role} trace, {WITHOUT[role]}" for role in missing)]
    command = f"cachezoo trace add FILE --category {category} --role {missing[0]}" if missing else "make repro"
    return Added(key, row, not had, missing, tuple(notes), command)
