"""Whether a trace's times are times: rows that are numbered for want of times have none."""

import numpy as np

from cachezoo.traces.table import Trace

ROW_NUMBER_US = 1
NO_CLOCK = "row numbers"
"""How readers' notes on times begin where a format has no clock."""
ROWS = "time=row"
"""What the note on a delimited text's columns holds where rows are numbered for want of times."""


def row_numbered(trace: Trace) -> bool:
    """Whether its times are row numbers: its reader says so, or they are a microsecond apart throughout."""
    extra = trace.meta.extra
    if extra.get("time", "").startswith(NO_CLOCK) or ROWS in extra.get("columns", ""):
        return True
    return len(trace) > 2 and bool((np.diff(trace.time_us) == ROW_NUMBER_US).all())


def has_clock(trace: Trace) -> bool:
    """Whether the times are times: neither all the same, nor row numbers."""
    return bool(trace.time_us[-1] != trace.time_us[0]) and not row_numbered(trace)
