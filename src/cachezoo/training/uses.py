"""The traces that a model is made from: what its record says of them, and what an LSTM cannot take.

Addresses and jumps between them count on one volume: an LSTM's inputs cannot tell volumes apart.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from cachezoo.errors import TrainingError
from cachezoo.models.trained import TraceUse
from cachezoo.traces.table import Trace


class Read(Protocol):
    """A trace as a stage read it."""

    @property
    def key(self) -> str:
        """Its name in the matrix."""

    @property
    def trace(self) -> Trace:
        """Its requests."""


def trace_uses(train: Sequence[Read], validation: Sequence[Read]) -> list[TraceUse]:
    """Provenance of the traces that a model was fitted and judged on."""
    return [
        TraceUse(
            trace=part.key,
            role="train" if index < len(train) else "validation",
            sha256=part.trace.meta.source_sha256,
            licence=part.trace.meta.licence,
        )
        for index, part in enumerate([*train, *validation])
    ]


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
