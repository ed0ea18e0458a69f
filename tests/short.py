"""Stored bundles with few golden rows: they pass as the whole ones do, and are judged many times as fast."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cachezoo.bundles.golden import Golden, golden_files
from cachezoo.bundles.protocol import ACTS, MANIFEST, SYNTHETIC
from cachezoo.bundles.reader import load
from tests.sealed import files_of, sealed

ROWS = 8


def short_bundles(folder: Path) -> Iterator[dict[str, bytes]]:
    """The files of a stored bundle with ROWS golden rows: with each of its synthetic sets alone, or with none."""
    bundle, files = load(folder), files_of(folder)
    document = ACTS if ACTS in files else MANIFEST
    real, *synthetic = (_first_rows(one) for one in bundle.golden_sets())
    bare = {name: data for name, data in files.items() if not name.startswith(SYNTHETIC)}
    for own in ([one] for one in synthetic) if synthetic else ([],):
        acting, stated, made = json.loads(files[document]), [], {}
        for one in (real, *own):
            recomputed = bundle.replay(one)
            made.update(golden_files(one.requests, recomputed, one.folder))
            stated.append({**one.entry, "rows": len(one.requests), "branches": recomputed.branches})
        acting["golden"] = {**stated[0], **({"synthetic": stated[1:]} if "synthetic" in stated[0] else {})}
        yield _listed({**bare, **made, document: json.dumps(acting).encode()})


def _first_rows(golden: Golden) -> Golden:
    """A set's first rows; the whole set where it gives outputs, which need not be one a request."""
    if golden.given is not None:
        return golden
    arrays = {name: getattr(golden, name)[:ROWS] for name in ("features", "outputs", "decisions")}
    return replace(golden, requests=golden.requests.part(0, ROWS), **arrays)


def _listed(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files, sealed, with those that are there in the manifest's list and no others."""
    manifest: dict[str, Any] = json.loads(files[MANIFEST])
    manifest["files"] = [entry for entry in manifest["files"] if entry["path"] in files]
    return sealed({**files, MANIFEST: json.dumps(manifest).encode()})
