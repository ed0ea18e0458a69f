"""Stage label_benefit: what the oracle caches did with each request of a trace, from that trace alone."""

from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.devices.responses import read_responses
from cachezoo.kept import Each, page_traces
from cachezoo.labels.benefit import write_benefit_labels
from cachezoo.params import entry_of
from cachezoo.stage import stage
from cachezoo.traces.store import read_pages, read_trace

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

EACH = Each(
    page_traces,
    ["data.traces.{key}.category", "label.benefit"],
    ["data/requests/{category}/{key}.parquet", "data/responses/{category}/{key}.parquet"],
    ["data/labels/benefit/{category}/{key}.parquet"],
)


def main(params: "Params", key: str) -> None:
    """Label trace `key`."""
    category = entry_of(params, key).category
    requests = paths.requests(category, key)
    trace = read_trace(requests)
    write_benefit_labels(
        trace, read_pages(requests), *read_responses(paths.responses(category, key), len(trace)),
        params.label.benefit, paths.labels("benefit", category, key),
    )  # fmt: skip


if __name__ == "__main__":
    stage(main, EACH)()
