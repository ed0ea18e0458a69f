"""A category's traces with what earlier stages made of them, as the caching model's fit and judge read them."""

from collections.abc import Sequence
from dataclasses import dataclass

from cachezoo import paths
from cachezoo.io import sha256_file
from cachezoo.labels.tags import Labels, read_benefit_labels
from cachezoo.settings.page_cache import BenefitLabel
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.store import read_pages, read_trace
from cachezoo.traces.table import Trace
from cachezoo.training.uses import check_one_volume


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
