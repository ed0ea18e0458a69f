"""Damage that the current PROTOCOL refuses, each with one clear line; that of a single file is in tests/refused.py."""

import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cachezoo.bundles import load, verify
from cachezoo.bundles.protocol import GOLDEN_DECISIONS, GOLDEN_OUTPUTS, MANIFEST, SEAL
from cachezoo.bundles.writer import write_archive
from cachezoo.errors import BundleError
from cachezoo.zoo.registry import SYSTEMS, bundling_of
from tests.bundle_data import refused, reseal

WEIGHT_FILES = {name for system in SYSTEMS for name in bundling_of(system).weights}


@pytest.fixture
def copy(bundle_dir: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(bundle_dir, tmp_path / "bundle"))


def test_missing_and_extra_files(copy: Path) -> None:
    (copy / "notes.txt").write_text("hello")
    refused(copy, r"'notes.txt' is not listed")
    (copy / "notes.txt").unlink()
    (copy / "empty").mkdir()
    refused(copy, "empty is an empty folder")
    (copy / "empty").rmdir()
    (copy / "card.md").unlink()
    refused(copy, r"card.md is missing")
    (copy / SEAL).unlink()
    refused(copy, SEAL)
    (copy / MANIFEST).unlink()
    refused(copy, rf"holds no {MANIFEST}")
    refused(copy / "nowhere", "no such bundle")


def test_of_a_bundle_that_the_pipeline_makes_it_is_said_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    how = "no such bundle; make repro makes those of models/bundles, or give a bundle's folder or .zip"
    for path in (Path("models/bundles/reuse.follow"), tmp_path / "models/bundles/reuse.follow-0.1.0.zip"):
        refused(path, f"^{re.escape(str(path))}: {how}$")
    refused(Path("models/reuse.follow"), "^models/reuse.follow: no such bundle; give a bundle's folder or .zip$")


def test_every_required_file_must_be_listed(copy: Path) -> None:
    weights = next((path.name for path in sorted(copy.iterdir()) if path.name in WEIGHT_FILES), "card.md")
    (copy / weights).unlink()
    reseal(copy, lambda manifest: manifest.update(files=[e for e in manifest["files"] if e["path"] != weights]))
    refused(copy, f"lists no {weights}")


def test_links_and_devices(copy: Path) -> None:
    os.symlink(copy / "card.md", copy / "link.md")
    refused(copy, r"'link.md' is a symbolic link")
    (copy / "link.md").unlink()
    outside = Path(shutil.move(copy / "card.md", copy.parent / "card.md"))
    os.symlink(outside, copy / "card.md")
    refused(copy, r"'card.md' is a symbolic link")
    (copy / "card.md").unlink()
    os.mkfifo(copy / "card.md")
    refused(copy, "not a plain file")
    (copy / "card.md").unlink()
    shutil.move(copy / "golden", copy.parent / "golden")
    os.symlink(copy.parent / "golden", copy / "golden")
    refused(copy, r"'golden' is a symbolic link")


def test_sizes_and_checksums(copy: Path) -> None:
    with (copy / "card.md").open("ab") as file:
        file.write(b"x")
    refused(copy, r"card.md has \d+ bytes, the manifest says \d+")
    raw = bytearray((copy / "card.md").read_bytes()[:-1])
    raw[5] ^= 1
    (copy / "card.md").write_bytes(raw)
    refused(copy, r"card.md does not have the sha256")


def test_manifest_sealed(copy: Path) -> None:
    text = (copy / MANIFEST).read_text()
    (copy / MANIFEST).write_text(text.replace("0.1.0", "0.1.1", 1))
    refused(copy, "manifest.json does not have the sha256 that manifest.sha256 states")


def test_golden_rows_that_do_not_come_out(copy: Path) -> None:
    outputs = np.load(copy / GOLDEN_OUTPUTS)
    np.save(copy / GOLDEN_OUTPUTS, outputs + np.float32(1e-3))
    reseal(copy)
    load(copy)
    refused(copy, r"row 1 of golden/outputs.npy", verify)
    np.save(copy / GOLDEN_OUTPUTS, outputs)
    decisions = np.load(copy / GOLDEN_DECISIONS)
    decisions[-1, 0] += 1
    np.save(copy / GOLDEN_DECISIONS, decisions)
    reseal(copy)
    refused(copy, rf"row {len(decisions)} of golden/decisions.npy", verify)
    np.save(copy / GOLDEN_DECISIONS, decisions[:-1])
    reseal(copy)
    refused(copy, "the runtime gives", verify)
    np.save(copy / GOLDEN_DECISIONS, decisions.astype(object), allow_pickle=True)
    reseal(copy)
    refused(copy, "not a readable .npy", verify)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_flipped_byte_is_refused(bundle_dir: Path, tmp_path: Path, data: st.DataObject) -> None:
    names = sorted(str(p.relative_to(bundle_dir)) for p in bundle_dir.rglob("*") if p.is_file())
    name = data.draw(st.sampled_from(names))
    copy = tmp_path / "flipped"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(bundle_dir, copy)
    _flip(copy / name, data)
    with pytest.raises(BundleError):
        load(copy)


def _flip(path: Path, data: st.DataObject) -> None:
    raw = bytearray(path.read_bytes())
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(raw)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_flipped_byte_of_an_archive_is_refused(bundle_dir: Path, tmp_path: Path, data: st.DataObject) -> None:
    whole = tmp_path / "whole.zip"
    if not whole.exists():
        write_archive(bundle_dir, whole)
    raw = whole.read_bytes()
    tail = data.draw(st.booleans())
    low = len(raw) - 1200 if tail else 0
    at, bits = data.draw(st.integers(low, len(raw) - 1)), data.draw(st.integers(1, 255))
    damaged = tmp_path / "damaged.zip"
    damaged.write_bytes(raw[:at] + bytes([raw[at] ^ bits]) + raw[at + 1 :])
    with pytest.raises(BundleError):
        load(damaged)


def test_archive_cut_or_grown(bundle_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / "bundle.zip"
    write_archive(bundle_dir, path)
    raw = path.read_bytes()
    for damaged in (raw[:-1], raw[: len(raw) // 2], b"", raw + b"\n", b"PK" + raw):
        path.write_bytes(damaged)
        refused(path, r"zip|archive")


def test_archives_of_other_tools(bundle_dir: Path, tmp_path: Path) -> None:
    shutil.make_archive(str(tmp_path / "packed"), "zip", bundle_dir)
    refused(tmp_path / "packed.zip", "not the one archive")
