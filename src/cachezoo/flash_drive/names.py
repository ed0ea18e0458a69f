"""The names of placements, in every table and file."""

from typing import Literal

Kind = Literal["legacy", "baseline", "drive", "fios", "ours", "forest", "online", "hindsight", "bound"]

LEGACY = "legacy"
"""One stream for all."""
EQUAL = "equal"
AUTOSTREAM = "autostream"
"""AutoStream's SFR."""
MULTIQ = "multiq"
"""AutoStream's MQ."""
SEPBIT = "sepbit"
DAC = "dac"
SFS = "sfs"
MULTILOG = "multilog"
MIDA = "mida"
WARCIP = "warcip"
FORESIGHT = "foresight"
"""A small model in the drive that learns as it goes."""
FIOS = "fios"
LIFETIME = "lifetime"
"""By a forest that predicts a page write's lifetime."""
ONLINE = "online"
"""By a dictionary that is learned anew each cycle."""
BUNDLE = "bundle"
ORACLE = "oracle"
"""By the true lifetimes."""
FUTURE = "fk"
"""The drive places, by the true lifetimes."""

BY_DRIVE = (SEPBIT, DAC, SFS, MULTILOG, MIDA, WARCIP, FORESIGHT)
"""The drive itself places, its copies too. No host can choose that for a drive: it is built in, or it is not."""
BOUNDS = (ORACLE, FUTURE)
"""What knows the future, so that nobody can run it."""
