"""`release.json`, the document that a maker signs, and bundles held to it.

It lies beside the bundles with `release.sig`, 64 bytes. Where a key is set, a bundle is opened only if the release is
the key's, is not older than the key's floor, and has just this bundle, under its own name. libcachezoo does the same
(runtimes/c/src/release.c), and both refuse the same.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cachezoo.bundles.integrity import Checked, read_checked
from cachezoo.bundles.protocol import one_line
from cachezoo.bundles.reader import Bundle
from cachezoo.bundles.schema import first_problem
from cachezoo.bundles.signature import Key, is_signature, key_of, read_some
from cachezoo.errors import BundleError
from cachezoo.serving.strict_json import read_json

RELEASE = 1
DOCUMENT, SIGNATURE = "release.json", "release.sig"
SCHEMA = "release"
MOST_BYTES = 4 << 20
SIGNATURE_BYTES = 64
AGAIN = "take the release again from its maker"


@dataclass(frozen=True)
class Release:
    """What a maker says of a release."""

    number: int  # it rises from release to release
    floor: int  # the least number that the maker still stands by
    bundles: tuple[Mapping[str, str], ...]  # `id`, `version`, `kind`, `manifest_sha256` and `archive_sha256` of each

    def document(self) -> dict[str, Any]:
        """The values of `release.json`."""
        own = [dict(one) for one in self.bundles]
        return {"RELEASE": RELEASE, "number": self.number, "floor": self.floor, "bundles": own}


def archive_name(model: str, version: str) -> str:
    """The name of a bundle's archive in a release."""
    return f"{model}-{version}.zip"


def parse(data: bytes, where: str) -> Release:
    """A release of the bytes of its document.

    Raises:
        BundleError: they are no JSON, break the schema, or hold what no release does.
    """
    try:
        found = read_json(data)
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{where}: not readable as JSON ({one_line(error)}); {AGAIN}") from error
    problem = first_problem(found, SCHEMA) or _rule_broken(found)
    if problem is not None:
        raise BundleError(f"{where}: {problem}; it is no release that this reader knows, {AGAIN}")
    return Release(found["number"], found["floor"], tuple(found["bundles"]))


def _rule_broken(found: Mapping[str, Any]) -> str | None:
    if found["floor"] > found["number"]:
        return "its floor is above its number"
    seen: set[str] = set()
    for one in found["bundles"]:
        if not one["id"].startswith(f"{one['kind']}."):
            return f"the id {one['id']} is not of kind {one['kind']}"
        if one["id"] in seen:
            return f"it has {one['id']} twice"
        seen.add(one["id"])
    return None


def read_release(document: Path, key: Key) -> Release:
    """A release that is a key's and is not older than its floor.

    Args:
        document: `release.json`; the signature has the same name with `.sig`.
        key: that it is held to.

    Raises:
        BundleError: it is another's, unsigned, damaged or older.
    """
    signature = document.with_suffix(".sig")
    data, signed = _read(document, MOST_BYTES, key), _read(signature, SIGNATURE_BYTES, key)
    if len(signed) != SIGNATURE_BYTES or not is_signature(signed, data, key):
        message = f"{document}: {signature.name} is not its signature by the key of {key.path}; use nothing of it"
        raise BundleError(message)
    found = parse(data, str(document))
    if found.number < key.floor:
        problem = f"is release {found.number}, and {key.path} accepts {key.floor} or later"
        raise BundleError(f"{document}: {problem}; take a newer one")
    return found


def _read(path: Path, most: int, key: Key) -> bytes:
    """A file of at most so many bytes."""
    try:
        data = read_some(path, most + 1)
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror}), and {key.path} asks for a signed release; copy it beside"
        raise BundleError(message) from error
    if len(data) > most:
        raise BundleError(f"{path}: has more than {most} bytes; {AGAIN}")
    return data


def _check(checked: Checked, key: Key, kept: Path | None) -> int:
    """Hold a bundle to the release beside it.

    Args:
        checked: the bundle.
        key: that the release is held to.
        kept: the release's document, of a bundle that is kept under another name.

    Returns:
        The release's number.

    Raises:
        BundleError: the release is refused, does not have the bundle, or the bundle is under another name.
    """
    path = Path(checked.where)
    if path.name in ("", ".."):
        raise BundleError(f"{path}: give the bundle by its name, which the release beside it has to have")
    release = read_release(kept or path.with_name(DOCUMENT), key)
    model, version, where = checked.manifest["id"], checked.manifest["version"], checked.where
    found = next((one for one in release.bundles if one["id"] == model), None)
    if found is None:
        problem = f"release {release.number} has no {model}"
    elif found["version"] != version:
        problem = f"is {model} {version}, and release {release.number} has {found['version']}"
    elif found["manifest_sha256"] != checked.digest or found["kind"] != checked.manifest["kind"]:
        problem = f"is not the {model} {version} of release {release.number}; it was changed"
    elif kept is None and path.name not in _names(found, path.is_dir()):
        problem = f"holds {model} {version}; its name has to be {_names(found, path.is_dir())[0]}"
    else:
        return release.number
    raise BundleError(f"{where}: {problem}; {AGAIN}")


def _names(bundle: Mapping[str, str], folder: bool) -> tuple[str, ...]:
    """What a bundle may be called: its folder goes without the version too."""
    name = archive_name(bundle["id"], bundle["version"])
    return (bundle["id"], name.removesuffix(".zip")) if folder else (name,)


def _opened(path: str | os.PathLike[str], key: Path | None, kept: Path | None) -> tuple[Bundle, int | None]:
    """A bundle, and the number of the release that has it where there is a key."""
    held_to, checked = key_of(key), read_checked(Path(path))
    number = None if held_to is None else _check(checked, held_to, kept)
    return Bundle(checked), number


def load(path: str | os.PathLike[str], key: Path | None = None) -> Bundle:
    """Check and load a bundle; where a key is set, of a signed release alone.

    Args:
        path: its folder, or its .zip.
        key: a public key's PEM file; None: CACHEZOO_KEY's, else /etc/cachezoo/key.pub where there is one.

    Raises:
        BundleError: whatever its PROTOCOL or the key refuses, in one line that names the file.
    """
    return _opened(path, key, None)[0]


def verify(path: str | os.PathLike[str], key: Path | None = None, kept: Path | None = None) -> dict[str, Any]:
    """Check every file of a bundle and recompute its golden rows; where a key is set, of a signed release alone.

    Args:
        path: a bundle's folder or .zip.
        key: as `load`'s.
        kept: the release's document, of a bundle that is kept under another name than the release's.

    Returns:
        What `Bundle.verify` returns, and where a key is set the `release` by its number.

    Raises:
        BundleError: the first thing that is wrong, in one line.
    """
    bundle, number = _opened(path, key, kept)
    return bundle.verify() | ({} if number is None else {"release": number})
