"""A bundle's files with every checksum made true again: damage that no checksum shows."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cachezoo.bundles.protocol import MANIFEST, SEAL, model_digest, seal


def files_of(folder: Path) -> dict[str, bytes]:
    """The files of a bundle's folder, by path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def sealed(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files with every size and checksum true again, as far as the manifest can be read."""
    raw = files.get(MANIFEST, b"")
    try:
        manifest: Any = json.loads(raw)
        for entry in manifest["files"]:
            if (data := files.get(entry["path"])) is not None:
                entry["sha256"], entry["size"] = hashlib.sha256(data).hexdigest(), len(data)
        if "model_digest" in manifest:
            manifest["model_digest"] = model_digest(manifest["files"])
        raw = json.dumps(manifest, sort_keys=True).encode()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass  # a manifest that lists no files is sealed as it is
    return with_seal({**files, MANIFEST: raw})


def with_seal(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files with the seal of the manifest as it is."""
    return {**files, SEAL: seal(hashlib.sha256(files.get(MANIFEST, b"")).hexdigest())}
