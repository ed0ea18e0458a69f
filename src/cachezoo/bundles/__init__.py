"""Bundles: what a cache runtime loads and can verify.

`load` and `verify` need numpy and onnxruntime alone; writers live in `cachezoo.bundles.writer`.
"""

from cachezoo.bundles.reader import Bundle, load
from cachezoo.bundles.verify import verify

__all__ = ["Bundle", "load", "verify"]
