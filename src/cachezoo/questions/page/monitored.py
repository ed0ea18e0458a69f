"""Who decides at each request: the workload monitor's word as a plan for `cachezoo.zoo.caching.switching`.

RC-RNN, Sec. 4.2: the monitor classifies 1,000 requests at a time and has the model of the category that is running
take over. Models are numbered as the monitor's classes.
"""

from typing import Literal, get_args

import numpy as np

from cachezoo.arrays import I32
from cachezoo.errors import ConfigError
from cachezoo.zoo.caching.switching import ALL_ENTER
from cachezoo.zoo.workload.serve import NONE, UNKNOWN

Unknown = Literal["keep", "no_model"]
UNKNOWNS: tuple[Unknown, ...] = get_args(Unknown)


def monitor_plan(in_force: I32, unknown: Unknown) -> I32:
    """A plan of what the monitor says; before its first vote everything enters, for no model is known.

    Args:
        in_force: int32[n], as `cachezoo.zoo.workload.serve.Monitored.of_requests` gives it.
        unknown: what is done where the workload is unknown: `keep` the model that decides, or let everything enter
            with `no_model`.

    Raises:
        ConfigError: another word for it.
    """
    if unknown not in UNKNOWNS:
        raise ConfigError(f"unknown {unknown}: use one of {', '.join(UNKNOWNS)}")
    said = np.where(in_force == NONE, ALL_ENTER, in_force).astype(np.int32)
    if unknown == "no_model":
        return np.where(in_force == UNKNOWN, ALL_ENTER, said).astype(np.int32)
    # Where it is unknown, the last request at which it was not says who decides.
    known = np.maximum.accumulate(np.where(in_force == UNKNOWN, -1, np.arange(len(said))))
    return np.where(known >= 0, said[np.maximum(known, 0)], ALL_ENTER).astype(np.int32)
