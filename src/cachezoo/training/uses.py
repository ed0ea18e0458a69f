"""What a model's record says of the traces it saw."""

from collections.abc import Sequence
from typing import Protocol

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
