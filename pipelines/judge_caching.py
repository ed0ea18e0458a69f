"""Stage judge_caching@category: the oracle, threshold and rules of that LSTM, and its verdict, on validation."""

from cachezoo.stage import stage
from cachezoo.systems.caching.judge import judge_caching

if __name__ == "__main__":
    stage(judge_caching)()
