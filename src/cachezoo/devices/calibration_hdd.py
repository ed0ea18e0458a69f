"""What the fit of a disk cannot see without running the model: no read buffer at all, and how long a write buffer is.

The fit decides by lines whether requests move the arm, as if the disk always had time to write back. Measured back to
back it has none, and its write buffer fills; and a disk without read buffer loses a revolution between sequential
reads, which looks as even as reads from a buffer. So such models are tried and run, and the nearest is taken.
"""

from collections.abc import Iterator

import numpy as np

from cachezoo.config.device import Hdd, ReadBuffer
from cachezoo.devices.fit_hdd import demerit, fit_hdd, modelled
from cachezoo.devices.fit_ssd import FEWEST, line
from cachezoo.devices.samples import Samples

QUICK = 0.25  # of a revolution: writes that take less did not wait for the platter
BETTER = 0.9  # another model must be so much nearer
WRITE_BUFFER_BYTES = tuple(1 << k for k in range(20, 30))


def fit_disk(samples: Samples, start: Hdd) -> Hdd:
    """The nearest of the models that `fit_hdd` finds and of those tried beside it; arguments and errors are its own."""
    best = fit_hdd(samples, start)
    least = demerit(modelled(best, samples), samples.time_us)
    for tried in (_without_read_buffer(best, start), *_with_write_buffers(samples, start)):
        if tried is None:
            continue
        found = demerit(modelled(tried, samples), samples.time_us)
        if found < BETTER * least:
            best, least = tried, found
    return best


def _without_read_buffer(found: Hdd, start: Hdd) -> Hdd | None:
    """The interface's rate was that of the buffer."""
    if found.read_buffer.segments == 0:
        return None
    none = ReadBuffer(segments=0, segment_bytes=0, track_bytes=0)
    return found.model_copy(update={"read_buffer": none, "interface_mb_s": start.interface_mb_s})


def _reads(samples: Samples) -> Samples:
    own = samples.write == 0
    names = ("offset", "size", "write", "time_us", "think_us")
    return Samples(*(getattr(samples, name)[own] for name in names))


def _with_write_buffers(samples: Samples, start: Hdd) -> Iterator[Hdd]:
    """Buffers of many lengths beside what reads alone say, if many writes did not wait for the platter."""
    written = samples.write == 1
    reads = _reads(samples)
    if not written.any() or len(reads) < FEWEST:
        return
    found = fit_hdd(reads, start)
    quick = written & (samples.time_us < QUICK * found.rotation_us)
    if np.count_nonzero(quick) < FEWEST or np.unique(samples.size[quick]).size < 2:
        return
    fixed, slope = line(samples.size[quick].astype(np.float64), samples.time_us[quick])
    values = {"write_us": float(f"{fixed:.6g}"), "write_settle_us": 0.0}
    if found.read_buffer.segments == 0:
        values["interface_mb_s"] = float(f"{1 / slope:.6g}")
    for length in WRITE_BUFFER_BYTES:
        if length >= samples.size[written].max():
            yield found.model_copy(update={**values, "write_buffer_bytes": length})
