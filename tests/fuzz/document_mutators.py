"""Changes to the documents of a bundle: JSON, safetensors, and the bundle's files as a whole."""

import json
import struct
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import PurePosixPath
from random import Random
from typing import Any

from tests.fuzz import mutators

NAMES = ("golden/requests.csv", "model.json", "manifest.json", "extra.txt", "a/b/c", "golden/extra.npy")
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 7, 255, 4096, 2**31, 2**53 + 1, 2**63, 2**70, -(2**63), 10**400),
    *(0.5, -0.0, 1e-320, 1e308, float("nan"), float("inf"), "", "0", "model.json", "../x", "a" * 300, "\x00", "\ud800"),
    *([], {}, [[]], [None], [0] * 50, {"a": {}}, [[[[[]]]]], {"": 0}),
)


def _nodes(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a document as (what holds it, key)."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(pairs):
        yield value, key
        yield from _nodes(inner)


def _change_json(document: Any, rng: Random) -> None:
    """Replace, delete, copy or swap a value."""
    places = list(_nodes(document))
    if not places:
        return
    (holder, key), (other, other_key) = rng.choice(places), rng.choice(places)
    how = rng.randrange(6)
    if how == 0:
        del holder[key]
    elif how == 1:
        holder[key] = deepcopy(other[other_key])
    elif how == 2 and isinstance(holder[key], int | float):
        holder[key] = rng.choice((-holder[key], holder[key] + 1, holder[key] * 2**40, str(holder[key]), [holder[key]]))
    elif how == 3 and isinstance(holder, list):
        holder.insert(key, holder[key])
    elif how == 4 and isinstance(holder, dict):
        holder[rng.choice(("x", "", f"{key} ", "dtype", "shape"))] = holder[key]
    else:
        holder[key] = deepcopy(rng.choice(VALUES))  # later changes may go into it


def document(data: bytes, rng: Random) -> bytes:
    """A JSON document with some values changed, or its text."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return mutators.text(data, rng)
    if rng.random() < 0.1:
        return mutators.text(data, rng)
    if rng.random() < 0.03:
        return json.dumps(rng.choice(VALUES)).encode()
    for _ in range(rng.randint(1, 3)):
        _change_json(value, rng)
    return json.dumps(value, sort_keys=True).encode()  # without indent C writes it, many times as fast


def safetensors(data: bytes, rng: Random) -> bytes:
    """A safetensors file with a changed header of the right length, or changed bytes."""
    if len(data) < 8 or rng.random() < 0.3:
        return mutators.binary(data, rng)
    (length,) = struct.unpack("<Q", data[:8])
    header = document(data[8 : 8 + length], rng)
    return struct.pack("<Q", len(header)) + header + data[8 + length :]


BY_ENDING: dict[str, mutators.Change] = {
    ".json": document,
    ".safetensors": safetensors,
    ".npy": mutators.binary,
    ".csv": mutators.text,
    ".txt": mutators.text,
    ".md": mutators.text,
    ".sha256": mutators.text,
}


def file(name: str, data: bytes, rng: Random) -> bytes:
    """A file changed as its kind asks for."""
    change: Callable[[bytes, Random], bytes] = BY_ENDING.get(PurePosixPath(name).suffix, mutators.binary)
    return change(data, rng)


def files(given: dict[str, bytes], rng: Random) -> dict[str, bytes]:
    """The files of a bundle with one or two changed; now and then one is left out, added or swapped."""
    changed = dict(given)
    if not changed:
        return {rng.choice(NAMES): b""}
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice(sorted(changed))
        how = rng.random()
        if how < 0.04 and len(changed) > 1:
            del changed[name]
        elif how < 0.08:
            changed[rng.choice(NAMES)] = changed[name]
        else:
            changed[name] = file(name, changed[name], rng)
    return changed
