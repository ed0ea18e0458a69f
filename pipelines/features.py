"""Stage features: raw inputs of the two LSTMs for each request of a trace, from it and earlier ones."""

from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.features.table import write_features
from cachezoo.kept import Each, page_traces
from cachezoo.params import entry_of
from cachezoo.stage import stage
from cachezoo.traces.store import read_pages, read_trace

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

EACH = Each(
    page_traces,
    ["data.traces.{key}.category", "features.sequence", "label.benefit.capacities"],
    ["data/requests/{category}/{key}.parquet"],
    ["data/features/{category}/{key}.parquet"],
)


def main(params: "Params", key: str) -> None:
    """Compute the features of trace `key`."""
    category = entry_of(params, key).category
    requests = paths.requests(category, key)
    write_features(
        read_trace(requests), read_pages(requests), params.features.sequence, params.label.benefit,
        paths.features(category, key),
    )  # fmt: skip


if __name__ == "__main__":
    stage(main, EACH)()
