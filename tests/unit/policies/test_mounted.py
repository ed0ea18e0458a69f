import pytest

from cachezoo.errors import ConfigError
from cachezoo.policies.mounted import EVICTIONS, missing, mounted
from cachezoo.policies.registry import POLICIES
from cachezoo.policies.spec import parse


def test_what_a_mounted_cache_runs_is_said_by_name() -> None:
    for eviction in EVICTIONS:
        assert missing(parse(eviction.id)) is None
        assert str(mounted(f"rejectx+{eviction.id}+next")).startswith("rejectx")
    for one in POLICIES.values():
        if one.spec is None or one.spec.is_follower or one.kind == "online":
            assert missing(parse(one.id)) == one.id
    assert missing(parse("bloom+arc+next")) == "bloom"


@pytest.mark.parametrize("text", ["marc", "belady", "vrm", "learned"])
def test_what_it_does_not_run_is_refused_in_a_line(text: str) -> None:
    with pytest.raises(ConfigError, match=f"{text}.* (runs in the simulator alone|is unknown)") as caught:
        mounted(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["lfu", "rejectx+lfu+next"])
def test_lfu_is_refused_for_what_it_remembers_as_runtimes_run_it_by_its_text(text: str) -> None:
    with pytest.raises(ConfigError, match=r"lfu counts every page ever seen.*cachezoo serve run it") as caught:
        mounted(text)
    assert "simulator alone" not in str(caught.value) and "\n" not in str(caught.value)
