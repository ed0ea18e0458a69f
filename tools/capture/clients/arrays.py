"""A client of scientific arrays in files: HDF5, Zarr, netCDF, by their modules for Python.

Run as a program, `arrays.py KIND PATH ROWS COLUMNS SEED`, it makes one: fields of random numbers, one above the other.
"""

import importlib
import sys
from pathlib import Path
from typing import Any

from tools.capture.clients.commands import Commands
from tools.capture.clients.common import main

CHUNK = 64
STEP = 512
KINDS = {"hdf5": "h5py", "netcdf": "netCDF4", "zarr": "zarr"}


def opened(kind: str, path: Path, shape: tuple[int, int] | None = None) -> tuple[Any, Any]:
    """The file and its array; both are closed with the file, where it has to be.

    Args:
        kind: `hdf5` and `zarr` keep chunks, `netcdf` (the classic format) one row after the other.
        path: of the file, or of Zarr's folder.
        shape: of the array to make; without, the one that is there.

    Raises:
        ModuleNotFoundError: Debian's package is not installed.
    """
    library: Any = importlib.import_module(KINDS[kind])
    mode = "r+" if shape is None else "w"
    if kind == "netcdf":
        file = library.Dataset(str(path), mode, format="NETCDF3_64BIT_OFFSET")
        if shape is not None:
            for name, length in zip(("row", "column"), shape, strict=True):
                file.createDimension(name, length)
            file.createVariable("field", "f4", ("row", "column"))
        return file, file.variables["field"]
    if kind == "hdf5":
        file = library.File(str(path), mode)
        return file, file["field"] if shape is None else file.create_dataset(
            "field", shape, "f4", chunks=(CHUNK, CHUNK)
        )
    if shape is None:
        return None, library.open(str(path), mode)
    return None, library.open(str(path), mode, shape=shape, chunks=(CHUNK, CHUNK), dtype="f4", compressor=None)


def drawn(seed: int, rows: int, columns: int) -> Any:  # noqa: ANN401 - an array of Debian's NumPy
    """Random numbers."""
    numpy: Any = importlib.import_module("numpy")
    return numpy.random.default_rng(seed).random((rows, columns), numpy.float32)


def fill(kind: str, path: Path, rows: int, columns: int, seed: int) -> None:
    """Make an array."""
    file, array = opened(kind, path, (rows, columns))
    for first in range(0, rows, STEP):
        array[first : first + STEP] = drawn(seed + first, min(STEP, rows - first), columns)
    if file is not None:
        file.close()


class Arrays(Commands):
    """Operations on the array of $root/field; an item is a square of CHUNK times CHUNK numbers."""

    def open(self) -> None:
        """Open the array."""
        self._file, self._array = opened(self.values["kind"], self.root / "field")
        self._wide = int(self.values["columns"]) // CHUNK

    def close(self) -> None:
        """Close it."""
        if self._file is not None:
            self._file.close()

    def _corner(self) -> tuple[int, int]:
        row, column = divmod(self.item(self.plan["items"]), self._wide)
        return row * CHUNK, column * CHUNK

    def windows(self) -> None:
        """Read a window of two squares times two."""
        row, column = self._corner()
        self._array[row : row + 2 * CHUNK, column : column + 2 * CHUNK]

    def rows(self) -> None:
        """Read some rows."""
        row, _ = self._corner()
        self._array[row : row + 4]

    def columns(self) -> None:
        """Read a strip of the columns, down some rows."""
        row, column = self._corner()
        self._array[row : row + 16 * CHUNK, column : column + 2]

    def updates(self) -> None:
        """Write a square anew."""
        row, column = self._corner()
        self._array[row : row + CHUNK, column : column + CHUNK] = drawn(self.random.randrange(2**31), CHUNK, CHUNK)

    def scans(self) -> None:
        """Read a stretch of all columns, as a sum over the field would."""
        row, _ = self._corner()
        self._array[row : row + STEP]


if __name__ == "__main__":
    if len(sys.argv) > 2:
        fill(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:]))
    else:
        main(Arrays)
