"""The classics' freedoms: every way is a cache that runs, once, and none is a default under another name."""

import pytest

from cachezoo.errors import ConfigError
from cachezoo.policies.registry import classics, policy
from cachezoo.policies.tuned import tuned_classics
from cachezoo.settings.page_cache import ClassicsPolicy
from tests.rcrnn_data import PARAMS


def asked(**changes: object) -> ClassicsPolicy:
    return ClassicsPolicy(**{"values": {}, "admissions": [], "evictions": [], **changes})


def test_every_combination_once_and_no_default() -> None:
    found = tuned_classics(
        asked(values={"s3fifo": {"small": [0.1, 0.5], "promote": [1, 2]}}, admissions=["bloom", "rejectx"],
              evictions=["lru", "arc"])
    )  # fmt: skip
    assert found == [
        "s3fifo(promote=1)", "s3fifo(small=0.5, promote=1)", "s3fifo(small=0.5)", "bloom+lru", "bloom+arc",
        "rejectx+arc",
    ]  # fmt: skip


def test_the_classics_have_at_least_the_freedoms_of_the_caching_model() -> None:
    found = tuned_classics(PARAMS.policy.classics)
    assert len(set(found)) == len(found) and not set(found) & set(classics())
    assert all(policy(text).id == text for text in found)
    manager, label = PARAMS.policy.manager, PARAMS.label.benefit
    oracles = len(label.horizons) + 1
    candidates = oracles * len(manager.on_hit) * len(manager.queues) * PARAMS.judge.caching.thresholds
    assert len(classics()) + len(found) >= candidates


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"values": {"lrb": {"window": [1]}}}, "lrb is no classic"),
        ({"values": {"clock": {"bits": [9]}}}, "bits"),
        ({"values": {"clock": {"hands": [2]}}}, "hands"),
        ({"admissions": ["reject"], "evictions": ["lru"]}, "reject"),
        ({"admissions": ["bloom"], "evictions": ["lrb"]}, "lrb is no classic's eviction"),
        ({"admissions": ["bloom"], "evictions": ["lru+next(n=4)"]}, "is no classic's eviction"),
        ({"admissions": ["bloom"], "evictions": ["belady"]}, "belady is no classic's eviction"),
        ({"admissions": ["bloom+arc"], "evictions": ["lru"]}, "is more than an admission"),
    ],
)
def test_what_there_is_not_is_refused(changes: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        tuned_classics(asked(**changes))
