"""Stage judge_prefetch: the prefetch mode of a category, and its verdict, on validation."""

from cachezoo.kept import Each, categories
from cachezoo.stage import stage
from cachezoo.zoo.prefetch.judge import Settings, judge_prefetch

EACH = Each(
    categories,
    Settings,
    [
        "data/requests/{category}",
        "models/fitted/admission/admission.{category}.{arch_admission}",
        "models/fitted/prefetch/prefetch.{category}.{arch_prefetch}",
    ],
    [
        "models/trained/prefetch/prefetch.{category}.{arch_prefetch}",
    ],
)

if __name__ == "__main__":
    stage(judge_prefetch, EACH)()
