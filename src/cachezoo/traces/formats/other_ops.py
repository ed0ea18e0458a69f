"""Requests that are no reads or writes of data, as files name them: counted, and discards kept aside."""

from collections.abc import Mapping

import numpy as np

from cachezoo.traces.reading import BAD_OP, Chunk, Reading


def data_only(reading: Reading, chunk: Chunk, kinds: Mapping[str, str]) -> Chunk:
    """The reads and writes of a chunk, and what has an op that nobody knows.

    Args:
        reading: counts what is left out.
        chunk: with the ops' texts.
        kinds: what to count the other ops as, by their texts in small letters; those counted as discards or trims
            are kept aside.
    """
    if chunk.op_text is None or not (chunk.op == BAD_OP).any():
        return chunk
    kept = np.ones(len(chunk), bool)
    for code, name in enumerate(chunk.op_text.names):
        kind = kinds.get(name.lower())
        if kind is None:
            continue
        other = chunk.op_text.codes == code
        if other.any():
            kept &= ~other
            reading.left_out[kind] += int(np.count_nonzero(other))
            if kind in ("discard", "trim"):
                reading.discards.append(chunk.where(other))
    return chunk.where(kept)
