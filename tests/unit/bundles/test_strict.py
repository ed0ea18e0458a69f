"""What a bundle must be: two documents, strict values, golden rows through every file."""

import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cachezoo.bundles import load, verify, writer
from cachezoo.bundles.card import inspect
from cachezoo.bundles.protocol import MANIFEST, SEAL, seal
from cachezoo.errors import BundleError
from cachezoo.serving.lstm import read_safetensors
from cachezoo.zoo.registry import bundling_of
from tests.bundle_data import EXPORT, documents, metrics, model_id, refused, reseal
from tests.refused import setting

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests/golden"
PATHS = sorted(path.parent for path in GOLDEN.glob(f"protocol2/*/{MANIFEST}"))
STORED = {path.name.split(".")[0]: path for path in PATHS}
FORESTS = [
    (path, file.name) for path in PATHS for file in sorted(path.glob("*.lgb.txt")) if file.name != "start.lgb.txt"
]
NETWORKS = [path for path in PATHS if (path / "weights.safetensors").exists()]


@pytest.fixture
def copy_of(tmp_path: Path) -> Callable[[Path], Path]:
    return lambda path: Path(shutil.copytree(path, tmp_path / "bundle"))


def named(path: Path) -> str:
    return path.name


# ---- golden rows through every file


def first_tree(text: str) -> str:
    """A forest of the first tree alone, sound in itself."""
    head, *trees = text.partition("\nend of trees\n")[0].split("\n\nTree=")
    lines = [line if not line.startswith("tree_sizes=") else None for line in head.splitlines()]
    body = f"Tree={trees[0]}"
    sizes = f"tree_sizes={len(body) + 1}"
    return "\n".join(line if line is not None else sizes for line in lines) + (
        f"\n\n{body}\nend of trees\n" + text.partition("\nend of trees\n")[2]
    )


@pytest.mark.parametrize(("path", "name"), FORESTS, ids=[f"{named(path)}-{name}" for path, name in FORESTS])
def test_a_forest_that_lost_its_trees_is_named(copy_of: Any, path: Path, name: str) -> None:
    copy = copy_of(path)
    text = (copy / name).read_text()
    (copy / name).write_text(first_tree(text).rstrip("\n") + "\n")
    reseal(copy)
    load(copy)
    refused(copy, rf"row \d+ of golden/outputs.npy is not what this runtime computes of {name};", verify)


@pytest.mark.parametrize("path", NETWORKS, ids=named)
@pytest.mark.parametrize("share", [0.0, 0.99])
def test_weights_of_a_network_that_are_others_are_named(copy_of: Any, path: Path, share: float) -> None:
    from safetensors.numpy import save_file

    copy = copy_of(path)
    file = copy / "weights.safetensors"
    tensors = {
        name: np.ascontiguousarray(share * values) for name, values in read_safetensors(file.read_bytes()).items()
    }
    save_file({name: values.astype(np.float32) for name, values in tensors.items()}, file)
    reseal(copy)
    load(copy)
    refused(copy, r"row \d+ of golden/outputs.npy is not what this runtime computes of weights.safetensors;", verify)


# ---- two documents


def test_the_model_digest_covers_what_acts_and_nothing_else(copy_of: Any) -> None:
    copy = copy_of(STORED["caching"])
    reseal(copy)
    before = load(copy)
    (copy / "card.md").write_text("another card")
    reseal(copy, lambda whole: whole["measured"].update(reason="measured anew"))
    after = load(copy)
    assert after.model_digest == before.model_digest and after.digest != before.digest
    lines = subprocess.run(
        "find . -type f ! -name 'manifest.*' ! -name card.md -printf '%P\\n' | LC_ALL=C sort | xargs sha256sum"
        " | sha256sum",
        shell=True, cwd=copy, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert lines.stdout.split()[0] == after.model_digest == inspect(copy)["model_digest"]
    reseal(copy, setting("calibration.threshold", 0.25))
    assert load(copy).model_digest != before.model_digest


def test_a_model_digest_that_is_not_the_files_is_refused(copy_of: Any) -> None:
    copy = copy_of(STORED["workload"])
    raw = json.loads((copy / MANIFEST).read_text())
    sealed = json.dumps({**raw, "model_digest": "0" * 64}).encode()
    (copy / MANIFEST).write_bytes(sealed)
    (copy / SEAL).write_bytes(seal(hashlib.sha256(sealed).hexdigest()))
    refused(copy, "states another model_digest than that of the files it lists")


# ---- values


@pytest.mark.parametrize("kind", sorted(STORED))
def test_an_unknown_key_anywhere_but_among_names_is_refused(copy_of: Any, kind: str) -> None:
    for place in ("policy", "calibration", "arch", "geometry", "golden", "golden.context", "features.0"):
        copy = copy_of(STORED[kind])
        reseal(copy, setting(f"{place}.surprise", 1))
        refused(copy, r"surprise is unknown")
        shutil.rmtree(copy)


# ---- synthetic sets


@pytest.mark.parametrize("kind", sorted(STORED))
def test_a_synthetic_row_that_does_not_come_out_is_named(copy_of: Any, kind: str) -> None:
    copy = copy_of(STORED[kind])
    for one in documents(copy)["golden"]["synthetic"]:
        file = copy / "golden/synthetic" / one["name"] / "decisions.npy"
        before = np.load(file)
        np.save(file, before + np.eye(len(before), before.shape[1], 0, np.int32)[:, ::-1])
        reseal(copy)
        refused(copy, rf"row \d+ of golden/synthetic/{one['name']}/decisions.npy", verify)
        np.save(file, before)
    reseal(copy)
    assert verify(copy)["ok"]


def test_other_counts_of_branches_are_refused(copy_of: Any) -> None:
    copy = copy_of(STORED["admission"])
    first = documents(copy)["golden"]["synthetic"][0]["name"]
    reseal(copy, setting("golden.synthetic.0.branches.admit", 1))
    refused(copy, f"golden/synthetic/{first} passes other branches", verify)


def test_export_refuses_sets_that_miss_a_branch(trained_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, requests = trained_of("workload")
    kind = bundling_of("workload").kind.load()
    lacking = replace(kind, synthetic_wanted=lambda manifest: (*kind.synthetic_wanted(manifest), "never"))
    monkeypatch.setattr(writer, "_kind", lambda name: lacking)
    with pytest.raises(BundleError, match="no synthetic golden set passes never"):
        writer.build_bundle(folder, requests, metrics(model_id(folder)), EXPORT)


# ---- state, and what a runtime needs


def test_the_state_is_what_the_arrays_of_the_runtime_take() -> None:
    manifest = load(STORED["admission"]).manifest
    kinds, depth = 2, manifest["policy"]["history"]["windows"][-1]
    rings, newest, key = np.dtype((np.uint16, (kinds, depth))), np.dtype(np.int64), np.dtype(np.int64)
    assert manifest["cost"]["state_bytes_per_key"] == rings.itemsize + newest.itemsize + key.itemsize
    assert manifest["cost"]["state_key"] == "block or segment"
    caching = load(STORED["caching"]).manifest
    arch, memory = caching["arch"], caching["policy"]["memory"]
    wanted = 2 * arch["layers"] * arch["units"] * 4 + 2 ** memory["region_bits"] * 16 + memory["window_accesses"] * 8
    assert caching["cost"]["state_bytes"] == wanted and caching["cost"]["state_key"] == "page"
