"""Stage label_episodes: Baleen's episodes and OPT labels of a trace, from that trace alone."""

from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.flash.problem import label_of
from cachezoo.kept import Each, traces
from cachezoo.labels.episode_file import write_episode_labels
from cachezoo.params import entry_of
from cachezoo.stage import stage
from cachezoo.traces.store import read_trace

if TYPE_CHECKING:
    from cachezoo.config.schema import Params

EACH = Each(
    traces,
    ["data.traces.{key}.category", "label.episodes", "policy.flash"],
    ["data/requests/{category}/{key}.parquet"],
    ["data/labels/episodes/{category}/{key}.parquet"],
)


def main(params: "Params", key: str) -> None:
    """Label trace `key`."""
    category = entry_of(params, key).category
    trace = read_trace(paths.requests(category, key))
    path = paths.labels("episodes", category, key)
    write_episode_labels(trace, label_of(params.label.episodes, category), params.policy.flash, path)


if __name__ == "__main__":
    stage(main, EACH)()
