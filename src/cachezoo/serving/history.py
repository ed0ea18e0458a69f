"""What kinds that look at the access history have in common: admission and prefetch."""

from collections.abc import Mapping, Sequence
from typing import Any

from cachezoo.errors import ConfigError
from cachezoo.serving.forest import Forest, ForestSession, read_forest
from cachezoo.serving.kind import BLOCK, FULL, State
from cachezoo.serving.ranges import Sizes

NAMED = ("code.namespace", "code.user")  # formulas that read names which a block device does not know
SIZES: Sizes = {
    "geometry.block_bytes": (512, 1 << 40),
    "geometry.segment_bytes": (512, 1 << 40),
    "policy.history.bucket_requests": (1, 1 << 40),
    "policy.history.windows[]": (1, 1 << 12),
}
KINDS, COUNT_BYTES, BUCKET_BYTES, KEY_BYTES = 2, 2, 8, 8


def open_forests(manifest: Mapping[str, Any], files: Mapping[str, bytes], names: Sequence[str]) -> ForestSession:
    """The forests of a bundle, a column for each.

    Raises:
        ValueError: a file is not a forest of the manifest's inputs.
    """
    found: list[Forest] = []
    for name in names:
        try:
            found.append(read_forest(files[name], len(manifest["features"])))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    return ForestSession(found)


def profile(manifest: Mapping[str, Any]) -> str:
    """`full` where an input is a namespace's or a user's code."""
    return FULL if any(feature["formula"] in NAMED for feature in manifest["features"]) else BLOCK


def state(manifest: Mapping[str, Any]) -> State:
    """Two rings of counts, the newest bucket and the key, of each block and each segment; the request's number."""
    depth = manifest["policy"]["history"]["windows"][-1]
    return State(KEY_BYTES, KINDS * depth * COUNT_BYTES + BUCKET_BYTES + KEY_BYTES, "block or segment")


def check(manifest: Mapping[str, Any]) -> None:
    """Rules between values.

    Raises:
        ConfigError: windows that do not rise, an encoding that no input reads, or codes that stand twice.
    """
    windows = manifest["policy"]["history"]["windows"]
    if sorted(set(windows)) != windows:
        raise ConfigError(f"policy.history.windows {windows} do not rise")
    for column, codes in manifest["encodings"].items():
        if len(set(codes.values())) < len(codes):
            raise ConfigError(f"encodings.{column}: two names have one code")
    for feature in manifest["features"]:
        wanted = "ordinal" if feature["formula"] in NAMED else "number"
        if feature["encoding"] != wanted:
            raise ConfigError(f"feature {feature['name']}: its encoding is {feature['encoding']}, not {wanted}")
