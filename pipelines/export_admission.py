"""Stage export_admission: verified bundles of a category's admission models, or the reason why there is none."""

from typing import TYPE_CHECKING

from cachezoo.bundles.export import export_model
from cachezoo.stage import stage
from cachezoo.systems.admission import bundle, model, record
from cachezoo.systems.admission.variants import VARIANTS

if TYPE_CHECKING:
    from cachezoo.config.schema import Params

# What the record names and this stage runs: the imports put it on the stage's list of sources.
PARTS = (record, bundle, model)


def export_all(params: "Params", model_id: str) -> None:
    """Export a category's full model, by its id, and those beside it."""
    for variant in VARIANTS:
        export_model(params, variant.arch(model_id))


if __name__ == "__main__":
    stage(export_all)()
