"""The one list of systems."""

from cachezoo.questions.targets.bcache import BCACHE
from cachezoo.questions.targets.dm_cache import DM_CACHE
from cachezoo.questions.targets.nbdkit import NBDKIT
from cachezoo.questions.targets.open_cas import OPEN_CAS
from cachezoo.questions.targets.target import Target
from cachezoo.questions.targets.zfs import ZFS

TARGETS: dict[str, Target] = {own.id: own for own in (BCACHE, DM_CACHE, OPEN_CAS, ZFS, NBDKIT)}
