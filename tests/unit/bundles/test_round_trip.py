import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cachezoo.bundles import load, verify
from cachezoo.bundles.card import inspect, render
from cachezoo.bundles.measured import Metrics
from cachezoo.bundles.protocol import CARD, SEAL
from cachezoo.bundles.writer import build_bundle, write_archive, write_bundle
from cachezoo.errors import BundleError, TrainingError
from cachezoo.serving.requests import RequestBatch
from cachezoo.zoo.registry import bundling_of
from tests.bundle_data import EXPORT, TRAINERS, documents, metrics, model_id

ROOT = Path(__file__).parents[3]
Trained = tuple[Path, RequestBatch]


def test_verify(bundle_dir: Path) -> None:
    report = verify(bundle_dir)
    assert report["ok"] and report["id"] == bundle_dir.name and report["version"] == "0.1.0"
    assert report["golden_rows"] >= 250 and report["output_difference"] <= 1e-5
    kind = bundling_of(report["kind"]).kind.load()
    assert all(report["branches"][name] > 0 for name in kind.wanted)
    bundle = load(str(bundle_dir))
    assert bundle.digest == report["digest"]
    assert report["synthetic_rows"] == sum(len(one.requests) for one in bundle.golden_sets()[1:]) > 50


def test_replay_starts_afresh_each_time(bundle_dir: Path) -> None:
    bundle = load(bundle_dir)
    golden = bundle.golden()
    for _ in range(2):
        recomputed = bundle.recompute(golden.requests)
        np.testing.assert_array_equal(recomputed.features, golden.features)
        np.testing.assert_array_equal(recomputed.decisions, golden.decisions)


def test_equal_inputs_equal_bytes(trained: Trained, bundle_dir: Path, tmp_path: Path) -> None:
    """Also where what acts is pinned as it is."""
    folder, requests = trained
    elsewhere = Path(shutil.copytree(folder, tmp_path / "elsewhere" / "trained"))
    again, name = tmp_path / "again", model_id(folder)
    pinned = replace(EXPORT, pinned={name: {"0.1.0": load(bundle_dir).model_digest}})
    write_bundle(elsewhere, requests, metrics(name), pinned, again)
    first = {p.relative_to(bundle_dir): p.read_bytes() for p in bundle_dir.rglob("*") if p.is_file()}
    assert first == {p.relative_to(again): p.read_bytes() for p in again.rglob("*") if p.is_file()}
    for name, source in (("a.zip", bundle_dir), ("b.zip", again)):
        write_archive(source, tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    everything = b"".join(first.values())
    assert str(ROOT).encode() not in everything and str(tmp_path).encode() not in everything


def test_archive_loads_like_the_folder(bundle_dir: Path, tmp_path: Path) -> None:
    write_archive(bundle_dir, tmp_path / "bundle.zip")
    assert verify(tmp_path / "bundle.zip") == verify(bundle_dir)


def test_sha256sum_takes_the_seal(bundle_dir: Path) -> None:
    subprocess.run(["sha256sum", "-c", "--strict", SEAL], cwd=bundle_dir, check=True, capture_output=True)


def test_card_and_inspect(bundle_dir: Path) -> None:
    from rich.console import Console

    card = (bundle_dir / CARD).read_text()
    in_flash = bundle_dir.name.split(".")[0] == "admission"  # no rows of page caches are on their cards
    assert in_flash or ("database_test" in card and "lru" in card and "0.41" in card)
    report = inspect(bundle_dir)
    assert json.loads(json.dumps(report))["manifest"] == documents(bundle_dir)
    console = Console(record=True, width=160)
    console.print(render(report))
    shown = console.export_text()
    assert report["digest"] in shown and "{" not in shown
    scaled = any((one["mean"], one["scale"]) != (0, 1) for one in report["manifest"]["features"])
    assert ("scale" in shown.split("features", 1)[1].split("file", 1)[0]) == scaled


def test_a_version_pins_what_acts(trained: Trained, bundle_dir: Path) -> None:
    folder, requests = trained
    name = model_id(folder)
    pinned = replace(EXPORT, pinned={name: {"0.1.0": load(bundle_dir).model_digest}})
    with pytest.raises(BundleError, match=r"what acts in it changed under the version 0\.1\.0"):
        build_bundle(folder, requests.part(1, len(requests)), metrics(name), pinned)


@pytest.mark.parametrize("trained", ["streams"], indirect=True)
def test_a_version_does_not_pin_what_was_measured_and_another_version_pins_nothing(
    trained: Trained, bundle_dir: Path
) -> None:
    folder, requests = trained
    name, bundle = model_id(folder), load(bundle_dir)
    pinned = replace(EXPORT, pinned={name: {"0.1.0": bundle.model_digest}})
    assert build_bundle(folder, requests, metrics(name, low=0.03), pinned)[1] != bundle.digest
    raised = replace(pinned, version="0.2.0")
    assert build_bundle(folder, requests.part(1, len(requests)), metrics(name), raised)[1] != bundle.digest


def edited(source: Trained, tmp_path: Path, **changes: object) -> Path:
    folder = Path(shutil.copytree(source[0], tmp_path / "edited"))
    path = folder / "train.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return folder


def test_what_is_not_shipped_is_refused(trained: Trained, tmp_path: Path) -> None:
    folder = edited(trained, tmp_path, trained=False, reason="the loss never fell")
    infinite = metrics(model_id(trained[0]), hit_ratio=float("nan"))
    for source, measured, settings, match in (
        (folder, Metrics(), EXPORT, "never trained: the loss never fell"),
        (trained[0], infinite, EXPORT, "hit_ratio is NaN or infinite"),
        (trained[0], Metrics(), replace(EXPORT, libraries={"numpy": "2.4.6"}), r"requirements\.lock pins no"),
    ):
        with pytest.raises(BundleError, match=match):
            build_bundle(source, trained[1], measured, settings)


def test_failed_export_leaves_the_old_bundle(trained: Trained, bundle_dir: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(bundle_dir, tmp_path / "old"))
    with pytest.raises(TrainingError):
        write_bundle(edited(trained, tmp_path, seeds=None), trained[1], Metrics(), EXPORT, out)
    assert verify(out)["ok"] and sorted(p.name for p in tmp_path.iterdir()) == ["edited", "old"]


HEAVY = "torch lightning mlflow pydantic pyarrow pandas lightgbm onnx onnxruntime jsonschema rich safetensors".split()
CODE = """
import importlib.metadata, sys
mode, heavy, *bundles = sys.argv[1:]
heavy = heavy.split(",")
if mode == "bare":
    real = importlib.metadata.version
    def version(name):
        if name == "numba":
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)
    importlib.metadata.version = version
    for name in [*heavy, "numba"]:
        sys.modules[name] = None
from cachezoo.bundles import verify
for bundle in bundles:
    print(verify(bundle)["digest"])
    assert not [name for name in heavy if sys.modules.get(name)], bundle
"""


PURE = "reuse"  # whose kernels take half a minute in pure Python


@pytest.mark.slow(seconds=60)
@pytest.mark.parametrize(
    ("mode", "kinds"),
    [
        ("whole", sorted(TRAINERS)),
        ("bare", sorted(set(TRAINERS) - {PURE})),
        pytest.param("bare", [PURE], marks=pytest.mark.long),
    ],
)
def test_runtime_needs_numpy_alone(bundle_dirs: dict[str, Path], mode: str, kinds: list[str]) -> None:
    folders = [bundle_dirs[kind] for kind in kinds]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", CODE, mode, ",".join(HEAVY), *map(str, folders)]
    run = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == [verify(folder)["digest"] for folder in folders]
