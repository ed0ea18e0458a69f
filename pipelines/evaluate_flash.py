"""Stage evaluate_flash: admission and prefetch in the flash cache, on each category's test traces."""

from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.io import write_json
from cachezoo.kept import Each, categories
from cachezoo.questions.flash.stage import evaluate_flash
from cachezoo.stage import stage

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

EACH = Each(
    categories,
    [
        "seed",
        "data.roles.{category}",
        "label.episodes",
        "model.admission.arch",
        "model.prefetch.arch",
        "policy.flash",
    ],
    [
        "data/requests/{category}",
        "models/trained/admission/admission.{category}.{arch_admission}",
        "models/trained/admission/admission.{category}.{arch_admission}_block",
        "models/trained/admission/admission.{category}.{arch_admission}_small",
        "models/trained/prefetch/prefetch.{category}.{arch_prefetch}",
    ],
    ["metrics/flash/{category}.json"],
)


def main(params: "Params", category: str) -> None:
    """Evaluate `category`."""
    write_json(paths.flash_metrics(category), evaluate_flash(params, category).model_dump(mode="json"))


if __name__ == "__main__":
    stage(main, EACH)()
