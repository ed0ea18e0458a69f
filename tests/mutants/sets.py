"""Bundles with the golden sets that export writes today, of the tiny stored models; the real rows are as stored.

    python -m tests.mutants.sets FOLDER [KIND ...]

writes one of each kind to FOLDER/<kind>, of kind `policy` one of each eviction.
"""

import copy
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cachezoo.bundles.classic import write_policy
from cachezoo.bundles.golden import golden_files
from cachezoo.bundles.protocol import ACTS, MANIFEST, SEAL, SYNTHETIC, seal
from cachezoo.bundles.reader import Bundle, load
from cachezoo.bundles.writer import _documents, _synthetic
from cachezoo.kernels.write_budget import Controller
from cachezoo.policies.mounted import EVICTIONS
from cachezoo.serving.requests import to_csv
from cachezoo.serving.synthetic import SyntheticSet
from cachezoo.zoo.registry import bundling_of

STORED = Path(__file__).parents[1] / "golden" / "protocol2"
# Kinds, and the other form of kind streams.
KINDS = ("admission", "caching", "workload", "reuse", "streams", "lifetime", "virtual")
POLICY = "policy"
NAMED = {"streams": "streams.*.fios", "lifetime": "streams.*.lifetime"}


def stored(kind: str) -> Path:
    """The stored bundle of a kind."""
    (path,) = STORED.glob(NAMED.get(kind, f"{kind}.*"))
    return path


def completed(kind: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest with what the stored one lacks: ranges of inputs, pauses, a controller of writes, a touch, a pace."""
    found: dict[str, Any] = copy.deepcopy(dict(manifest))
    if kind == "caching":
        found["policy"].setdefault("ranges", {entry["name"]: [-1.0, 3.0] for entry in found["features"]})
    if kind == "admission":
        found["calibration"].setdefault("controller", Controller().document())
    if kind in ("admission", "prefetch"):
        found["policy"].setdefault("touch", "block")
    if kind == "workload":
        found["policy"].setdefault("vote_every_s", 0)
    if kind == "reuse":
        found["policy"].setdefault("own_pace", 0)
    return found


def _are_stored(sets: Sequence[SyntheticSet], bundle: Bundle) -> bool:
    _, *stored = bundle.golden_sets()
    if [one.name for one in sets] != [one.entry["name"] for one in stored]:
        return False
    return all(
        to_csv(one.requests) == to_csv(other.requests)
        and dict(one.changes) == dict(other.changes)
        and dict(one.context) == dict(other.entry["context"])
        and (one.given is None or np.array_equal(one.given, other.outputs))
        for one, other in zip(sets, stored, strict=True)
    )


def write_whole(folder: Path, manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> None:
    """Write a bundle of its values and of its files but the documents."""
    text, digest = _documents(manifest, files, manifest["id"])
    for name, data in {**files, MANIFEST: text, SEAL: seal(digest)}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def write_sets(kind: str, folder: Path) -> None:
    """Write a bundle of a kind; only the sets that differ from the stored bundle's are computed."""
    path = stored(kind)
    bundle = load(path)
    own = bundling_of(bundle.kind).kind.load()
    manifest = completed(kind, bundle.manifest)
    sets = own.synthetic(manifest, lambda values: own.serve(values, bundle.engine))
    if manifest == bundle.manifest and _are_stored(sets, bundle):
        shutil.copytree(path, folder)
        return
    manifest["golden"]["synthetic"] = []
    files = {name: data for name, data in bundle.files.items() if name != ACTS and not name.startswith(SYNTHETIC)}
    real = bundle.golden().requests  # what is made of them is another where the model was completed
    made = own.recompute(own.serve(manifest, bundle.engine), real, manifest["golden"]["context"])
    manifest["golden"]["branches"] = made.branches
    files |= golden_files(real, made)
    files |= _synthetic(manifest, bundle.engine)
    write_whole(folder, manifest, files)


def write_policies(folder: Path) -> None:
    """Write bundles of kind `policy`: the stored one, whose components are of all sorts, and one of each eviction."""
    for text in (load(stored(POLICY)).manifest["policy"]["text"], *(one.id for one in EVICTIONS)):
        write_policy(text, folder / text.split("(")[0].replace("+", "_"))


if __name__ == "__main__":
    for each in sys.argv[2:] or (*KINDS, POLICY):
        if each == POLICY:
            write_policies(Path(sys.argv[1]) / each)
        else:
            write_sets(each, Path(sys.argv[1]) / each)
