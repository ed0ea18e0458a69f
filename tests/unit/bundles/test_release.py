"""Releases: archives, checksums, the page of the zoo."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from cachezoo.bundles import verify
from cachezoo.bundles.release import SUMS, bundles_below, release, zoo_page
from cachezoo.errors import BundleError
from tests.command_line import run

GOLDEN = Path(__file__).parents[2] / "golden"


@pytest.fixture
def folders(tmp_path):
    for name in ("admission.database.lgbm", "workload.lstm8"):
        shutil.copytree(GOLDEN / "protocol1" / name, tmp_path / "bundles" / name)
    (tmp_path / "bundles/prefetch.web.lgbm").mkdir()
    (tmp_path / "bundles/prefetch.web.lgbm/REFUSED.json").write_text("{}")
    return bundles_below(tmp_path / "bundles")


def test_a_release_is_the_same_twice_and_checks_out(folders, tmp_path):
    first = release(folders, tmp_path / "one")
    release(folders, tmp_path / "two")
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == sorted([SUMS, *(one.archive.name for one in first)]) and len(names) == 3
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes() for name in names)
    checked = subprocess.run(["sha256sum", "-c", SUMS], cwd=tmp_path / "one", capture_output=True, timeout=60)
    assert checked.returncode == 0
    assert verify(first[0].archive)["digest"] == first[0].bundle.digest


def test_the_page_lists_every_bundle_once(folders, tmp_path):
    found = release(folders, tmp_path / "out")
    rows = [line for line in zoo_page(found).splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == [one.bundle.id for one in found]
    assert all(one.bundle.model_digest[:16] in row for one, row in zip(found, rows, strict=True))


def test_a_release_and_a_signature_as_json(folders, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("conf", "models"):
        Path(folder).mkdir()
    Path("bundles").rename("models/bundles")
    rows = json.loads(run("bundle", "release", "out", "--json").stdout)
    assert [Path(row["archive"]).name for row in rows] == sorted(path.name for path in Path("out").glob("*.zip"))
    for row in rows:
        data = Path(row["archive"]).read_bytes()
        assert (row["bytes"], row["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", "key.pem"], check=True, timeout=60)
    told = json.loads(run("bundle", "sign", rows[0]["archive"], "--key", "key.pem", "--json").stdout)
    assert Path(told["signature"]).is_file()


def test_a_project_without_bundles_is_told(tmp_path):
    with pytest.raises(BundleError, match="holds no bundle; make repro exports them"):
        bundles_below(tmp_path)
