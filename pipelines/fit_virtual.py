"""Stage fit_virtual: where in each replacement queue the pages are that are asked for, on a category's train traces."""

from cachezoo.kept import Each, page_categories
from cachezoo.stage import stage
from cachezoo.zoo.virtual.fit import Settings, fit_virtual

EACH = Each(
    page_categories,
    Settings,
    [
        "data/requests/{category}",
    ],
    [
        "models/fitted/virtual/virtual.{category}.{arch_virtual}",
    ],
)

if __name__ == "__main__":
    stage(fit_virtual, EACH)()
