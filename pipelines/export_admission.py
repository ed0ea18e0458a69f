"""Stage export_admission: a verified bundle of a trained admission model, or the reason why there is none."""

from cachezoo.bundles.export import export_model
from cachezoo.stage import stage
from cachezoo.systems.admission import bundle, model, record

# What the record names and this stage runs: the imports put it on the stage's list of sources.
PARTS = (record, bundle, model)

if __name__ == "__main__":
    stage(export_model)()
