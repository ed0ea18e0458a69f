"""Stage judge_virtual: the virtual cache of most hits within a limit of transfers, on validation."""

from cachezoo.kept import Each, page_categories
from cachezoo.stage import stage
from cachezoo.zoo.virtual.judge import Settings, judge_virtual

EACH = Each(
    page_categories,
    Settings,
    [
        "data/requests/{category}",
        "models/fitted/virtual/virtual.{category}.{arch_virtual}",
    ],
    [
        "models/trained/virtual/virtual.{category}.{arch_virtual}",
    ],
)

if __name__ == "__main__":
    stage(judge_virtual, EACH)()
