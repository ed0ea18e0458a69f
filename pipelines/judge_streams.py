"""Stage judge_streams: the dictionary of least write amplification, and its verdict, on validation."""

from cachezoo.kept import Each, stream_categories
from cachezoo.stage import stage
from cachezoo.zoo.streams.judge import Settings, judge_streams

EACH = Each(
    stream_categories,
    Settings,
    [
        "{folder}/{category}",
        "models/fitted/streams/streams.{category}.{arch_streams}",
    ],
    [
        "models/trained/streams/streams.{category}.{arch_streams}",
    ],
)

if __name__ == "__main__":
    stage(judge_streams, EACH)()
