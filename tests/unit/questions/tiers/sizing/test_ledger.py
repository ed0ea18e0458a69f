"""Points that are done outlive the process, and those of another trace are refused."""

import pytest

from cachezoo.errors import ConfigError
from cachezoo.questions.tiers.sizing.ledger import Ledger, digest
from cachezoo.questions.tiers.sizing.points import Point
from tests.page_data import seeded_trace

POINT = Point("lru | lru", 3, 5)


def test_a_ledger_is_read_again_and_a_line_cut_off_is_dropped(tmp_path):
    path = tmp_path / "points.jsonl"
    Ledger(path, {"trace": "a"}).put(POINT, {"x": 0.1})
    before = path.read_bytes()
    path.write_bytes(before + b'["lru | lr')
    again = Ledger(path, {"trace": "a"})
    assert len(again) == 1 and again.get(POINT) == {"x": 0.1} and again.get(Point("lru", 3, 0)) is None
    again.put(Point("lru", 3, 0), {"x": 2})
    assert path.read_bytes().startswith(before)
    assert len(Ledger(path, {"trace": "a"})) == 2


def test_without_a_path_points_are_kept_in_memory():
    ledger = Ledger(None, {})
    ledger.put(POINT, {"x": 1})
    assert ledger.get(POINT) == {"x": 1}


@pytest.mark.parametrize(
    "content", ["nothing\n", "{}\n", '{"kind": "other", "what": {}}\n', '{"kind": "cachezoo size", "what": {}}\n[1]\n']
)
def test_another_file_is_refused_by_its_name(tmp_path, content):
    path = tmp_path / "points.jsonl"
    path.write_text(content)
    with pytest.raises(ConfigError, match=r"points\.jsonl: no file of"):
        Ledger(path, {})
    assert path.read_text() == content


def test_points_of_another_trace_are_refused(tmp_path):
    path = tmp_path / "points.jsonl"
    Ledger(path, {"trace": "a", "device": 1})
    with pytest.raises(ConfigError, match="another trace"):
        Ledger(path, {"trace": "b", "device": 1})


def test_the_digest_tells_traces_apart():
    one = seeded_trace(50, 20, 1)
    assert digest(one) == digest(seeded_trace(50, 20, 1)) != digest(seeded_trace(50, 20, 2))
