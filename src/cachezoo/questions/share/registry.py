"""The one list of partitioners."""

from cachezoo.questions.share.lru import EQUAL, HINDSIGHT, PROPORTIONAL, STATIC_BEST, UCP
from cachezoo.questions.share.virtual import GVPA
from cachezoo.questions.share.whole import SHARED

PARTITIONERS = (GVPA, EQUAL, PROPORTIONAL, STATIC_BEST, SHARED, UCP, HINDSIGHT)
