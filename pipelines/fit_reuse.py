"""Stage fit_reuse: the next-use forests of all page categories and the corpus."""

from cachezoo.kept import Each, whole
from cachezoo.stage import stage
from cachezoo.zoo.reuse.fit import Settings, fit_reuse

EACH = Each(
    whole,
    Settings,
    [
        "data/requests",
        "data/corpus",
    ],
    [
        "models/fitted/reuse/reuse.{arch_reuse}",
    ],
)

if __name__ == "__main__":
    stage(fit_reuse, EACH)()
