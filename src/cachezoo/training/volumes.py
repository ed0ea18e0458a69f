"""What the LSTMs' inputs cannot tell apart: addresses and jumps between them count on one volume."""

import numpy as np

from cachezoo.errors import TrainingError
from cachezoo.traces.table import Trace


def check_one_volume(trace: Trace, key: str) -> None:
    """Refuse a trace whose requests go to several volumes.

    Raises:
        TrainingError: it names the trace and the volumes.
    """
    used = [trace.volume.names[code] for code in np.unique(trace.volume.codes)]
    if len(used) > 1:
        shown = ", ".join(used[:3]) + (" …" if len(used) > 3 else "")
        message = f"{key}: {len(used)} volumes ({shown}), but the models take one; split it into a trace a volume"
        raise TrainingError(message)
