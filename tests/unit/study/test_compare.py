import json
from pathlib import Path
from typing import Any

import pytest

from cachezoo.errors import ConfigError
from cachezoo.study.compare import compare, lines
from tests.command_line import run
from tests.study_data import made_search, made_study, row


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(first: dict[str, Any], second: dict[str, Any]) -> tuple[Path, Path]:
    paths = Path("a.json"), Path("b.json")
    for path, found in zip(paths, (first, second), strict=True):
        path.write_text(json.dumps(found))
    return paths


def test_settings_are_compared_by_the_seeds_that_both_have() -> None:
    second = [row({}, [0.15, 0.4, 0.35], changed=False), row({"fit.caching.batch": "8"}, [0.1, 0.2, 0.25])]
    found = compare(*files(made_study(), made_study(second)))
    kept, other = found["categories"]["web"]["settings"]
    assert (kept["setting"], other["setting"]) == ("params.yaml", "fit.caching.batch=8")
    assert set(kept["figures"]) == {"choosing", "judging", "test web_test"} and set(other["figures"]) == {"choosing"}
    assert kept["figures"]["test web_test"]["mean"] == pytest.approx(0.2)
    assert not kept["figures"]["choosing"]["apart"]
    own = other["figures"]["choosing"]
    assert own["paired"] and own["apart"] and own["mean"] == pytest.approx(-1 / 12)
    assert own["means"] == pytest.approx([0.8 / 3, 0.55 / 3])
    assert found["categories"]["web"]["alone"] == [[], []]
    assert all(not entries for entries in found["differ"].values())


def test_seeds_count_from_that_of_the_study() -> None:
    rows = [row({}, [0.3, 0.4, 0.5], changed=False)]
    own = compare(*files(made_study(), made_study(rows, seed=9)))["categories"]["web"]["settings"][0]["figures"]
    assert (own["choosing"]["paired"], own["choosing"]["seeds"]) == (False, 3)  # seed 9 alone is in both
    own = compare(*files(made_study(), made_study(rows, seed=8)))["categories"]["web"]["settings"][0]["figures"]
    assert (own["choosing"]["paired"], own["choosing"]["seeds"]) == (True, 2)
    assert own["choosing"]["mean"] == pytest.approx(0.1)
    few = row({}, [0.2, 0.3], changed=False, trained=[1, 2])
    own = compare(*files(made_study(), made_study([few])))["categories"]["web"]["settings"][0]["figures"]
    assert own["choosing"]["mean"] == 0


def test_the_setting_of_params_yaml_is_found_under_another_name_and_what_one_alone_has_is_named() -> None:
    rows = [row({"fit.caching.batch": "4"}, [0.1, 0.1]), row({"fit.caching.batch": "16"}, [0.1, 0.2], changed=False)]
    found = compare(*files(made_study(), made_study(rows)))["categories"]["web"]
    assert [one["setting"] for one in found["settings"]] == ["params.yaml / fit.caching.batch=16"]
    assert found["alone"] == [["fit.caching.batch=8"], ["fit.caching.batch=4"]]


def test_what_the_studies_were_made_from_is_compared() -> None:
    first = made_study()
    made = {
        "params": {"fit.caching": {"batch": 32, "max_epochs": 6}}, "data": {"data/requests/web/b.parquet": "12"},
        "sources": {"src/cachezoo/one.py": "35"}, "libraries": {"torch": "2.13.0"},
    }  # fmt: skip
    said = list(lines(compare(*files(first, made_study(made_from=made)))))
    assert said[3:] == [
        "params.yaml: 1 differs: fit.caching.batch 16 -> 32",
        "data: 2 differ: data/requests/web/a.parquet (only A), data/requests/web/b.parquet (only B)",
        "sources: 1 differs: src/cachezoo/one.py (changed)",
        "libraries: the same",
        "Of 4 differences about 0.4 would leave out 0 by chance alone.",
    ]


def test_differences_without_an_interval_are_not_counted_as_such_that_may_leave_out_0() -> None:
    few = row({"fit.caching.batch": "8"}, [0.2, 0.3], trained=[1, 2])
    second = made_study([row({}, [0.1, 0.2, 0.3], changed=False), {**few, "trained": [2], "choosing": {"each": [0.3]}}])
    assert list(lines(compare(*files(made_study(), second))))[-1].startswith("Of 3 differences about 0.3 ")


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (
            made_study(system="reuse"),
            r"b\.json: is a study of reuse, and a\.json of caching; compare two of one system",
        ),
        (made_study(categories={"mail": []}), r"b\.json: is of mail, and a\.json of web; compare two with a category"),
        ({"system": "caching"}, r"b\.json: seed: Field required; write it anew with `cachezoo models study -o`"),
        (made_study([row({}, [0.1, 0.2], trained=[0])]), r"b\.json: categories\.web\.0: .* another number of figures"),
    ],
)
def test_what_cannot_be_compared_is_named(second: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        compare(*files(made_study(), second))


def test_the_command_prints_a_table_or_json_writes_both_and_draws(folder: Path) -> None:
    paths = files(made_study(), made_search())
    shown = run("models", "study", "compare", *paths).stdout
    assert "not paired" in shown and "only A has it" in shown and "libraries: the same" in shown
    found = json.loads(run("models", "study", "compare", *paths, "--json", "-o", "c.json", "-o", "c.png").stdout)
    assert found == json.loads((folder / "c.json").read_text()) == compare(*paths)
    drawn = (folder / "c.png").read_bytes()
    run("models", "study", "compare", *paths, "-o", "c.png")
    assert drawn.startswith(b"\x89PNG") and (folder / "c.png").read_bytes() == drawn


def test_an_option_before_compare_is_refused() -> None:
    done = run("models", "study", "--seeds", "3", "compare", *files(made_study(), made_study()), ok=False)
    assert done.stderr == "cachezoo: study compare: takes its options after its name\n"
