"""Writes the stored bundles of the current PROTOCOL: one tiny model of each kind, seeded.

    PYTHONPATH=src:. .venv/bin/python tests/golden/make_bundles.py

Run it once when a PROTOCOL is new; afterwards its folder stays as it is, for the readers of all later releases.
"""

import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from cachezoo.bundles.protocol import PROTOCOL
from cachezoo.bundles.requests import Requests
from cachezoo.bundles.writer import write_bundle
from tests import bundle_data
from tests.baleen_data import SETTINGS
from tests.bundle_data import EXPORT, metrics, model_id

STORED = Path(__file__).parent / f"protocol{PROTOCOL}"


def main() -> int:
    """Write every kind; refuses where the folder exists."""
    if STORED.exists():
        sys.stderr.write(f"{STORED} exists and is not written again\n")
        return 1
    bundle_data.SETTINGS = replace(SETTINGS, model=SETTINGS.model.model_copy(update={"max_trees": 4}))
    trainers: dict[str, Callable[[Path], tuple[Path, Requests]]] = bundle_data.TRAINERS
    for kind, train in sorted(trainers.items()):
        with tempfile.TemporaryDirectory() as folder:
            trained, requests = train(Path(folder) / kind)
            write_bundle(trained, requests, metrics(model_id(trained)), EXPORT, STORED / model_id(trained))
    return 0


if __name__ == "__main__":
    sys.exit(main())
