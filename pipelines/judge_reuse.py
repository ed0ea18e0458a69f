"""Stage judge_reuse: the cache of forest and classics beside the best classics, on validation."""

from cachezoo.stage import stage
from cachezoo.systems.reuse.judge import judge_reuse

if __name__ == "__main__":
    stage(judge_reuse)()
