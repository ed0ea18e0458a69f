"""Writes the stored bundles of the current PROTOCOL: one tiny model of each kind, seeded.

    PYTHONPATH=src:. .venv/bin/python tests/golden/make_bundles.py

Run it when a PROTOCOL or a kind is new. A bundle that is stored stays as it is, for the readers of all later releases.
"""

import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from cachezoo.bundles.classic import id_of, write_policy
from cachezoo.bundles.protocol import PROTOCOL
from cachezoo.bundles.writer import write_bundle
from cachezoo.policies.spec import parse
from cachezoo.serving.requests import RequestBatch
from tests import baleen_data, bundle_data, reuse_data
from tests.bundle_data import EXPORT, metrics, model_id

LIFETIME = "lifetime"  # the other form of kind streams
STORED = Path(__file__).parent / f"protocol{PROTOCOL}"
CLASSIC = "rejectx+lirs+next(n=4)"
FEW_TREES = {"max_trees": 4}


def main() -> int:
    """Write every kind that is not stored; says so where all are."""
    stored = {path.name.split(".")[0] for path in STORED.glob("*.*") if not path.name.endswith(f".{LIFETIME}")}
    stored |= {LIFETIME for _ in STORED.glob(f"*.{LIFETIME}")}
    admission, reuse = (
        replace(own, model=own.model.model_copy(update=change))
        for own, change in (
            (baleen_data.FIT, FEW_TREES),
            (reuse_data.FIT, {**FEW_TREES, "quantiles": 4, "shadows": ["s3fifo"]}),
        )
    )
    trainers: dict[str, Callable[[Path], tuple[Path, RequestBatch]]] = {
        **bundle_data.TRAINERS,
        "admission": lambda folder: bundle_data.train_admission(folder, admission),
        "reuse": lambda folder: bundle_data.train_reuse(folder, reuse),
        LIFETIME: bundle_data.train_lifetime,
    }
    missing = sorted(set(trainers) - stored)
    for kind in missing:
        with tempfile.TemporaryDirectory() as folder:
            trained, requests = trainers[kind](Path(folder))
            write_bundle(trained, requests, metrics(model_id(trained)), EXPORT, STORED / model_id(trained))
    if "policy" not in stored:
        missing.append("policy")
        write_policy(CLASSIC, STORED / id_of(parse(CLASSIC)))
    if not missing:
        sys.stderr.write(f"{STORED} holds every kind; what is stored is not written again\n")
    return 0 if missing else 1


if __name__ == "__main__":
    sys.exit(main())
