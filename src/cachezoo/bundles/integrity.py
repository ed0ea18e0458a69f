"""Reads a bundle's files and checks every one of them before anything uses them.

Files are read once, into memory, and what was checked is what is used. Numpy-free: standard library alone.
"""

import hashlib
import io
import json
import os
import stat
import struct
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cachezoo.bundles import protocol
from cachezoo.bundles.protocol import ACTS, FILE_NAME, MANIFEST, MAX_MANIFEST_BYTES, REFUSED, SEAL, one_line
from cachezoo.bundles.schema import MANIFEST_SCHEMA, MODEL_SCHEMA, check_document
from cachezoo.errors import BundleError
from cachezoo.paths import BUNDLES
from cachezoo.serving.strict_json import read_json
from cachezoo.zoo.registry import bundling_of

Read = Callable[[str], bytes]
EPOCH, MODE, UNIX = (1980, 1, 1, 0, 0, 0), 0o100644 << 16, 3  # of every file in an archive
OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class Checked:
    """A bundle whose bytes are what its manifest says."""

    where: str  # the folder or archive, for messages
    manifest: dict[str, Any]  # the parsed manifest, with the keys of model.json among its own
    digest: str  # sha256 of manifest.json, which lists all files
    model_digest: str  # of what acts
    files: dict[str, bytes]  # the listed files by path


def _refuse(where: str, problem: str, fix: str = "copy or export the bundle again") -> BundleError:
    return BundleError(f"{where}: {problem}; {fix}")


def read_checked(path: Path) -> Checked:
    """Read a bundle's folder or .zip and check it.

    Raises:
        BundleError: anything that its PROTOCOL refuses; the message names the file.
    """
    where = str(path)
    sizes, read = _folder(path) if path.is_dir() else _archive(path)
    _check_bytes(sum(sizes.values()), where)
    if REFUSED in sizes and MANIFEST not in sizes:
        raise _refuse(where, f"export refused this model: {_refusal_reason(read(REFUSED))}", "it has no bundle")
    for name in (MANIFEST, SEAL):
        if name not in sizes:
            raise _refuse(where, f"holds no {name}", "give a bundle's folder or .zip")
        if sizes[name] > MAX_MANIFEST_BYTES:
            raise _refuse(where, f"{name} has {sizes[name]} bytes, more than any manifest")
    manifest, digest = _parse_manifest(read(MANIFEST), read(SEAL), where)
    listed = _listed(manifest, where)
    _compare_names(set(sizes) - {MANIFEST, SEAL}, set(listed), where)
    files = {}
    for name, entry in listed.items():
        if sizes[name] != entry["size"]:
            raise _refuse(where, f"{name} has {sizes[name]} bytes, the manifest says {entry['size']}")
        files[name] = read(name)
        if hashlib.sha256(files[name]).hexdigest() != entry["sha256"]:
            raise _refuse(where, f"{name} does not have the sha256 that the manifest states")
    return _assembled(where, manifest, digest, files)


def _folder(path: Path) -> tuple[dict[str, int], Read]:
    """Sizes of a folder's files by path, and what reads one of them."""
    sizes = _scan(path)
    return sizes, lambda name: _read_regular(path / name, sizes[name], name)


def _archive(path: Path) -> tuple[dict[str, int], Read]:
    """The same of a .zip, which is read at once."""
    if not path.exists():
        own = (Path.cwd() / path).is_relative_to(Path.cwd() / BUNDLES)
        made = f"make repro makes those of {BUNDLES}, or " if own else ""
        raise _refuse(str(path), "no such bundle", f"{made}give a bundle's folder or .zip")
    size = path.stat().st_size
    _check_bytes(size, str(path))
    files = read_archive(_read_regular(path, size, path.name), str(path))
    return {name: len(data) for name, data in files.items()}, files.__getitem__


def _check_bytes(size: int, where: str) -> None:
    """Raises BundleError: a bundle is larger than any runtime reads."""
    if size > protocol.MOST_BYTES:
        raise _refuse(where, f"holds {size} bytes, more than {protocol.MOST_BYTES} (1 GiB)")


def _assembled(where: str, manifest: dict[str, Any], digest: str, files: dict[str, bytes]) -> Checked:
    """The documents in one, and the files that its kind has.

    Raises:
        BundleError: the model's document breaks its PROTOCOL, or weights are missing.
    """
    acting = protocol.model_digest(manifest["files"])
    if manifest["model_digest"] != acting:
        raise _refuse(where, f"{MANIFEST} states another model_digest than that of the files it lists")
    manifest = {**manifest, **_acting(files[ACTS], manifest, where)}
    if missing := [name for name in bundling_of(manifest["kind"]).files(manifest["policy"]) if name not in files]:
        raise _refuse(where, f"{MANIFEST} lists no {missing[0]}, which every {manifest['kind']} bundle has")
    return Checked(where, manifest, digest, acting, files)


def _acting(raw: bytes, manifest: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The parsed model.json.

    Raises:
        BundleError: it is too large, no JSON, breaks its schema, or has a key that manifest.json has too.
    """
    if len(raw) > MAX_MANIFEST_BYTES:
        raise _refuse(where, f"{ACTS} has {len(raw)} bytes, more than any model's document")
    found = _parse_json(raw, f"{where}/{ACTS}")
    if isinstance(found, dict) and (both := sorted(set(found) & set(manifest))):
        raise _refuse(where, f"{both[0]!r} stands in {MANIFEST} and in {ACTS}")
    if isinstance(found, dict) and found.get("kind") == "prefetch":
        fix = "use the admission bundle alone, which reads ahead by its own mode"
        raise BundleError(f"{where}: models of kind prefetch are no longer run; {fix}")
    check_document(found, MODEL_SCHEMA, f"{where}/{ACTS}")
    document: dict[str, Any] = found
    return document


def _refusal_reason(raw: bytes) -> str:
    try:
        reason = json.loads(raw)["reason"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return "no reason given"
    return " ".join(str(reason).split())


def _scan(root: Path) -> dict[str, int]:
    """Sizes of all files below a folder, by path; links, devices and empty folders are refused."""
    sizes: dict[str, int] = {}
    pending = [""]
    while pending:
        prefix = pending.pop()
        entries = list(os.scandir(root / prefix))
        if prefix and not entries:
            raise _refuse(str(root), f"{prefix.rstrip('/')} is an empty folder, which no bundle holds")
        for entry in entries:
            name = f"{prefix}{entry.name}"
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                raise _refuse(str(root), f"{name!r} is a symbolic link", "put the file itself there")
            if stat.S_ISDIR(mode):
                pending.append(f"{name}/")
            elif stat.S_ISREG(mode):
                sizes[name] = entry.stat(follow_symlinks=False).st_size
            else:
                raise _refuse(str(root), f"{name!r} is not a plain file")
    return sizes


def _read_regular(path: Path, size: int, name: str) -> bytes:
    """Read a file that must be plain and have exactly `size` bytes, also if it changes meanwhile."""
    try:
        descriptor = os.open(path, OPEN_FLAGS)
        with os.fdopen(descriptor, "rb") as file:
            plain = stat.S_ISREG(os.fstat(descriptor).st_mode)
            data = file.read(size + 1) if plain else b""
    except OSError as error:
        raise _refuse(str(path), f"cannot be read ({error.strerror})") from error
    if not plain or len(data) != size:
        raise _refuse(str(path), f"{name} changed while it was read, or is not a plain file")
    return data


def _parse_manifest(raw: bytes, sealed: bytes, where: str) -> tuple[dict[str, Any], str]:
    manifest = _parse_json(raw, f"{where}/{MANIFEST}")
    found = manifest.get("PROTOCOL") if isinstance(manifest, dict) else None
    if type(found) is not int or found != protocol.PROTOCOL:
        problem = f"{MANIFEST} has PROTOCOL {found!r}; this release reads {protocol.PROTOCOL}"
        raise _refuse(where, problem, "use a release that knows it")
    digest = hashlib.sha256(raw).hexdigest()
    if sealed != protocol.seal(digest):
        raise _refuse(where, f"{MANIFEST} does not have the sha256 that {SEAL} states")
    check_document(manifest, MANIFEST_SCHEMA, f"{where}/{MANIFEST}")
    return manifest, digest


def _parse_json(raw: bytes, where: str) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return read_json(raw)
    except (ValueError, RecursionError) as error:
        raise _refuse(where, f"not readable as JSON ({one_line(error)})") from error


def _listed(manifest: Mapping[str, Any], where: str) -> dict[str, dict[str, Any]]:
    """The manifest's file list by path."""
    listed: dict[str, dict[str, Any]] = {}
    for entry in manifest["files"]:
        name = entry["path"]
        if FILE_NAME.fullmatch(name) is None:
            raise _refuse(where, f"{MANIFEST} lists the path {name!r}, which leaves the bundle or is not portable")
        if name in listed or name in (MANIFEST, SEAL):
            raise _refuse(where, f"{MANIFEST} lists {name} twice or lists itself")
        listed[name] = entry
    if missing := [name for name in protocol.REQUIRED if name not in listed]:
        raise _refuse(where, f"{MANIFEST} lists no {missing[0]}, which every bundle has")
    return listed


def _compare_names(found: set[str], listed: set[str], where: str) -> None:
    if missing := sorted(listed - found):
        raise _refuse(where, f"{missing[0]} is missing")
    if extra := sorted(found - listed):
        raise _refuse(where, f"{extra[0]!r} is not listed in {MANIFEST}", "remove it or export the bundle again")


def archive_bytes(files: Mapping[str, bytes]) -> bytes:
    """The archive of a bundle's files (all of them, manifest and seal included)."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.create_system = UNIX
            entry.external_attr = MODE
            archive.writestr(entry, files[name])
    return buffer.getvalue()


def read_archive(data: bytes, where: str) -> dict[str, bytes]:
    """Files of an archive that `archive_bytes` made.

    Raises:
        BundleError: damaged, or not the one archive of its files.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            stored = all(entry.compress_type == zipfile.ZIP_STORED for entry in entries)
            bounded = sum(entry.file_size for entry in entries) <= len(data)
            files = {entry.filename: archive.read(entry) for entry in entries} if stored and bounded else {}
    except (zipfile.BadZipFile, struct.error, ValueError, RuntimeError, EOFError, OSError, KeyError) as error:
        raise BundleError(f"{where}: not a readable zip ({one_line(error)}); copy or export it again") from error
    if len(files) != len(entries) or archive_bytes(files) != data:
        message = f"{where}: not the one archive of its files; unpack it and load the folder, or export it again"
        raise BundleError(message)
    return files
