"""The learned admission's decisions on whole traces, for caches that are not its own."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from cachezoo.models.admission import load_admission
from cachezoo.policies.admission import AdmissionServing
from cachezoo.traces.table import OP_READ, Trace
from cachezoo.training.episode_rows import serve_trace

Bool = npt.NDArray[np.bool_]


def admission_page_decisions(model: Path | AdmissionServing, trace: Trace) -> Bool:
    """The model's decision for every request of a trace, from a fresh history.

    For a page cache that asks it: True admits what a read misses. Writes get False: the model decides on
    reads only.

    Args:
        model: folder of a trained admission model, or a serving object that has served nothing yet.
        trace: requests.

    Returns:
        bool[n].
    """
    serving = load_admission(model)[1] if isinstance(model, Path) else model
    decided: Bool = serving.decide(serve_trace(serving, trace)) & (trace.op == OP_READ)
    return decided
