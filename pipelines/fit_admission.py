"""Stage fit_admission: Baleen's admission forests of a category."""

from cachezoo.kept import Each, categories
from cachezoo.stage import stage
from cachezoo.zoo.admission.fit import Settings, fit_admission

EACH = Each(
    categories,
    Settings,
    [
        "data/requests/{category}",
        "data/labels/episodes/{category}",
    ],
    [
        "models/fitted/admission/admission.{category}.{arch_admission}",
        "models/fitted/admission/admission.{category}.{arch_admission}_block",
        "models/fitted/admission/admission.{category}.{arch_admission}_small",
    ],
)

if __name__ == "__main__":
    stage(fit_admission, EACH)()
