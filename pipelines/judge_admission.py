"""Stage judge_admission: their thresholds at the write budget, and their verdicts, on validation."""

from cachezoo.kept import Each, categories
from cachezoo.stage import stage
from cachezoo.zoo.admission.judge import Settings, judge_admission

EACH = Each(
    categories,
    Settings,
    [
        "data/requests/{category}",
        "models/fitted/admission/admission.{category}.{arch_admission}",
        "models/fitted/admission/admission.{category}.{arch_admission}_block",
        "models/fitted/admission/admission.{category}.{arch_admission}_small",
    ],
    [
        "models/trained/admission/admission.{category}.{arch_admission}",
        "models/trained/admission/admission.{category}.{arch_admission}_block",
        "models/trained/admission/admission.{category}.{arch_admission}_small",
    ],
)

if __name__ == "__main__":
    stage(judge_admission, EACH)()
