"""Ways in which a file is damaged, by the kind of file; each takes a path and changes what lies there."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Damage = Callable[[Path], None]


def missing(path: Path) -> None:
    path.unlink()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def truncated(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: 2 * len(content) // 3])


def garbage(path: Path) -> None:
    path.write_bytes(np.random.default_rng(1).bytes(3000))


def unreadable(path: Path) -> None:
    """A folder in its place: root, as whom tests run, may read a file whatever its permissions say."""
    path.unlink()
    path.mkdir()


def _table(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    table = pq.read_table(path, partitioning=None)
    kept = {key: value for key, value in (pq.read_metadata(path).metadata or {}).items() if key != b"ARROW:schema"}
    pq.write_table(change(table).replace_schema_metadata(kept), path)


def another_table(path: Path) -> None:
    pq.write_table(pa.table({"colour": ["red", "blue"]}), path)


def a_row_less(path: Path) -> None:
    _table(path, lambda table: table.slice(0, table.num_rows - 1))


def impossible_values(path: Path) -> None:
    """NaN in one row of each floating-point column, -7 in the same row of each signed one of more than 8 bits."""

    def change(table: pa.Table) -> pa.Table:
        for at, field in enumerate(table.schema):
            floating, signed = pa.types.is_floating(field.type), field.type in (pa.int16(), pa.int32(), pa.int64())
            if floating or signed:
                values = table.column(at).to_numpy().copy()
                values[len(values) // 2] = float("nan") if floating else -7
                table = table.set_column(at, field, pa.array(values, field.type))
        return table

    _table(path, change)


def no_object(path: Path) -> None:
    path.write_text("[]\n")


def another_object(path: Path) -> None:
    path.write_text('{"colour": "red"}\n')


def not_a_number(path: Path) -> None:
    """NaN in the place of every number with a fraction, which JSON of this project never holds."""

    def changed(value: object) -> object:
        if isinstance(value, dict):
            return {key: changed(item) for key, item in value.items()}
        if isinstance(value, list):
            return [changed(item) for item in value]
        return float("nan") if isinstance(value, float) else value

    path.write_text(json.dumps(changed(json.loads(path.read_text()))))


def nested(path: Path) -> None:
    """Brackets within each other, as deep as no parser that calls itself goes."""
    path.write_text("[" * 20_000)


def odd_tag(path: Path) -> None:
    """A value that YAML's tag does not fit; JSON it is not."""
    path.write_text("traces: !!timestamp soon\n")


def foreign_rows(path: Path) -> None:
    path.write_text("colour,size\nred,-1\n")


ANY = (missing, empty, truncated, garbage, unreadable)
TEXT = (nested, odd_tag)
BY_SUFFIX: dict[str, tuple[Damage, ...]] = {
    ".parquet": (*ANY, another_table, a_row_less, impossible_values),
    ".json": (*ANY, no_object, another_object, not_a_number, nested),
    ".csv": (*ANY, foreign_rows),
}


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
