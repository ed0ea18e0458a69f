"""Synthetic golden sets: small generated streams, with rules changed so far that they pass every branch.

Golden rows of a real trace never fill a history's buckets or evict from a cache of the training's size. A synthetic set
does, in some tens of requests, because it says what is changed in the model's document before the model is built.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cachezoo.arrays import F32
from cachezoo.errors import ConfigError
from cachezoo.serving.requests import RequestBatch

GIVEN = "given"


@dataclass(frozen=True)
class SyntheticSet:
    """Requests to be answered under changed rules.

    Attributes:
        name: of its folder: lower case letters, digits and underscores.
        requests: in order.
        changes: new values by their place in the document, keys with points between; see `changed`.
        context: what the recomputation is given beside them, as a golden context; `outputs` is `given` in it where
            `given` is not None, and else absent.
        given: float32[k, O], outputs that the runtime acts on in place of the model's; None where the model computes.
    """

    name: str
    requests: RequestBatch
    changes: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)
    given: F32 | None = None


def changed(document: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a document with other values at some places.

    Args:
        document: as a bundle states it.
        changes: new values by place: keys with points between, such as `policy.history.windows`.

    Raises:
        ConfigError: the document has no such place.
    """
    found = copy.deepcopy(dict(document))
    for place, value in changes.items():
        *way, last = place.split(".")
        inner: Any = found
        for key in way:
            inner = inner.get(key) if isinstance(inner, dict) else None
        if not isinstance(inner, dict) or last not in inner:
            message = f"{place} is changed by a synthetic golden set, but there is no such value; export it again"
            raise ConfigError(message)
        inner[last] = copy.deepcopy(value)
    return found
