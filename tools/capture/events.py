"""The events of a capture, from the text of its trace pipe."""

from collections.abc import Collection, Iterable

import numpy as np

from cachezoo.errors import CaptureError
from cachezoo.traces.event_text import scan
from cachezoo.traces.events import EventLog, Events


def parse_events(blocks: Iterable[bytes], devices: Collection[int]) -> Events:
    """Read the text of a trace pipe.

    Args:
        blocks: whole lines of it; comments and empty lines are skipped.
        devices: numbers (major << 20 | minor) whose events are kept.

    Returns:
        The events in the order of time: the pipe joins the processors' buffers page by page, so neighbours may be a
        little out of order.

    Raises:
        CaptureError: the kernel lost events, or a line is no block event.
    """
    log, wanted = EventLog(), np.array(sorted(devices), np.int32)
    row = 1
    for block in blocks:
        events, _, odd, row = scan(block, False, row)
        for line in odd:
            message = (
                f"line {line.row} of the trace: the kernel lost {line.lost_events} events; "
                "raise buffer_kib in the recipe"
                if line.lost_events
                else f"line {line.row} of the trace is no block event: {line.text[:100]!r}"
            )
            raise CaptureError(message)
        log.add(events.take(np.isin(events.device, wanted)))
    return log.close()
