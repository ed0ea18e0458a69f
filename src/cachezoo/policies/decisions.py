"""Decisions known beforehand, brought to one for each access of a stream."""

from typing import Any

import numpy.typing as npt

from cachezoo.errors import ConfigError
from cachezoo.policies.stream import Stream


def for_each_access(decisions: npt.NDArray[Any], stream: Stream, part_id: str) -> npt.NDArray[Any]:
    """The decisions of m accesses.

    Args:
        decisions: one for each access of the stream, prefetches included or not, or one for each request. A prefetch
            that none is given for has that of the access before it.
        stream: of m accesses.
        part_id: whose decisions they are.

    Raises:
        ConfigError: another number of decisions.
    """
    if len(decisions) == len(stream):
        return decisions
    asked = stream.asked
    accesses, requests = int(asked.sum()), int(stream.request_of[-1]) + 1 if len(stream) else 0
    if len(decisions) in (accesses, requests):
        at = asked.cumsum() - 1 if len(decisions) == accesses else stream.request_of
        each: npt.NDArray[Any] = decisions[at]
        return each
    message = (
        f"{part_id}: {len(decisions)} decisions for a stream of {requests} requests and {accesses} accesses; "
        "give one for each request or each access"
    )
    raise ConfigError(message)
