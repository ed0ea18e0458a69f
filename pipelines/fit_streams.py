"""Stage fit_streams: dictionaries from chunk to stream of a category, one for each combination of features."""

from cachezoo.kept import Each, stream_categories
from cachezoo.stage import stage
from cachezoo.zoo.streams.fit import Settings, fit_streams

EACH = Each(
    stream_categories,
    Settings,
    [
        "{folder}/{category}",
        "data/labels/streams/{category}",
    ],
    [
        "models/fitted/streams/streams.{category}.{arch_streams}",
    ],
)

if __name__ == "__main__":
    stage(fit_streams, EACH)()
