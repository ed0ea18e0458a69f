"""Stage label_streams: FIOS's features and the lifetimes of the chunks that a trace writes, from that trace alone."""

from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.kept import Each, stream_traces
from cachezoo.labels.streams import label_trace
from cachezoo.params import entry_of, requests_of
from cachezoo.stage import stage

if TYPE_CHECKING:
    from cachezoo.config.schema import Params

EACH = Each(
    stream_traces,
    ["data.{table}.{key}.category"],
    ["{folder}/{category}/{key}.parquet"],
    ["data/labels/streams/{category}/{key}.parquet"],
)


def main(params: "Params", key: str) -> None:
    """Label the chunks of trace `key`."""
    label_trace(requests_of(params, key), paths.labels("streams", entry_of(params, key).category, key))


if __name__ == "__main__":
    stage(main, EACH)()
