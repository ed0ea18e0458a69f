from pathlib import Path

import yaml
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.flash_cache.problem import label_of, meet_budget
from cachezoo.settings.flash import EpisodeLabel


@given(st.lists(st.integers(0, 50), min_size=1, max_size=200), st.integers(1, 3000), st.integers(-1, 250))
def test_meets_the_budget_or_stays_below(steps: list[int], budget: int, guess: int) -> None:
    writes = [0]
    for step in steps:
        writes.append(writes[-1] + step)
    found = meet_budget(writes.__getitem__, len(steps), budget, 0.025, guess)
    assert writes[found.index] == found.writes
    within = [abs(w - budget) <= 0.025 * budget for w in writes]
    assert found.reached == within[found.index]
    if not found.reached:
        assert not any(within)
        assert found.writes == max(w for w in writes if w <= budget)
        above = meet_budget(writes.__getitem__, len(steps), budget, 0.025, guess, at_least=True)
        assert above.writes == min((w for w in writes if w > budget), default=found.writes)


CONF = Path(__file__).parents[3] / "conf"


def test_a_category_may_have_its_own_geometry() -> None:
    label = EpisodeLabel.model_validate(yaml.safe_load((CONF / "label/episodes.yaml").read_text(encoding="utf-8")))
    blob = label_of(label, "blob")
    assert (blob.block_bytes, blob.segment_bytes) == (8 << 20, 128 << 10)
    assert blob.model_copy(update={"block_bytes": label.block_bytes, "segment_bytes": label.segment_bytes}) == label
    assert label_of(label, "web") is label
