"""Stage judge_streams@category: the dictionary of least write amplification, on validation."""

from cachezoo.stage import stage
from cachezoo.systems.streams.judge import judge_streams

if __name__ == "__main__":
    stage(judge_streams)()
