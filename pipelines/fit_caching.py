"""Stage fit_caching: RC-RNN's caching LSTM of a category."""

from cachezoo.kept import Each, page_categories
from cachezoo.stage import stage
from cachezoo.zoo.caching.fit import Settings, fit_caching

EACH = Each(
    page_categories,
    Settings,
    [
        "data/requests/{category}",
        "data/labels/benefit/{category}",
        "data/features/{category}",
    ],
    [
        "models/fitted/caching/caching.{category}.{arch_caching}",
    ],
)

if __name__ == "__main__":
    stage(fit_caching, EACH)()
