"""Ed25519: the public key that a machine or a user trusts, the private key of a maker, and signatures of 64 bytes.

Keys are PEM files, as openssl writes them. `KEY.floor` beside a public key is the least number of a release that is
accepted. libcachezoo reads both by the same rules (runtimes/c/src/key.c).
"""

import base64
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cachezoo.errors import BundleError

VARIABLE = "CACHEZOO_KEY"
MACHINE = Path("/etc/cachezoo/key.pub")
FLOOR = ".floor"
MOST_NUMBER = (1 << 53) - 1
MOST_READ = 4096
# What openssl writes, byte for byte: the 12 bytes that say Ed25519, then the 32 of the point.
PUBLIC = re.compile(
    rb"-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA([A-Za-z0-9+/]{43}=)\n-----END PUBLIC KEY-----\n", re.DOTALL
)
NUMBER = re.compile(rb"(0|[1-9][0-9]{0,15})\n?")
# The field, and y of the points that a few additions lead to zero: anyone can sign for such a key. libsodium refuses
# them, openssl does not.
FIELD = (1 << 255) - 19
EIGHTH = 2707385501144840649318225287225658788936804267575313519463743609750303021022
SMALL = {0, 1, FIELD - 1, EIGHTH, FIELD - EIGHTH}


@dataclass(frozen=True)
class Key:
    """A public key."""

    path: Path  # its file
    point: bytes  # 32 bytes
    floor: int = 0  # the least number of a release that is accepted


def key_of(given: Path | None = None) -> Key | None:
    """The key that bundles are held to: that given, else CACHEZOO_KEY's, else /etc/cachezoo/key.pub where there is one.

    Raises:
        BundleError: the file is no public key, or cannot be read.
    """
    named = os.environ.get(VARIABLE)
    path = given or (Path(named) if named else MACHINE)
    return None if path is MACHINE and not _there(MACHINE) else read_key(path)


def read_key(path: Path) -> Key:
    """A public key with its floor.

    Raises:
        BundleError: the file is none, or cannot be read; or the floor is no number.
    """
    found = PUBLIC.fullmatch(_read(path))
    point = base64.b64decode(found[1]) if found else b""
    if found is None or base64.b64encode(point) != found[1]:
        raise BundleError(f"{path}: is no Ed25519 public key as PEM; openssl pkey -in private.pem -pubout writes one")
    return Key(path, point, _floor(floor_path(path)))


def floor_path(key: Path) -> Path:
    """Where the floor of a key lies."""
    return key.with_name(key.name + FLOOR)


def _floor(path: Path) -> int:
    if not _there(path):
        return 0
    found = NUMBER.fullmatch(_read(path))
    if found is None or int(found[1]) > MOST_NUMBER:
        raise BundleError(f"{path}: is no number of a release; write the least that is accepted, in digits")
    return int(found[1])


def _there(path: Path) -> bool:
    """Whether there is anything by a name, a link to nowhere included: a key that cannot be read is not no key.

    Raises:
        BundleError: that cannot be known.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise _unreadable(path, error) from error
    return True


def read_some(path: Path, most: int) -> bytes:
    """A file from its beginning, at most so many bytes; a pipe is not waited for.

    Raises:
        OSError: it cannot be read.
    """
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        return file.read(most) or b""


def _read(path: Path) -> bytes:
    try:
        return read_some(path, MOST_READ)
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> BundleError:
    return BundleError(f"{path}: cannot be read ({error.strerror}); no bundle is opened without the key that is set")


def private_key(path: Path) -> Any:  # noqa: ANN401 - cryptography's Ed25519PrivateKey
    """A private key.

    Raises:
        BundleError: the file holds none.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        found = load_pem_private_key(path.read_bytes(), None)
    except OSError as error:
        raise BundleError(f"{path}: cannot be read ({error.strerror}); give an Ed25519 private key as PEM") from error
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        message = f"{path}: is no private key as PEM without a password; openssl genpkey -algorithm ed25519 makes one"
        raise BundleError(message) from error
    if not isinstance(found, Ed25519PrivateKey):
        raise BundleError(f"{path}: is a private key, but not of Ed25519; openssl genpkey -algorithm ed25519 makes one")
    return found


def public_of(path: Path, private: Any) -> Key:  # noqa: ANN401 - cryptography's Ed25519PrivateKey
    """The public key that belongs to a private one, for messages by its path."""
    return Key(path, private.public_key().public_bytes_raw())


def is_signature(signature: bytes, data: bytes, key: Key) -> bool:
    """Whether a signature is a key's of some bytes.

    Raises:
        BundleError: the package that computes it is not installed.
    """
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError as error:
        message = f"{key.path}: a key is set, and what checks signatures is not installed; pip install cryptography"
        raise BundleError(message) from error
    if _weak(key.point) or _weak(signature[:32]):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key.point).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True


def _weak(point: bytes) -> bool:
    """Whether 32 bytes are a point of small order, or not the one form of their point."""
    y = int.from_bytes(point, "little") & ((1 << 255) - 1)
    return y >= FIELD or y in SMALL
