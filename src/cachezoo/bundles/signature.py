"""Ed25519 signatures beside bundles: `PATH.sig` says who made a bundle, where checksums say only that it is whole.

What is signed is the bundle's seal, the line of manifest.sha256, so a folder and its .zip have the same signature.
Keys are PEM files, as `openssl genpkey -algorithm ed25519` writes them.
"""

import base64
import binascii
from pathlib import Path
from typing import Any

from cachezoo.bundles.protocol import seal
from cachezoo.bundles.reader import load
from cachezoo.errors import BundleError
from cachezoo.io import atomic_file

SUFFIX = ".sig"


def signature_path(bundle: Path) -> Path:
    """Where the signature of a bundle's folder or .zip lies."""
    return bundle.with_name(bundle.name + SUFFIX)


def _key(path: Path, private: bool) -> Any:  # noqa: ANN401 - a key of cryptography's
    """An Ed25519 key.

    Raises:
        BundleError: the file holds none.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

    what = "private" if private else "public"
    try:
        data = path.read_bytes()
        found = load_pem_private_key(data, None) if private else load_pem_public_key(data)
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror}); give an Ed25519 {what} key as PEM"
        raise BundleError(message) from error
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        message = f"{path}: is no {what} key as PEM without a password; openssl genpkey -algorithm ed25519 makes one"
        raise BundleError(message) from error
    if not isinstance(found, Ed25519PrivateKey if private else Ed25519PublicKey):
        message = f"{path}: is a {what} key, but not of Ed25519; openssl genpkey -algorithm ed25519 makes one"
        raise BundleError(message)
    return found


def sign(bundle: Path, key: Path) -> Path:
    """Sign a bundle.

    Args:
        bundle: its folder or .zip; it is checked first.
        key: the private key's PEM file.

    Returns:
        The file that was written, `PATH.sig`.

    Raises:
        BundleError: the bundle is damaged, or the key is none.
    """
    private, digest = _key(key, private=True), load(bundle).digest
    path = signature_path(bundle)
    with atomic_file(path) as temporary:
        temporary.write_bytes(base64.b64encode(private.sign(seal(digest))) + b"\n")
    return path


def check(bundle: Path, key: Path) -> None:
    """Check a bundle's signature.

    Args:
        bundle: its folder or .zip.
        key: the public key's PEM file.

    Raises:
        BundleError: there is no signature beside it, or it is not this key's of this bundle.
    """
    from cryptography.exceptions import InvalidSignature

    public, digest, path = _key(key, private=False), load(bundle).digest, signature_path(bundle)
    try:
        given = base64.b64decode(path.read_bytes().strip(), validate=True)
        public.verify(given, seal(digest))
    except OSError as error:
        message = (
            f"{path}: cannot be read ({error.strerror}); the bundle is not signed, or its signature was not copied"
        )
        raise BundleError(message) from error
    except (InvalidSignature, binascii.Error) as error:
        message = f"{path}: is not the signature of {bundle} by the key of {key}; do not use the bundle"
        raise BundleError(message) from error
