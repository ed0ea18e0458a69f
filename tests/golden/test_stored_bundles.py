"""Bundles that were written when their PROTOCOL was current: this release still reads them and decides as they say."""

import json
from pathlib import Path

import numpy as np
import pytest

from cachezoo.bundles import load, verify
from cachezoo.bundles.protocol import PROTOCOL, READABLE
from cachezoo.bundles.schema import MANIFESTS, schema
from cachezoo.zoo.registry import SYSTEMS, bundling_of

STORED = sorted(path.parent for path in Path(__file__).parent.glob("protocol*/*/manifest.json"))


def test_every_protocol_and_kind_is_stored() -> None:
    found = {(path.parent.name, path.name.split(".")[0]) for path in STORED}
    first = schema(MANIFESTS[1])["properties"]["kind"]["enum"]  # kinds that are newer have no bundle of PROTOCOL 1
    bundled = {kind for kind, system in SYSTEMS.items() if system.bundling is not None}
    known = {1: set(first), PROTOCOL: bundled}
    assert found == {(f"protocol{number}", kind) for number in READABLE for kind in known[number]}


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
    assert sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) <= 300_000
