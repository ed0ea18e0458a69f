"""Rows that Baleen's models train on: traces with episode labels, features, encodings, blocks held out."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cachezoo import paths
from cachezoo.arrays import U64, Bool
from cachezoo.coded import Coded
from cachezoo.features.history import encode, user_key
from cachezoo.io import sha256_file
from cachezoo.kernels.segments import SEGMENT_BITS
from cachezoo.kernels.sequence import HASH_MULTIPLIER
from cachezoo.labels.episode_rows import EpisodeRows, read_episode_labels
from cachezoo.settings.flash import EpisodeLabel
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import OP_READ, Trace


@dataclass(frozen=True)
class Prepared:
    """A trace with its labels."""

    key: str
    trace: Trace
    labels: EpisodeRows


@dataclass(frozen=True)
class Unlabelled:
    """A trace without labels."""

    key: str
    trace: Trace


def encodings(parts: Sequence[Prepared | Unlabelled]) -> dict[str, dict[str, int]]:
    """Codes of namespaces and users, by their reads in the train traces."""
    counts: dict[str, Counter[str]] = {"namespace": Counter(), "user": Counter()}

    def add(column: str, coded: Coded | None, read: Bool) -> None:
        if coded is None:
            return
        for name, count in zip(coded.names, np.bincount(coded.codes[read], minlength=len(coded.names)), strict=True):
            if count:
                counts[column][user_key(name) if column == "user" else name] += int(count)

    for part in parts:
        read = part.trace.op == OP_READ
        add("namespace", part.trace.namespace or part.trace.volume, read)
        add("user", part.trace.user, read)
    return {column: encode(counter) for column, counter in counts.items()}


def block_hash(trace: Trace, label: EpisodeLabel) -> U64:
    """uint64[n] below 2**31: a hash of each row's block, the same for all rows of a block."""
    block = (trace.offset // label.block_bytes).astype(np.uint64)
    key = block + (trace.volume.codes.astype(np.uint64) << np.uint64(SEGMENT_BITS))
    hashed: U64 = (key * HASH_MULTIPLIER) >> np.uint64(33)
    return hashed


def held_out(trace: Trace, label: EpisodeLabel, every: int) -> Bool:
    """bool[n]: rows of the blocks kept for early stopping, by a hash of the block: none is on both sides."""
    held: Bool = block_hash(trace, label) % np.uint64(every) == 0
    return held


def read_prepared(category: str, keys: Sequence[str]) -> tuple[list[Prepared], dict[str, str]]:
    """Traces of a category with their labels, and sha256 of what was read, by path.

    Raises:
        TraceError: a file is missing or damaged.
    """
    parts, inputs = [], {}
    for key in keys:
        requests, labels = paths.requests(category, key), paths.labels("episodes", category, key)
        trace = read_trace(requests)
        parts.append(Prepared(key, trace, read_episode_labels(labels, len(trace))))
        inputs.update({str(path): sha256_file(path) for path in (requests, labels)})
    return parts, inputs


def read_traces(category: str, keys: Sequence[str]) -> tuple[list[Unlabelled], dict[str, str]]:
    """As `read_prepared`, without labels."""
    files = {key: paths.requests(category, key) for key in keys}
    inputs = {str(path): sha256_file(path) for path in files.values()}
    return [Unlabelled(key, read_trace(path)) for key, path in files.items()], inputs
