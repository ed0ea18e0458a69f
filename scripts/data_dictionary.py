"""Generate docs/data-dictionary.csv from types, or hold it against files that stages wrote.

    data_dictionary.py --write      write it anew; scripts/dictionary_files.py lists the files and what describes them
    data_dictionary.py [FOLDER]     hold it against dvc.yaml and the outputs in FOLDER, a project that has run; without
                                    FOLDER this one. Prints what is wrong, and exits 1 if anything is.

How rows are written: `<name>` stands for one name (of a file, a folder, a key), `a|b` for one of two keys, a final `**`
for whatever is below, `[]` for each element of a list of objects. A file that some row names in full belongs to the
rows that do so alone (metrics/workload.json is no metrics/page/<category>.json). A row without a column is of the file
itself. `presence` is `always` (in every such file) or `sometimes`.
"""

import csv
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from cachezoo.show.markdown import between
from scripts.dictionary_files import File, files
from scripts.dictionary_types import METADATA

ROOT = Path(__file__).resolve().parents[1]
DICTIONARY = Path("docs/data-dictionary.csv")
PAGE = Path("docs/data-dictionary.md")
PRESENCE = ("always", "sometimes")
UNKNOWN = "?"
# What dvc.yaml's variables stand for in a file's name.
VARIABLES = {"item.category": "category", "item": "category", "key": "trace"}
OF_CATEGORIES = ("${corpora}", "${stream_categories}")  # the tables whose keys are categories, not traces
Found = dict[tuple[str, ...], set[str]]


@dataclass(frozen=True)
class Row:
    """A line of the dictionary; stages are separated by blanks."""

    stage: str
    file: str
    unit_of_observation: str
    key: str
    column: str
    type: str
    unit: str
    presence: str
    meaning: str

    @property
    def where(self) -> str:
        """The row's place in words."""
        return f"{self.file} {self.column}".strip()


COLUMNS = tuple(field.name for field in fields(Row))


def generated(files: Iterable[File], outputs: list[tuple[str, str]]) -> list[Row]:
    """The dictionary of files, by the stages that write them."""
    listed = list(files)
    paths = {file.path for file in listed}
    rows = []
    for file in listed:
        found = [(stage, output) for stage, output in outputs if output == file.path or output not in paths]
        stages = " ".join(dict.fromkeys(stage for stage, output in found if _covers(file.path, output)))
        if file.each.text:
            each = file.each
            rows.append(Row(stages, file.path, each.of, each.key, "", file.type, "", each.presence, each.text))
        rows += [
            Row(stages, file.path, one.of, one.key, one.column, one.type, one.unit, one.presence, one.meaning)
            for one in file.entries
        ]
    return rows


def as_csv(rows: Iterable[Row]) -> str:
    """The rows as they stand in the dictionary."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(astuple(row) for row in rows)
    return buffer.getvalue()


def read_dictionary(path: Path) -> list[Row]:
    """The dictionary's rows."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file, strict=True)
        header, *lines = reader
    if tuple(header) != COLUMNS:
        raise ValueError(f"{path}: the header is {','.join(header)}, not {','.join(COLUMNS)}")
    for number, line in enumerate(lines, 2):
        if len(line) != len(COLUMNS):
            raise ValueError(f"{path}: line {number} has {len(line)} cells, not {len(COLUMNS)}")
    return [Row(*line) for line in lines]


def own_errors(rows: list[Row]) -> list[str]:
    """What is wrong with the dictionary itself: cells left open, rows twice, a column without its file."""
    errors, seen = [], set()
    heads = [row for row in rows if not row.column]
    for row in rows:
        cells = dict(zip(COLUMNS, astuple(row), strict=True))
        empty = [name for name, cell in cells.items() if cell == UNKNOWN or not (cell or name in ("column", "unit"))]
        errors += [f"{row.where}: {name} is not filled in" for name in empty]
        errors += [f"{row.where}: presence is {row.presence}, not always or sometimes"] * (row.presence not in PRESENCE)
        errors += [f"{row.where}: stands twice"] * ((row.file, row.column) in seen)
        seen.add((row.file, row.column))
        example = re.sub("[<>]", "", row.file)
        stages = {name for head in heads if _pattern(head.file).fullmatch(example) for name in head.stage.split()}
        errors += [f"{row.where}: no row without a column is of this file and stage"] * (
            not set(row.stage.split()) <= stages
        )
    return errors


def _variable(match: re.Match[str], own: Mapping[str, str]) -> str:
    name = own.get(match[1], match[1])
    return f"<{VARIABLES.get(name, 'arch' if name.startswith('models.') else name)}>"


def stage_outputs(dvc: dict[str, Any]) -> list[tuple[str, str]]:
    """(stage, path) of everything that dvc.yaml's stages write, variables as `<name>`."""
    outputs = []
    for stage, body in dvc["stages"].items():
        own = {"key": "item.category"} if body.get("foreach") in OF_CATEGORIES else {}
        body = body.get("do", body)
        for entry in [*body.get("outs", []), *body.get("metrics", []), *body.get("plots", [])]:
            path = entry if isinstance(entry, str) else next(iter(entry))
            outputs.append((stage, re.sub(r"\$\{([^}]+)\}", lambda match, own=own: _variable(match, own), path)))
    return outputs


@cache
def _pattern(text: str, name: str = "[^/]+") -> re.Pattern[str]:
    """What a row says of a file or key as a pattern, `<name>` being any text (in a file, without a slash)."""
    return re.compile(name.join(re.escape(part) for part in re.split(r"<[^>]+>", text)))


def _covers(file: str, output: str) -> bool:
    """Whether a row's file is an output or lies in one."""
    depth = output.count("/") + 1
    own = "/".join(file.split("/")[:depth])
    return file.count("/") + 1 >= depth and _pattern(own).fullmatch(re.sub("[<>]", "", output)) is not None


def pipeline_errors(rows: list[Row], outputs: list[tuple[str, str]]) -> list[str]:
    """Outputs without a row of their stage, and rows of files that their stage does not write."""
    said = {(stage, row.file) for row in rows if not row.column for stage in row.stage.split()}
    errors = [
        "add a row for each file in it: " + as_csv([_proposal(stage, path)]).strip()
        for stage, path in outputs
        if not any(stage == own and _covers(file, path) for own, file in said)
    ]
    for stage, file in sorted(said):
        if not any(stage == own and _covers(file, path) for own, path in outputs):
            errors.append(f"{file}: stage {stage} of dvc.yaml writes no such file; take its rows out")
    return errors


def _proposal(stage: str, file: str, column: str = "", kind: str = UNKNOWN) -> Row:
    return Row(stage, file, UNKNOWN, UNKNOWN, column, kind, UNKNOWN, "always", UNKNOWN)


def _parquet(path: Path) -> Found:
    found: Found = {}
    for field in pq.read_schema(path):
        found[tuple(field.name.split("."))] = {_arrow_type(field.type)}
    for key in pq.read_metadata(path).metadata or {}:
        if key != b"ARROW:schema":
            found[tuple(f"{METADATA}{key.decode()}".split("."))] = {"text"}
    return found


def _arrow_type(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        return f"coded {_arrow_type(kind.value_type)}"
    if pa.types.is_list(kind):
        return f"list of {_arrow_type(kind.value_type)}"
    return {"float": "float32", "double": "float64", "string": "text"}.get(str(kind), str(kind))


def _csv(path: Path) -> Found:
    with path.open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    columns = zip(*lines, strict=True) if lines else [()] * len(header)
    return {(name,): {_text_type(cell) for cell in cells} for name, cells in zip(header, columns, strict=True)}


def _text_type(cell: str) -> str:
    if cell == "":
        return "null"
    if re.fullmatch(r"-?\d+", cell):
        return "integer"
    try:
        float(cell)
    except ValueError:
        return "text"
    return "number"


def _json_type(value: object) -> str:
    names = {bool: "bool", int: "integer", float: "number", str: "text", dict: "object", type(None): "null"}
    if not isinstance(value, list):
        return names[type(value)]
    inner = {_json_type(item) for item in value}
    inner = {"number"} if inner == {"integer", "number"} else inner
    return f"list of {' or '.join(sorted(inner))}" if inner else "list"


def _json(value: object, at: tuple[str, ...], found: Found) -> Found:
    """Types by path; a list of objects is entered, a list of anything else is one value."""
    kind = _json_type(value)
    if at and kind != "list of object":
        found.setdefault(at, set()).add(kind)
    if isinstance(value, dict):
        for name, item in value.items():
            _json(item, (*at, name), found)
    if kind == "list of object":
        assert isinstance(value, list)
        for item in value:
            _json(item, (*at[:-1], f"{at[-1]}[]") if at else ("[]",), found)
    return found


def columns_of(path: Path) -> Found:
    """Columns of a table or keys of a document, with the types that their values have; nothing of other files."""
    if path.suffix == ".parquet":
        return _parquet(path)
    if path.suffix == ".csv":
        return _csv(path)
    return _json(json.loads(path.read_text(encoding="utf-8")), (), {}) if path.suffix == ".json" else {}


def _is_at(row: Row, at: tuple[str, ...]) -> bool:
    """Whether a row is of this column or key."""
    own = tuple(row.column.split("."))
    if own[-1] == "**":
        return len(at) >= len(own) - 1 and _same(own[:-1], at[: len(own) - 1])
    return len(own) == len(at) and _same(own, at)


def _same(own: tuple[str, ...], at: tuple[str, ...]) -> bool:
    return all(_name(mine, name) for mine, name in zip(own, at, strict=True))


def _name(mine: str, name: str) -> bool:
    return name in mine.split("|") or _pattern(mine, ".+").fullmatch(name) is not None


def _typed(row: Row, kinds: set[str]) -> bool:
    """Whether a row's type allows these; a whole number is a number, an empty list any list, digits in CSV text."""
    allowed = row.type.split(" or ")
    if row.file.endswith(".csv") and row.type == "text":
        return True
    wide = {*allowed, *(kind.replace("number", "integer") for kind in allowed)}
    wide |= {row.type} | ({"list"} if any(kind.startswith("list") for kind in allowed) else set())
    return "any" in allowed or row.column.endswith("**") or kinds <= wide


def _rows_of(rows: list[Row], file: str) -> list[Row]:
    exact = [row for row in rows if row.file == file]
    return exact or [row for row in rows if _pattern(row.file).fullmatch(file)]


class Names:
    """Names in a project that mean something."""

    def __init__(self, folder: Path) -> None:
        data = yaml.safe_load((folder / "params.yaml").read_text(encoding="utf-8"))["data"]
        self.traces = {key: str(trace["category"]) for key, trace in {**data["traces"], **data["writes"]}.items()}
        self.categories = sorted({*data["roles"], *data["cycles"]})
        models = [path.name for path in (folder / "models/trained").glob("*/*")]
        kinds = {"<trace>": self.traces, "<category>": self.categories, "<model>": models}
        self.kind = {name: kind for kind, names in kinds.items() for name in names}

    def written(self, output: str) -> set[str]:
        """An output's paths as globs, one for each trace or category that it is written for."""
        if "<trace>" in output:
            pairs = self.traces.items()
            return {output.replace("<trace>", key).replace("<category>", own) for key, own in pairs}
        every = {output.replace("<category>", name) for name in self.categories}
        return {re.sub(r"<[^>]+>", "*", path) for path in every}


def _general(at: tuple[str, ...], rows: list[Row], names: Mapping[str, str]) -> str:
    """A path as a row would have it: as rows beside it do, else by the names that are known."""
    own: list[str] = []
    for depth, name in enumerate(at):
        like = (row.column.split(".") for row in rows)
        beside = (parts[depth] for parts in like if len(parts) > depth and parts[:depth] == own)
        own.append(next((part for part in beside if "**" not in part and _name(part, name)), names.get(name, name)))
    return ".".join(own)


def _files(folder: Path, output: str, names: Names) -> Iterator[Path]:
    """Files of an output, a folder's being all that lie in it; what was written for other traces is left out."""
    for path in sorted(path for written in names.written(output) for path in folder.glob(written)):
        yield from sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


class _Comparison:
    """What the files of a project that has run hold and no row says, and the other way round."""

    def __init__(self, rows: list[Row], folder: Path) -> None:
        self.rows, self.folder, self.names = rows, folder, Names(folder)
        self.missing: dict[tuple[str, str], Row] = {}
        self.errors: list[str] = []
        self.used: set[str] = set()

    def propose(self, stage: str, file: str, column: str = "", kind: str = UNKNOWN) -> None:
        """Note a row to add."""
        self.missing.setdefault((file, column), _proposal(stage, file, column, kind))

    def file(self, stage: str, output: str, path: Path) -> None:
        """Compare one file; stages that write files of the same names are separated by blanks."""
        name = path.relative_to(self.folder).as_posix()
        rows = [row for row in _rows_of(self.rows, name) if set(stage.split()) & set(row.stage.split())]
        head = next((row.file for row in rows if not row.column), None)
        if head is None:
            head = "/".join([output, *name.split("/")[output.count("/") + 1 :]])
            self.propose(stage, head)
        self.used.update(row.file for row in rows)
        columns = columns_of(path)
        for at, kinds in columns.items():
            said = [row for row in rows if row.column and _is_at(row, at)]
            for row in said:
                if not _typed(row, kinds):
                    have = " or ".join(sorted(kinds))
                    self.errors.append(f"{name} {'.'.join(at)}: is {have}, the dictionary says {row.type}")
            if not said and not _said_by_keys(at, kinds, columns, rows):
                self.propose(stage, head, _general(at, rows, self.names.kind), " or ".join(sorted(kinds)))
        self.errors += [
            f"{name}: {row.column} is not in it; take the row out, or say that it is there sometimes"
            for row in rows
            if row.column and row.presence == "always" and not any(_is_at(row, at) for at in columns)
        ]


def output_errors(rows: list[Row], outputs: list[tuple[str, str]], folder: Path) -> list[str]:
    """Compare all outputs of a project that has run."""
    found = _Comparison(rows, folder)
    for output in dict.fromkeys(output for _, output in outputs):
        stages = " ".join(stage for stage, own in outputs if own == output)
        for path in _files(folder, output, found.names):
            found.file(stages, output, path)
    lost = {row.file for row in rows if not row.column and row.presence == "always"} - found.used
    unwritten = [f"{file}: no such file was written; take its rows out" for file in sorted(lost)]
    new = ["rows to add, fill in each ?:\n" + as_csv(found.missing.values())] * bool(found.missing)
    return [*new, *found.errors, *unwritten]


def _said_by_keys(at: tuple[str, ...], kinds: set[str], columns: Found, rows: list[Row]) -> bool:
    """Whether an object needs no row, as its keys have theirs: those that it has, or where it is empty, may have."""
    if any(other[: len(at)] == at != other for other in columns):
        return True
    parts = [tuple(row.column.split(".")) for row in rows]
    inner = {at, (*at[:-1], f"{at[-1]}[]")}
    below = any(len(own) >= len(at) and any(_same(own[: len(at)], one) for one in inner) for own in parts)
    return kinds <= {"object", "list"} and below


def errors_of(folder: Path) -> list[str]:
    """Everything that is wrong with the dictionary, with the outputs of `folder` beside it."""
    rows = read_dictionary(folder / DICTIONARY)
    outputs = stage_outputs(yaml.safe_load((folder / "dvc.yaml").read_text(encoding="utf-8")))
    return [*own_errors(rows), *pipeline_errors(rows, outputs), *output_errors(rows, outputs, folder)]


def table_of_files(rows: Iterable[Row]) -> str:
    """Every file in Markdown: what it is, and what a row or entry of it describes."""
    heads = [row for row in rows if not row.column]
    lines = ["| File | What it is | One row or entry is |", "|---|---|---|"]
    lines += [f"| `{row.file}` | {row.meaning} | {row.unit_of_observation} |" for row in heads]
    return "\n".join(lines) + "\n"


def write() -> None:
    """Write the dictionary anew, and the table of files on its page."""
    outputs = stage_outputs(yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8")))
    rows = generated(files(), outputs)
    (ROOT / DICTIONARY).write_text(",".join(COLUMNS) + "\n" + as_csv(rows), encoding="utf-8")
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    (ROOT / PAGE).write_text(between(text, "files", table_of_files(rows), PAGE), encoding="utf-8")


def main() -> None:
    """Write the dictionary, or print what is wrong."""
    if sys.argv[1:] == ["--write"]:
        write()
        return
    errors = errors_of(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
    sys.stdout.write("\n".join([*errors, f"{len(errors)} errors"]) + "\n")
    raise SystemExit(bool(errors))


if __name__ == "__main__":
    main()
