"""The responses file of a trace: what stage replay wrote."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cachezoo.errors import TraceError
from cachezoo.io import read_metadata, read_rows

F64 = npt.NDArray[np.float64]


def read_responses(path: Path, requests: int | None = None) -> tuple[F64, F64]:
    """`t_hdd_us` and `t_ssd_us`, float64[n] µs each, rows as in the requests.

    Args:
        path: the file.
        requests: how many rows it must have.

    Raises:
        TraceError: not readable, without these columns, of another trace, or with a time that is not above 0.
    """
    names = ("t_hdd_us", "t_ssd_us")
    table, _ = read_rows(path, "replay", requests, list(names))
    hdd, ssd = (table.column(name).to_numpy() for name in names)
    for name, times in zip(names, (hdd, ssd), strict=True):
        if (times <= 0).any():
            row = int((times <= 0).argmax())
            message = f"{path}: row {row + 1}: {name} is {times[row]:g}, not above 0; run the stage replay again"
            raise TraceError(message)
    return hdd, ssd


def one_provenance(paths: Iterable[Path]) -> str:
    """What several files' response times come from: `analytic`, `emulated` or `real`, of one device for all of them.

    Raises:
        TraceError: a file is not readable, or of another device or other settings than the first: times of different
            provenance are never put together.
    """
    first, known = None, ("", "")
    for path in paths:
        metadata = read_metadata(path)
        said = metadata.get("cachezoo.provenance", ""), metadata.get("cachezoo.device", "")
        if first is None:
            first, known = path, said
        elif said != known:
            what = "another device or other settings" if said[0] == known[0] else f"{said[0] or 'nothing it names'}"
            message = f"{path}: its times come from {what}, {first}'s from {known[0]}; run the stage replay again"
            raise TraceError(message)
    return known[0]
