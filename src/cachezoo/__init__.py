"""cachezoo: an end-to-end training pipeline and model zoo for storage caches."""

import os

__version__ = "0.1.0"

# onnxruntime reports to its maker unless this is set before it is imported; it is imported below this package only.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
