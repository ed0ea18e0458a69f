"""The one list of partitioners."""

from cachezoo.sharing.lru import EQUAL, HINDSIGHT, PROPORTIONAL, STATIC_BEST, UCP
from cachezoo.sharing.virtual import GVPA
from cachezoo.sharing.whole import SHARED

PARTITIONERS = (GVPA, EQUAL, PROPORTIONAL, STATIC_BEST, SHARED, UCP, HINDSIGHT)
