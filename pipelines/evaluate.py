"""Stage evaluate: classics, bounds and models on each category's validation and test traces, in page caches."""

from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.io import write_json
from cachezoo.kept import Each, categories
from cachezoo.questions.page.category import Settings, evaluate_category
from cachezoo.stage import stage
from cachezoo.zoo.admission import evaluate as admission
from cachezoo.zoo.admission import record as admission_record
from cachezoo.zoo.caching import evaluate as caching
from cachezoo.zoo.caching import record as caching_record
from cachezoo.zoo.reuse import evaluate as reuse
from cachezoo.zoo.reuse import record as reuse_record

if TYPE_CHECKING:
    from cachezoo.config.schema import Params

# The parts of systems that run in the page cache: the imports put them on the stage's list of sources.
PARTS = (admission, admission_record, caching, caching_record, reuse, reuse_record)
EACH = Each(
    categories,
    [
        "seed",
        "data.page_categories",
        "data.roles.{category}",
        "label.benefit",
        "model.admission.arch",
        "model.caching.arch",
        "model.reuse.arch",
        "policy.classics",
        "evaluate",
    ],
    [
        "data/requests/{category}",
        "data/responses/{category}",
        "data/labels/benefit/{category}",
        "models/trained/admission/admission.{category}.{arch_admission}",
        "models/trained/caching/caching.{category}.{arch_caching}",
        "models/trained/reuse/reuse.{arch_reuse}",
    ],
    ["metrics/page/{category}.json"],
)


def main(params: "Params", category: str) -> None:
    """Evaluate `category`."""
    found = evaluate_category(Settings.of(params, category), category)
    write_json(paths.metrics(category), found.model_dump(mode="json"))


if __name__ == "__main__":
    stage(main, EACH)()
