"""Training curves: `curves.csv`, a row a step; where a model has several forests, their name stands before it."""

import csv
import io
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from cachezoo.errors import CachezooError

CURVES_FILE = "curves.csv"
FOREST = "forest"


def write_curves(folder: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write `curves.csv`, see `write_rows`."""
    write_rows(folder / CURVES_FILE, header, rows)


def write_rows(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file; None becomes an empty cell."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def read_curves(path: Path) -> list[tuple[str, int, float]]:
    """Series as (name, step, value): the first column is the step, empty cells are left out.

    Where a first column `forest` stands before it, a series' name begins with the forest's.

    Raises:
        CachezooError: not readable, cut short, or a cell is no number.
    """
    if not path.exists():
        return []
    try:
        text = path.read_bytes().decode("utf-8")
        header, *body = list(csv.reader(io.StringIO(text, newline=""))) or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CachezooError(f"{path}: not readable as CSV ({error}); train the model again") from error
    if not text.endswith("\n"):
        raise CachezooError(f"{path}: is cut short; train the model again")
    first = 1 if header[:1] == [FOREST] else 0
    try:
        return [
            ("_".join([*row[:first], name]), int(row[first]), float(cell))
            for row in body
            for name, cell in zip(header[first + 1 :], row[first + 1 :], strict=True)
            if cell
        ]
    except (ValueError, IndexError) as error:
        message = f"{path}: a cell is no number, or a row has another length ({error}); train the model again"
        raise CachezooError(message) from error


def copy_curves(fitted: Path, folder: Path) -> None:
    """Put a fit's curves, unchanged, into the folder of the model that was judged.

    Raises:
        CachezooError: `read_curves` refuses them.
        OSError: there are none.
    """
    read_curves(fitted / CURVES_FILE)
    shutil.copyfile(fitted / CURVES_FILE, folder / CURVES_FILE)
