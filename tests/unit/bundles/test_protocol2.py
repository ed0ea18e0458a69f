"""What PROTOCOL 2 asks for beside PROTOCOL 1: two documents, strict values, golden rows through every file."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cachezoo.bundles import load, verify, writer
from cachezoo.bundles.inspect import inspect
from cachezoo.bundles.protocol import ACTS, MANIFEST, MODEL, SEAL, model_digest, seal
from cachezoo.errors import BundleError
from cachezoo.serving.safetensors import read_safetensors
from cachezoo.systems.registry import bundling_of
from tests.bundle_data import EXPORT, documents, metrics, model_id, reseal

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests/golden"
BOTH = sorted(path.parent for path in GOLDEN.glob(f"protocol*/*/{MANIFEST}"))
STORED = {path.name.split(".")[0]: path for path in BOTH if path.parent.name == "protocol2"}
FIRST = {path.name.split(".")[0]: path for path in BOTH if path.parent.name == "protocol1"}
FORESTS = [
    (path, file.name) for path in BOTH for file in sorted(path.glob("*.lgb.txt")) if file.name != "start.lgb.txt"
]
NETWORKS = [path for path in BOTH if (path / "weights.safetensors").exists()]
Change = Callable[[dict[str, Any]], None]


@pytest.fixture
def copy_of(tmp_path: Path) -> Callable[[Path], Path]:
    return lambda path: Path(shutil.copytree(path, tmp_path / "bundle"))


def refused(path: Path, match: str, check: Callable[[Path], object] = load) -> None:
    with pytest.raises(BundleError, match=match) as caught:
        check(path)
    text = str(caught.value)
    assert "\n" not in text and len(text) < 500 and str(path) in text


def setting(place: str, value: object) -> Change:
    """Puts a value at a place; `-1` means the last entry of a list."""

    def change(whole: dict[str, Any]) -> None:
        *way, last = place.split(".")
        inner: Any = whole
        for key in way:
            inner = inner[int(key)] if isinstance(inner, list) else inner[key]
        inner[int(last) if isinstance(inner, list) else last] = value

    return change


def named(path: Path) -> str:
    return f"{path.parent.name}-{path.name}"


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


@pytest.mark.parametrize("path", [path for path in BOTH if (path / MODEL).exists()], ids=named)
def test_an_onnx_file_that_is_another_is_named(copy_of: Any, path: Path) -> None:
    import onnx
    from onnx import numpy_helper

    copy = copy_of(path)
    model = onnx.load(copy / MODEL)
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name == "target_weights":
                attribute.floats[:] = [value + 1 for value in attribute.floats]
    for tensor in model.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if array.dtype == np.float32:
            tensor.CopyFrom(numpy_helper.from_array(array * np.float32(0.5), tensor.name))
    (copy / MODEL).write_bytes(model.SerializeToString())
    reseal(copy)
    load(copy)
    refused(copy, rf"row \d+ of golden/outputs.npy is not what this runtime computes of {MODEL};", verify)


@pytest.mark.parametrize("path", NETWORKS, ids=named)
def test_tensors_that_are_not_the_model_s_are_refused(copy_of: Any, path: Path) -> None:
    from safetensors.numpy import save_file

    copy = copy_of(path)
    file = copy / "weights.safetensors"
    whole = {name: np.array(values) for name, values in read_safetensors(file.read_bytes()).items()}
    name = sorted(whole)[0]
    for tensors, match in (
        ({key: value for key, value in whole.items() if key != name}, f"tensor '{name}' is missing"),
        ({**whole, "more": whole[name]}, "tensor 'more' is none of the model"),
        ({**whole, name: whole[name][:-1]}, f"tensor '{name}' is not float32"),
        ({**whole, name: whole[name].astype(np.float64)}, f"tensor '{name}' is not float32"),
    ):
        save_file(tensors, file)
        reseal(copy)
        refused(copy, f"weights.safetensors: {match}", verify)


# ---- two documents


def test_a_key_in_both_documents_is_refused(copy_of: Any) -> None:
    copy = copy_of(STORED["admission"])
    acts = json.loads((copy / ACTS).read_text())
    (copy / ACTS).write_text(json.dumps({**acts, "version": "9.9.9"}))
    manifest = json.loads((copy / MANIFEST).read_text())
    from hashlib import sha256

    for entry in manifest["files"]:
        data = (copy / entry["path"]).read_bytes()
        entry.update(sha256=sha256(data).hexdigest(), size=len(data))
    manifest["model_digest"] = model_digest(manifest["files"])
    raw = json.dumps(manifest).encode()
    (copy / MANIFEST).write_bytes(raw)
    (copy / SEAL).write_bytes(seal(sha256(raw).hexdigest()))
    refused(copy, r"'version' stands in manifest.json and in model.json")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"kind": "admission", "kind": "admission"}', '{"a": NaN}'])
def test_a_model_s_document_that_is_none(copy_of: Any, text: str) -> None:
    copy = copy_of(STORED["caching"])
    raw = json.loads((copy / MANIFEST).read_text())
    (copy / ACTS).write_text(text)
    from hashlib import sha256

    for entry in raw["files"]:
        if entry["path"] == ACTS:
            entry.update(sha256=sha256(text.encode()).hexdigest(), size=len(text))
    raw["model_digest"] = model_digest(raw["files"])
    sealed = json.dumps(raw).encode()
    (copy / MANIFEST).write_bytes(sealed)
    (copy / SEAL).write_bytes(seal(sha256(sealed).hexdigest()))
    refused(copy, r"model\.json: (not readable as JSON|\$ is not of type object)")


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
    from hashlib import sha256

    (copy / MANIFEST).write_bytes(sealed)
    (copy / SEAL).write_bytes(seal(sha256(sealed).hexdigest()))
    refused(copy, "states another model_digest than that of the files it lists")


def test_protocol_1_has_no_digest_of_what_acts(copy_of: Any) -> None:
    bundle = load(FIRST["admission"])
    assert bundle.model_digest == bundle.digest and bundle.profile == "full" and bundle.conformance == {}
    report = inspect(FIRST["admission"])
    assert report["model_digest"] == report["digest"] and report["conformance"] == {}


# ---- strict values

STRICT: list[tuple[str, str, object, str]] = [
    ("admission", "policy.type", "foo", "breaks const flash_admission"),
    ("admission", "policy.eviction", "fifo", "breaks const lru"),
    ("admission", "policy.prefetches", "yes", "policy.prefetches is unknown"),
    ("admission", "policy.history.windows", [2, 1], r"windows \[2, 1\] do not rise"),
    ("admission", "policy.history.windows", [], "breaks minItems"),
    ("admission", "policy.cache_fraction", 1.5, "breaks maximum"),
    ("admission", "calibration.with_prefetch.mode", "next(0)", "breaks pattern"),
    ("admission", "calibration.with_prefetch.mode", "ml_range", "breaks pattern"),
    ("admission", "calibration.threshold", "0.5", "is not of type number"),
    ("admission", "calibration.more", 1, "calibration.more is unknown"),
    ("admission", "arch.layers", 1, "arch.layers is unknown"),
    ("admission", "features.0.encoding", "categorical", "breaks enum"),
    ("admission", "features.0.encoding", "ordinal", "its encoding is ordinal, not number"),
    ("admission", "features.0.mean", 1, "breaks const 0"),
    ("admission", "features.0.formula", "history.block.read.0", "breaks pattern"),
    ("admission", "encodings", {"user": {"a": 1, "b": 1}}, "two names have one code"),
    ("admission", "encodings", {"flags": {}}, "encodings.flags is unknown"),
    ("admission", "profile", "block", "profile is block, its values make it full"),
    ("admission", "profile", "some", "breaks enum"),
    ("admission", "conformance", {"fp32": "exact"}, "conformance.fp64 is missing"),
    ("admission", "conformance", {"fp64": 0.9}, "breaks const exact"),
    ("admission", "golden.outputs", ["points"], "golden.outputs is"),
    ("admission", "golden.decisions", ["points"], "golden.decisions is"),
    ("admission", "golden.context", {"capacity_pages": 5}, "context.capacity_pages is unknown"),
    ("prefetch", "policy.mode", "sometimes", "breaks pattern"),
    ("prefetch", "policy.type", "flash_admission", "breaks const flash_prefetch"),
    ("prefetch", "policy.admission", "caching.database.lstm", "breaks pattern"),
    ("prefetch", "calibration.worth", None, "is not of type number"),
    ("caching", "policy.protected_percent", 500, "breaks maximum 100"),
    ("caching", "policy.capacity_ratio_log2", [9, -9], "9 to -9, whose ends are in the wrong order"),
    ("caching", "policy.capacity_ratio_log2", [9], "breaks minItems"),
    ("caching", "policy.ranges", {"gap": [2, 1]}, "policy.ranges.gap is 2 to 1"),
    ("caching", "policy.ranges", {"nothing": [1, 2]}, "nothing"),
    ("caching", "policy.on_hit", "leave", "breaks enum"),
    ("caching", "policy.queues", "two", "breaks enum"),
    ("caching", "policy.state", "reset10", "breaks enum"),
    ("caching", "policy.fill_free", 1, "is not of type boolean"),
    ("caching", "policy.memory.clip", 0, "breaks exclusiveMinimum"),
    ("caching", "policy.memory.window_accesses", 5001, "window_accesses are more than memory_accesses"),
    ("caching", "calibration.threshold", 3, "breaks maximum"),
    ("caching", "arch.layers", 65, "breaks maximum"),
    ("caching", "conformance.int8", 0, "breaks exclusiveMinimum"),
    ("caching", "geometry.page_bytes", 8192, "breaks const 4096"),
    ("caching", "encodings", {"user": {}}, "encodings.user is unknown"),
    ("workload", "policy.unknown_above", {"window": -1}, "breaks minimum"),
    ("workload", "calibration.known", [], "has limits where calibration.known knows no trace"),
    ("workload", "policy.vote_windows", 0, "breaks minimum"),
    ("workload", "policy.classes", ["a", "a"], "."),
    ("reuse", "policy.candidates", 5000, "breaks maximum"),
    ("reuse", "policy.shadows", ["lru"] * 4, "breaks maxItems"),
    ("reuse", "policy.type", "lead", "breaks const follow"),
    ("reuse", "calibration.events", [[-1.0]] * 2, "breaks minimum"),
]


@pytest.mark.parametrize(
    ("kind", "place", "value", "match"), STRICT, ids=[f"{k}-{p}-{v!s:.20}" for k, p, v, _ in STRICT]
)
def test_a_value_that_no_model_has_is_refused(copy_of: Any, kind: str, place: str, value: object, match: str) -> None:
    copy = copy_of(STORED[kind])
    reseal(copy, setting(place, value))
    refused(copy, match)


@pytest.mark.parametrize("kind", sorted(STORED))
def test_an_unknown_key_anywhere_but_among_names_is_refused(copy_of: Any, kind: str) -> None:
    inputs = ("inputs.0",) if (STORED[kind] / MODEL).exists() else ()
    for place in ("policy", "calibration", "arch", "geometry", "golden", "golden.context", "features.0", *inputs):
        copy = copy_of(STORED[kind])
        reseal(copy, setting(f"{place}.surprise", 1))
        refused(copy, r"surprise is unknown")
        shutil.rmtree(copy)


def test_protocol_1_keeps_what_it_takes(copy_of: Any) -> None:
    copy = copy_of(FIRST["caching"])
    reseal(copy, setting("policy.type", "foo"))
    reseal(copy, setting("policy.capacity_ratio_log2", [9, -9]))
    assert verify(copy)["ok"]


# ---- synthetic sets


@pytest.mark.parametrize("kind", sorted(STORED))
def test_synthetic_sets_pass_every_wanted_branch(kind: str) -> None:
    bundle = load(STORED[kind])
    own = bundling_of(kind).kind.load()
    passed: dict[str, int] = {}
    for one in bundle.manifest["golden"]["synthetic"]:
        for name, count in one["branches"].items():
            passed[name] = passed.get(name, 0) + count
    assert all(passed[name] > 0 for name in own.synthetic_wanted(bundle.manifest))
    assert verify(STORED[kind])["synthetic_rows"] == sum(
        one["rows"] for one in bundle.manifest["golden"]["synthetic"]
    ) > 50  # fmt: skip


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


def test_synthetic_sets_that_are_none(copy_of: Any) -> None:
    copy = copy_of(STORED["admission"])
    first = documents(copy)["golden"]["synthetic"][0]["name"]
    for place, value, match in (
        ("golden.synthetic.0.changes", {"policy.nothing": 1}, "policy.nothing is changed .* there is no such value"),
        ("golden.synthetic.0.changes", {"measured.reason": "x"}, "measured.reason is changed .* no such value"),
        ("golden.synthetic.0.changes", {"policy.eviction": "fifo"}, "policy.eviction breaks const lru"),
        ("golden.synthetic.0.changes", {"policy.history.windows": [3, 2]}, "do not rise"),
        ("golden.synthetic.0.changes", {"policy.history": 1}, "is not of type object"),
        ("golden.synthetic.0.name", "nowhere", "golden/synthetic/nowhere/requests.csv of a golden set is missing"),
        ("golden.synthetic.0.name", "../x", "breaks pattern"),
        ("golden.synthetic.1.name", first, "two synthetic golden sets have one name"),
        ("golden.synthetic.0.rows", 7, "has \\d+ rows, the manifest says 7"),
        ("golden.synthetic.0.context.capacity_pages", 7, "capacity_pages is unknown"),
        ("golden.synthetic.0.context.capacity_segments", 0, "breaks minimum"),
        ("golden.synthetic.0.branches.admit", 1, f"golden/synthetic/{first} passes other branches"),
    ):
        whole = documents(copy)
        reseal(copy, setting(place, value))
        refused(copy, match, verify)
        reseal(copy, lambda now, whole=whole: now.update(golden=whole["golden"]))
    assert verify(copy)["ok"]


def test_export_refuses_sets_that_miss_a_branch(trained_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, requests = trained_of("workload")
    kind = bundling_of("workload").kind.load()
    lacking = replace(kind, synthetic_wanted=lambda manifest: (*kind.synthetic_wanted(manifest), "never"))
    monkeypatch.setattr(writer, "_kind", lambda name: lacking)
    with pytest.raises(BundleError, match="no synthetic golden set passes never"):
        writer.build_bundle(folder, requests, metrics(model_id(folder)), EXPORT)


# ---- state, and what a runtime needs


def test_the_state_is_what_the_arrays_of_the_runtime_take() -> None:
    from cachezoo.features.history import AdmissionFeatures

    manifest = load(STORED["admission"]).manifest
    features = AdmissionFeatures(
        manifest["features"], manifest["encodings"], manifest["geometry"], manifest["policy"]["history"]
    )
    counts = features._counts["block"]
    counts._grow(1000)
    key = np.dtype(np.int64).itemsize
    assert manifest["cost"]["state_bytes_per_key"] == (counts._counts.nbytes + counts._newest.nbytes) // 1000 + key
    assert manifest["cost"]["state_key"] == "block or segment"
    caching = load(STORED["caching"]).manifest
    arch, memory = caching["arch"], caching["policy"]["memory"]
    wanted = 2 * arch["layers"] * arch["units"] * 4 + 2 ** memory["region_bits"] * 16 + memory["window_accesses"] * 8
    assert caching["cost"]["state_bytes"] == wanted and caching["cost"]["state_key"] == "page"


BARE = """
import sys
sys.modules["onnxruntime"] = None
from cachezoo.bundles import load, verify
from cachezoo.errors import BundleError
bundle = load(sys.argv[1])
golden = bundle.golden()
again = bundle.recompute(golden.requests)
assert (again.decisions == golden.decisions).all() and (again.outputs == golden.outputs).all()
try:
    verify(sys.argv[1])
except BundleError as error:
    print(error)
"""


@pytest.mark.parametrize("kind", ["admission", "prefetch", "reuse"])
def test_forests_decide_without_onnxruntime(kind: str) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run(
        [sys.executable, "-c", BARE, str(STORED[kind])], env=env, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("\n") == 1 and "onnxruntime is not installed; pip install cachezoo[runtime]" in run.stdout
