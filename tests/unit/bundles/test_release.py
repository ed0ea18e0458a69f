"""Releases: archives, checksums, the page of the zoo."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from cachezoo.bundles import verify
from cachezoo.bundles.release import SUMS, bundles_below, receive, release, sign_release, zoo_page
from cachezoo.bundles.released import DOCUMENT, SIGNATURE
from cachezoo.errors import BundleError, ConfigError
from tests.command_line import run

GOLDEN = Path(__file__).parents[2] / "golden"


@pytest.fixture
def folders(tmp_path):
    for name in ("admission.database.lgbm", "workload.lstm8"):
        shutil.copytree(GOLDEN / "protocol2" / name, tmp_path / "bundles" / name)
    (tmp_path / "bundles/reuse.web.follow").mkdir()
    (tmp_path / "bundles/reuse.web.follow/REFUSED.json").write_text("{}")
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


@pytest.fixture
def keys(tmp_path):
    """A private and a public key, as openssl writes them."""
    secret, public = tmp_path / "key.pem", tmp_path / "key.pub"
    for words in (
        ("genpkey", "-algorithm", "ed25519", "-out", secret),
        ("pkey", "-in", secret, "-pubout", "-out", public),
    ):
        subprocess.run(["openssl", *words], check=True, timeout=60)
    return secret, public


def test_a_signed_release_is_one_that_openssl_and_every_reader_takes(folders, keys, tmp_path):
    secret, public = keys
    found, out = release(folders, tmp_path / "out"), tmp_path / "out"
    own = sign_release(found, out, secret)
    assert (own.number, own.floor) == (1, 1)
    words = ("-verify", "-pubin", "-inkey", public, "-rawin", "-in", out / DOCUMENT, "-sigfile", out / SIGNATURE)
    assert subprocess.run(["openssl", "pkeyutl", *words], capture_output=True, timeout=60).returncode == 0
    assert [verify(one.archive, public)["release"] for one in found] == [1, 1]
    stated = [(one["id"], one["archive_sha256"]) for one in json.loads((out / DOCUMENT).read_text())["bundles"]]
    assert stated == [(one.bundle.id, one.sha256) for one in found]


def test_numbers_rise_by_what_lies_there_and_equal_releases_are_equal_bytes(folders, keys, tmp_path):
    secret, _ = keys
    out = tmp_path / "out"

    def numbers(some, *given):
        own = sign_release(release(some, out), out, secret, *given)
        return own.number, own.floor

    assert numbers(folders) == (1, 1)
    before = (out / DOCUMENT).read_bytes(), (out / SIGNATURE).read_bytes()
    assert numbers(folders) == (1, 1)
    assert ((out / DOCUMENT).read_bytes(), (out / SIGNATURE).read_bytes()) == before
    assert numbers(folders[:1]) == (2, 1) and numbers(folders[:1], None, 2) == (3, 2)
    assert numbers(folders) == (4, 2) and numbers(folders, 9) == (9, 2)
    for number, floor in ((8, None), (None, 1), (3, 3)):
        with pytest.raises(ConfigError, match="is release 9 with floor 2; both rise"):
            numbers(folders, number, floor)
    with pytest.raises(ConfigError, match="is release 9 with floor 2; both rise"):
        numbers(folders[:1], 9)
    with pytest.raises(ConfigError, match="floor 11: of release 10 it is 1 to 10"):
        numbers(folders, None, 11)


def test_a_release_after_another_maker_s_needs_its_number(folders, keys, tmp_path):
    secret, _ = keys
    out = tmp_path / "out"
    found = release(folders, out)
    sign_release(found, out, secret, 5)
    other = tmp_path / "other.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", other], check=True, timeout=60)
    with pytest.raises(BundleError, match=r"not its signature by the key of .*; or give --number"):
        sign_release(found, out, other)
    assert sign_release(found, out, other, 2).number == 2


def test_what_is_no_private_key_is_named(folders, tmp_path):
    found = release(folders[:1], tmp_path / "out")
    with pytest.raises(BundleError, match="nowhere: cannot be read"):
        sign_release(found, tmp_path / "out", tmp_path / "nowhere")
    for words, said in (
        (("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"), "is a private key, but not of Ed25519"),
        (("-algorithm", "ed25519", "-aes256", "-pass", "pass:x"), "is no private key as PEM without a password"),
    ):
        path = tmp_path / "own.pem"
        subprocess.run(["openssl", "genpkey", *words, "-out", path], check=True, capture_output=True, timeout=60)
        with pytest.raises(BundleError, match=said):
            sign_release(found, tmp_path / "out", path)
    assert not (tmp_path / "out" / DOCUMENT).exists()


def test_what_is_received_is_whole_and_from_then_on_nothing_older_is_taken(folders, keys, tmp_path):
    secret, public = keys
    old, new = tmp_path / "old", tmp_path / "new"
    sign_release(release(folders, old), old, secret)
    assert receive(old, public).number == 1 and (tmp_path / "key.pub.floor").read_text() == "1\n"
    found = release(folders, new)
    sign_release(found, new, secret, 7, 7)
    archive = found[0].archive
    assert verify(old / archive.name, public)["release"] == 1
    whole = archive.read_bytes()
    archive.write_bytes(whole[:-1])
    with pytest.raises(BundleError, match="is not what release 7 has under this name"):
        receive(new, public)
    archive.write_bytes(whole)
    (new / SUMS).write_text(f"{'0' * 64}  {archive.name}\n")
    with pytest.raises(BundleError, match=f"{SUMS}: is not that of release 7"):
        receive(new, public)
    (new / SUMS).unlink()
    assert receive(new, public).number == 7 and (tmp_path / "key.pub.floor").read_text() == "7\n"
    with pytest.raises(BundleError, match=r"is release 1, and .*key\.pub accepts 7 or later"):
        verify(old / archive.name, public)
    with pytest.raises(BundleError, match="no key to check it with"):
        receive(new)


def test_releases_from_the_command_line(folders, keys, tmp_path, monkeypatch):
    secret, public = keys
    monkeypatch.chdir(tmp_path)
    for folder in ("conf", "models"):
        Path(folder).mkdir()
    Path("bundles").rename("models/bundles")
    rows = json.loads(run("models", "bundle", "release", "out", "--json").stdout)
    assert [Path(row["archive"]).name for row in rows] == sorted(path.name for path in Path("out").glob("*.zip"))
    for row in rows:
        data = Path(row["archive"]).read_bytes()
        assert (row["bytes"], row["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
    assert "give --key" in run("models", "bundle", "release", "out", "--number", "3", ok=False).stderr
    assert "release 3, floor 2, signed by" in run(
        *("bundle", "release", "out", "--key", str(secret), "--number", "3", "--floor", "2")
    ).stdout  # fmt: skip
    told = json.loads(run("models", "bundle", "receive", "out", "--key", str(public), "--json").stdout)
    assert told == {"release": 3, "floor": 2, "bundles": 2}
    path = rows[0]["archive"]
    assert json.loads(run("models", "bundle", "verify", path, "--key", str(public), "--json").stdout)["release"] == 3
    assert "release" not in json.loads(run("models", "bundle", "verify", path, "--json").stdout)
    monkeypatch.setenv("CACHEZOO_KEY", str(public))
    for words in (("verify", "models/bundles/workload.lstm8"), ("inspect", "models/bundles/workload.lstm8")):
        assert "asks for a signed release" in run("models", "bundle", *words, ok=False).stderr
    run("models", "bundle", "inspect", path)


def test_a_project_without_bundles_is_told(tmp_path):
    with pytest.raises(BundleError, match="holds no bundle; make repro exports them"):
        bundles_below(tmp_path)
