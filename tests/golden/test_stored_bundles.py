"""Bundles that were written once: this release still reads them and decides as they say."""

import json
from pathlib import Path

import numpy as np
import pytest

from cachezoo.bundles import load, verify
from cachezoo.bundles.protocol import PROTOCOL
from cachezoo.zoo.registry import SYSTEMS, UNTRAINED, bundling_of

STORED = sorted(path.parent for path in Path(__file__).parent.glob(f"protocol{PROTOCOL}/*/manifest.json"))


def test_every_kind_is_stored() -> None:
    found = {path.name.split(".")[0] for path in STORED}
    assert found == {kind for kind, system in SYSTEMS.items() if system.bundling is not None} | set(UNTRAINED)


@pytest.mark.parametrize("path", STORED, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_stored_bundle_is_read_and_replayed(path: Path) -> None:
    report = verify(path)
    stated = json.loads((path / "manifest.json").read_text())
    assert report["id"] == path.name == stated["id"] and f"protocol{stated['PROTOCOL']}" == path.parent.name
    bundle = load(path)
    assert report["golden_rows"] == bundle.manifest["golden"]["rows"] >= 250
    assert all(report["branches"][name] for name in bundling_of(report["kind"]).kind.load().wanted)
    golden = bundle.golden()
    recomputed = bundle.recompute(golden.requests)
    np.testing.assert_array_equal(recomputed.decisions, golden.decisions)
    np.testing.assert_array_equal(recomputed.features, golden.features)
    assert sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) <= 350_000
