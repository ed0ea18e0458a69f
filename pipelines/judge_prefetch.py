"""Stage judge_prefetch@category: the prefetch mode of those forests, and their verdict, on validation."""

from cachezoo.stage import stage
from cachezoo.systems.prefetch.judge import judge_prefetch

if __name__ == "__main__":
    stage(judge_prefetch)()
