"""The names of placements, in every table and file."""

from typing import Literal

Kind = Literal["legacy", "baseline", "fios", "ours", "forest", "online", "hindsight", "bound"]

LEGACY = "legacy"
"""One stream for all."""
EQUAL = "equal"
AUTOSTREAM = "autostream"
SEPBIT = "sepbit"
"""The drive itself places."""
FIOS = "fios"
LIFETIME = "lifetime"
"""By a forest that predicts a page write's lifetime."""
ONLINE = "online"
"""By a dictionary that is learned anew each cycle."""
BUNDLE = "bundle"
ORACLE = "oracle"
"""By the true lifetimes."""
