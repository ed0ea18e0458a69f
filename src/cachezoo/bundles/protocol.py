"""Names and limits of bundles; `docs/bundles.md` says what each file holds.

The number is raised when a reader of the old number would misread a new bundle: a field changes its meaning
or unit, a required field or file goes away, a feature formula changes what it computes. It stays when fields
or files are only added that old readers may ignore. A bundle of another number is refused.

A bundle has two documents: `model.json` is what acts, `manifest.json` who the model is and what was measured of it.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

PROTOCOL = 2

MANIFEST = "manifest.json"
SEAL = "manifest.sha256"
REFUSED = "REFUSED.json"
ACTS = "model.json"
CARD = "card.md"
GOLDEN = "golden"
SYNTHETIC = "golden/synthetic"
GOLDEN_FILES = ("requests.csv", "features.npy", "outputs.npy", "decisions.npy")
GOLDEN_REQUESTS, GOLDEN_FEATURES, GOLDEN_OUTPUTS, GOLDEN_DECISIONS = (f"{GOLDEN}/{name}" for name in GOLDEN_FILES)
REQUIRED = (ACTS, CARD, GOLDEN_REQUESTS, GOLDEN_FEATURES, GOLDEN_OUTPUTS, GOLDEN_DECISIONS)
# Keys of the model's document; all others are the manifest's.
ACTING = (
    *("kind", "category", "profile", "conformance", "arch", "features", "encodings"),
    *("geometry", "calibration", "policy", "golden"),
)

MAX_MANIFEST_BYTES = 16 << 20
MOST_BYTES = 1 << 30  # of all files
FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")


def seal(digest: str) -> bytes:
    """Content of `manifest.sha256`, in the form that `sha256sum -c` takes."""
    return f"{digest}  {MANIFEST}\n".encode("ascii")


def model_digest(files: Iterable[Mapping[str, Any]]) -> str:
    """sha256 of what acts: of the lines that `sha256sum` prints of every listed file but the card, by path.

    Args:
        files: entries of the manifest, with `path` and `sha256`.
    """
    acting = sorted((entry["path"].encode(), entry["sha256"]) for entry in files if entry["path"] != CARD)
    return hashlib.sha256(b"".join(f"{digest}  ".encode() + path + b"\n" for path, digest in acting)).hexdigest()


def one_line(error: Exception) -> str:
    """The first line of an error's text, cut to a readable length."""
    lines = str(error).strip().splitlines()
    return lines[0][:120] if lines else type(error).__name__
