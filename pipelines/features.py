"""Stage features@trace: raw inputs of the two LSTMs for each request of one trace, from it and earlier ones."""

from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.features.table import write_features
from cachezoo.params import entry_of
from cachezoo.stage import stage
from cachezoo.traces.store import read_pages, read_trace

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


def main(params: "Params", key: str) -> None:
    """Compute the features of trace `key`."""
    category = entry_of(params, key).category
    requests = paths.requests(category, key)
    write_features(
        read_trace(requests), read_pages(requests), params.features.sequence, params.label.benefit,
        paths.features(category, key),
    )  # fmt: skip


if __name__ == "__main__":
    stage(main)()
