"""Names and limits of bundle PROTOCOL 1; `docs/bundles.md` says what each file holds.

The number is raised when a reader of the old number would misread a new bundle: a field changes its meaning
or unit, a required field or file goes away, a feature formula changes what it computes. It stays when fields
or files are only added that old readers may ignore. A reader of an old number is kept, with a test.
"""

import re

PROTOCOL = 1
READABLE = (1,)

MANIFEST = "manifest.json"
SEAL = "manifest.sha256"
REFUSED = "REFUSED.json"
MODEL = "model.onnx"
CARD = "card.md"
GOLDEN_REQUESTS = "golden/requests.csv"
GOLDEN_FEATURES = "golden/features.npy"
GOLDEN_OUTPUTS = "golden/outputs.npy"
GOLDEN_DECISIONS = "golden/decisions.npy"
REQUIRED = (MODEL, CARD, GOLDEN_REQUESTS, GOLDEN_FEATURES, GOLDEN_OUTPUTS, GOLDEN_DECISIONS)

MAX_MANIFEST_BYTES = 16 << 20
FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")


def seal(digest: str) -> bytes:
    """Content of `manifest.sha256`, in the form that `sha256sum -c` takes."""
    return f"{digest}  {MANIFEST}\n".encode("ascii")


def one_line(error: Exception) -> str:
    """The first line of an error's text, cut to a readable length."""
    lines = str(error).strip().splitlines()
    return lines[0][:120] if lines else type(error).__name__
