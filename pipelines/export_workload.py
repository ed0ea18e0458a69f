"""Stage export_workload: a verified bundle of a trained workload model, or the reason why there is none."""

from cachezoo.bundles.export import export_model
from cachezoo.stage import stage
from cachezoo.systems.workload import bundle, metrics, onnx, record

# What the record names and this stage runs: the imports put it on the stage's list of sources.
PARTS = (record, bundle, metrics, onnx)

if __name__ == "__main__":
    stage(export_model)()
