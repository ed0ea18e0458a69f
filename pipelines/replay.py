"""Stage replay: response times of each request on the HDD and the SSD."""

from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.devices.replaying import write_responses
from cachezoo.kept import Each, traces
from cachezoo.params import entry_of
from cachezoo.stage import stage
from cachezoo.traces.store import read_trace

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

EACH = Each(
    traces,
    ["data.traces.{key}.category", "device"],
    ["data/requests/{category}/{key}.parquet"],
    ["data/responses/{category}/{key}.parquet", "data/replays/{category}/{key}.json"],
)


def main(params: "Params", key: str) -> None:
    """Replay trace `key`."""
    category = entry_of(params, key).category
    trace = read_trace(paths.requests(category, key))
    write_responses(trace, params.device, paths.responses(category, key), paths.replay_record(category, key))


if __name__ == "__main__":
    stage(main, EACH)()
