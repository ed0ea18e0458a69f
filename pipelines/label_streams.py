"""Stages label_streams@trace and label_writes@trace: FIOS's features and the lifetimes of the chunks that it writes."""

from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.stage import stage
from cachezoo.systems.streams.cycles import requests_of
from cachezoo.systems.streams.labelling import label_trace

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


def main(params: "Params", key: str) -> None:
    """Label the chunks of trace `key`."""
    requests = requests_of(params, key)
    label_trace(requests, paths.labels("streams", Path(requests).parent.name, key))


if __name__ == "__main__":
    stage(main)()
