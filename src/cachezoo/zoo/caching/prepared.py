"""A trace as fit and judge read it, and which part of a validation trace chooses and which judges.

The counted page accesses are cut into time blocks that choose and judge by turns. All that is chosen on validation (the
epoch, the oracle, the threshold, the rules) is chosen on the former.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from cachezoo import paths
from cachezoo.arrays import Bool
from cachezoo.contest.blocks import BLOCKS
from cachezoo.contest.counting import first_access
from cachezoo.errors import TrainingError
from cachezoo.io import sha256_file
from cachezoo.labels.tags import Labels, read_benefit_labels
from cachezoo.settings.page_cache import BenefitLabel
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.store import read_pages, read_trace
from cachezoo.traces.table import Trace


def first_requests(pages: PageAccesses, requests: int) -> PageAccesses:
    """The page accesses of the first requests; the working set, and so the capacity, stays the whole trace's."""
    start = pages.request_start[: requests + 1]
    return PageAccesses(start, pages.page_ids[: start[-1]], pages.n_pages)


def judging_requests(pages: PageAccesses, requests: int) -> Bool:
    """bool[n]: requests with a page access in a judging block of a cache's run.

    The cache is run on so many of the first requests of a validation trace.
    """
    run = first_requests(pages, requests)
    judging = np.zeros(len(pages.page_ids) + 1, np.int64)
    warmup, end = first_access(run), len(run.page_ids)
    # As `np.array_split` cuts them.
    each, longer = divmod(end - warmup, 2 * BLOCKS)
    edges = warmup + np.arange(2 * BLOCKS + 1) * each + np.minimum(np.arange(2 * BLOCKS + 1), longer)
    for low, high in list(pairwise(edges.tolist()))[1::2]:
        judging[low + 1 : high + 1] = 1
    within = np.cumsum(judging)[pages.request_start]
    found: Bool = np.diff(within) > 0
    return found


@dataclass(frozen=True)
class Prepared:
    """A trace with its page accesses and labels."""

    key: str
    trace: Trace
    pages: PageAccesses
    labels: Labels


def read_prepared(category: str, keys: Sequence[str], label: BenefitLabel) -> tuple[list[Prepared], dict[str, str]]:
    """Traces of a category, and sha256 of what was read, by path.

    Raises:
        TraceError: a file is missing or damaged.
        TrainingError: a trace is of several volumes.
    """
    parts, inputs = [], {}
    for key in keys:
        files = (paths.requests(category, key), paths.labels("benefit", category, key))
        trace = read_trace(files[0])
        check_one_volume(trace, key)
        parts.append(Prepared(key, trace, read_pages(files[0]), read_benefit_labels(files[1], label, len(trace))))
        inputs.update({str(path): sha256_file(path) for path in files})
    return parts, inputs


def check_one_volume(trace: Trace, key: str) -> None:
    """Refuse a trace whose requests go to several volumes: addresses and jumps between them count on one.

    Raises:
        TrainingError: it names the trace and the volumes.
    """
    used = [trace.volume.names[code] for code in np.unique(trace.volume.codes)]
    if len(used) > 1:
        shown = ", ".join(used[:3]) + (" …" if len(used) > 3 else "")
        message = f"{key}: {len(used)} volumes ({shown}), but the models take one; split it into a trace a volume"
        raise TrainingError(message)
