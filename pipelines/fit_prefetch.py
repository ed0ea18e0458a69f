"""Stage fit_prefetch: Baleen's prefetch forests of a category, ML-Range and ML-When."""

from cachezoo.kept import Each, categories
from cachezoo.stage import stage
from cachezoo.zoo.prefetch.fit import Settings, fit_prefetch

EACH = Each(
    categories,
    Settings,
    [
        "data/requests/{category}",
        "data/labels/episodes/{category}",
        "models/fitted/admission/admission.{category}.{arch_admission}",
    ],
    [
        "models/fitted/prefetch/prefetch.{category}.{arch_prefetch}",
    ],
)

if __name__ == "__main__":
    stage(fit_prefetch, EACH)()
