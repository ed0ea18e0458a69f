"""Stage export_virtual: a verified bundle of a category's virtual cache, or the reason why there is none."""

from cachezoo.bundles.export import export_model
from cachezoo.stage import stage
from cachezoo.systems.virtual import bundle, metrics, record

# What the record names and this stage runs: the imports put it on the stage's list of sources.
PARTS = (record, bundle, metrics)

if __name__ == "__main__":
    stage(export_model)()
