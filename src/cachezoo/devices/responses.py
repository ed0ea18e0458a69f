"""The responses file of a trace: what stage replay wrote."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from cachezoo.io import read_table

F64 = npt.NDArray[np.float64]


def read_responses(path: Path) -> tuple[F64, F64]:
    """`t_hdd_us` and `t_ssd_us`, float64[n] µs each, rows as in the requests.

    Raises:
        CachezooError: not readable, or without these columns.
    """
    table, _ = read_table(path, ["t_hdd_us", "t_ssd_us"])
    return table.column("t_hdd_us").to_numpy(), table.column("t_ssd_us").to_numpy()
