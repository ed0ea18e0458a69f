"""Store the digests that test_pipeline.py compares: `python -m tests.e2e.store_digests`."""

import json
import tempfile
from pathlib import Path

from tests.e2e.test_pipeline import GOLDEN, digests
from tests.e2e.workspace import run_once

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        GOLDEN.write_text(json.dumps(digests(run_once(Path(folder) / "pipeline")), indent=1) + "\n")
