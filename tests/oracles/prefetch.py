"""What prefetching saves, from the definition."""

from cachezoo.kernels.flash import DiskHead
from cachezoo.settings.flash import EpisodeLabel
from cachezoo.traces.table import Trace
from tests.oracles.episodes import naive_episodes, naive_range_costs


def naive_benefit(trace: Trace, label: EpisodeLabel, age: int, cost: DiskHead) -> list[float]:
    """Of each episode: seconds of its backend I/Os without prefetch, less those with its true range prefetched."""
    columns = (trace.volume.codes.tolist(), trace.op.tolist(), trace.offset.tolist(), trace.size.tolist())
    geometry = (label.block_bytes, label.segment_bytes, age)
    _, _, _, episodes = naive_episodes(*columns, *geometry)
    written, misses = naive_range_costs(*columns, *geometry)

    def seconds(ios: int, segments: int) -> float:
        return ios * cost.seek_ms / 1e3 + segments * label.segment_bytes / (cost.rate_mib_s * (1 << 20))

    return [
        seconds(episode.misses, episode.written) - seconds(misses[e], written[e]) for e, episode in enumerate(episodes)
    ]
