"""Stage fit_streams@category: dictionaries from chunk to stream of one category."""

from cachezoo.stage import stage
from cachezoo.systems.streams.fit import fit_streams

if __name__ == "__main__":
    stage(fit_streams)()
