"""Stage judge_virtual@category: the virtual cache of most hits within a limit of transfers, on validation."""

from cachezoo.stage import stage
from cachezoo.systems.virtual.judge import judge_virtual

if __name__ == "__main__":
    stage(judge_virtual)()
