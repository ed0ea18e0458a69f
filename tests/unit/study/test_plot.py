from pathlib import Path
from xml.etree import ElementTree

import pytest

from cachezoo.io import write_json
from cachezoo.study.compare import compare
from cachezoo.study.plot import draw_comparison, draw_study, wrapped
from cachezoo.study.summary import spread
from tests.study_data import made_search, made_study, row


def test_a_name_is_in_short_lines_of_the_last_parts_of_its_keys() -> None:
    assert wrapped("params.yaml") == "params.yaml"
    assert wrapped("fit.caching.batch=16 (params.yaml)") == "batch=16 (params.yaml)"
    assert wrapped("fit.caching.batch=16 model.caching=lstm3x256") == "batch=16 caching=lstm3x256"
    long = wrapped("model.admission.learning_rate=0.2407 model.admission.num_leaves=46 fit.admission.open_weight=0.0")
    assert long == "learning_rate=0.2407\nnum_leaves=46 open_weight=0.0"


@pytest.mark.parametrize("search", [False, True])
def test_a_study_is_drawn_the_same_each_time(tmp_path: Path, search: bool) -> None:
    none = row({"fit.caching.batch": "999"}, [0.1, 0.2])
    none["choosing"] = {"mean": None, "sd": None, "median": None, "low": None, "high": None, "each": []}
    found = made_search() if search else made_study([*made_study()["categories"]["web"], none])
    for name in ("one.png", "two.png", "one.svg", "two.svg"):
        draw_study(found, tmp_path / name)
    first = (tmp_path / "one.png").read_bytes()
    assert first.startswith(b"\x89PNG") and first == (tmp_path / "two.png").read_bytes()
    drawn = (tmp_path / "one.svg").read_text()
    assert ElementTree.fromstring(drawn).tag.endswith("svg") and drawn == (tmp_path / "two.svg").read_text()


def test_one_seed_is_drawn_without_an_interval_and_said_to_have_none(tmp_path: Path) -> None:
    found = {**made_study([row({}, [0.1, 0.2]) | {"choosing": spread([0.1])}]), "seeds": 1}
    draw_study(found, tmp_path / "one.svg")
    assert "one seed, which has no interval" in (tmp_path / "one.svg").read_text()


def test_two_equal_studies_are_said_to_be_equal(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", made_study())
    write_json(tmp_path / "b.json", made_study())
    draw_comparison(compare(tmp_path / "a.json", tmp_path / "b.json"), tmp_path / "equal.svg")
    assert "no difference in any seed" in (tmp_path / "equal.svg").read_text()
