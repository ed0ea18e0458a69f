"""Signatures beside bundles."""

import shutil
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from cachezoo.bundles.signature import check, sign, signature_path
from cachezoo.bundles.writer import write_archive
from cachezoo.errors import BundleError

STORED = Path(__file__).parents[2] / "golden/protocol1/admission.database.lgbm"


def write_keys(folder, name, private):
    secret, public = folder / f"{name}.pem", folder / f"{name}.pub"
    secret.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return secret, public


@pytest.fixture
def bundle(tmp_path):
    return Path(shutil.copytree(STORED, tmp_path / "bundle"))


@pytest.fixture
def keys(tmp_path):
    return write_keys(tmp_path, "ours", Ed25519PrivateKey.from_private_bytes(bytes(range(32))))


def test_a_folder_and_its_archive_have_one_signature(bundle, keys, tmp_path):
    secret, public = keys
    archive = tmp_path / "bundle.zip"
    write_archive(bundle, archive)
    assert sign(bundle, secret).read_bytes() == sign(archive, secret).read_bytes()
    check(bundle, public)
    check(archive, public)


def test_another_key_or_bundle_or_text_is_no_signature(bundle, keys, tmp_path):
    secret, public = keys
    sign(bundle, secret)
    _, foreign = write_keys(tmp_path, "theirs", Ed25519PrivateKey.from_private_bytes(bytes(32)))
    with pytest.raises(BundleError, match=r"is not the signature of .*by the key of .*theirs\.pub"):
        check(bundle, foreign)
    other = Path(shutil.copytree(STORED.with_name("caching.database.lstm1x8"), tmp_path / "other"))
    shutil.copy(signature_path(bundle), signature_path(other))
    with pytest.raises(BundleError, match="is not the signature of"):
        check(other, public)
    signature_path(bundle).write_text("not base64!")
    with pytest.raises(BundleError, match="is not the signature of"):
        check(bundle, public)


def test_what_is_missing_or_no_key_is_named(bundle, keys, tmp_path):
    _, public = keys
    with pytest.raises(BundleError, match=r"bundle\.sig: cannot be read"):
        check(bundle, public)
    with pytest.raises(BundleError, match="nowhere: cannot be read"):
        sign(bundle, tmp_path / "nowhere")
    with pytest.raises(BundleError, match="is no private key as PEM"):
        sign(bundle, public)
    ec, _ = write_keys(tmp_path, "ec", generate_private_key(SECP256R1()))
    with pytest.raises(BundleError, match="is a private key, but not of Ed25519"):
        sign(bundle, ec)
