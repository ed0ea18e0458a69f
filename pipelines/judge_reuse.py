"""Stage judge_reuse: the cache of forest and classics compared with the best classics, on validation."""

from cachezoo.kept import Each, whole
from cachezoo.stage import stage
from cachezoo.zoo.reuse.judge import Settings, judge_reuse

EACH = Each(
    whole,
    Settings,
    [
        "data/requests",
        "models/fitted/reuse/reuse.{arch_reuse}",
    ],
    [
        "models/trained/reuse/reuse.{arch_reuse}",
    ],
)

if __name__ == "__main__":
    stage(judge_reuse, EACH)()
