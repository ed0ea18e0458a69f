"""Stage replay@trace: response times of each request on the HDD and the SSD."""

from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.devices.replaying import write_responses
from cachezoo.params import entry_of
from cachezoo.stage import stage
from cachezoo.traces.store import read_trace

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


def main(params: "Params", key: str) -> None:
    """Replay trace `key`."""
    category = entry_of(params, key).category
    trace = read_trace(paths.requests(category, key))
    write_responses(trace, params.device, paths.responses(category, key), paths.replay_record(category, key))


if __name__ == "__main__":
    stage(main)()
