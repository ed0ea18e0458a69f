"""Requests that are no reads or writes of data, as files name them: counted, and discards kept aside."""

from collections.abc import Mapping

import numpy as np

from cachezoo.traces.reading import BAD_OP, DISCARDS, AnyChunk, Chunk, Reading


def data_only(reading: Reading, chunk: AnyChunk, kinds: Mapping[str, str]) -> AnyChunk:
    """A chunk without some requests whose op is no op of the format; an op that nobody knows stays.

    Args:
        reading: counts what is left out.
        chunk: with the ops' texts.
        kinds: what to count the other ops as, by their texts in small letters, empty for not at all; of addresses,
            those counted as one of `DISCARDS` are kept aside.
    """
    text = chunk.op_text
    if text is None or not (chunk.op == BAD_OP).any():
        return chunk
    kept = np.ones(len(chunk), bool)
    for code, name in enumerate(text.names):
        kind = kinds.get(name.lower())
        if kind is None:
            continue
        other = (text.codes == code) & (chunk.op == BAD_OP)
        if not other.any():
            continue
        kept &= ~other
        if kind:
            reading.left_out[kind] += int(np.count_nonzero(other))
        if kind in DISCARDS and isinstance(chunk, Chunk):
            reading.discards.append(chunk.where(other))
    return chunk.where(kept)


def by_name(*names: str) -> dict[str, str]:
    """Ops that are counted as what they are called, for `data_only`."""
    return {name: name for name in names}
