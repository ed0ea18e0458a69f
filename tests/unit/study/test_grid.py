import shutil
from pathlib import Path

import pytest

from cachezoo.errors import ConfigError
from cachezoo.study.depends import Pipeline
from cachezoo.study.grid import axis, grid
from cachezoo.study.run import studied_categories, studied_system

ROOT = Path(__file__).resolve().parents[3]


def test_values_are_parted_by_commas_outside_of_brackets() -> None:
    assert axis("fit.caching.max_epochs=3,6") == ("fit.caching.max_epochs", ["3", "6"])
    assert axis("policy.manager.on_hit=[stay],[stay,requeue]") == (
        "policy.manager.on_hit",
        ["[stay]", "[stay,requeue]"],
    )
    assert axis("model/caching=lstm_small") == ("model.caching", ["lstm_small"])


@pytest.mark.parametrize("text", ["", "fit.caching.batch", "=3", "fit.caching.batch=", "a.b=1,,2", "a.b=1,1"])
def test_what_is_no_axis_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match=r"--set .*: is not KEY=VALUE"):
        axis(text)


def test_a_grid_has_every_combination_and_knows_the_setting_of_params_yaml() -> None:
    settings = grid(ROOT, ["fit.caching.max_epochs=6,3", "model.caching=lstm3x256,lstm_small"])
    assert [(one.params.fit.caching.max_epochs, one.params.model.caching.arch) for one in settings] == [
        (6, "lstm3x256"), (6, "lstm_small"), (3, "lstm3x256"), (3, "lstm_small"),
    ]  # fmt: skip
    as_it_is = [one for one in settings if not one.changed]
    arch = grid(ROOT, [])[0].params.model.caching.arch
    assert [one.params.model.caching.arch for one in as_it_is] == [arch]
    assert as_it_is[0].name == f"fit.caching.max_epochs=6 model.caching={arch} (params.yaml)"
    three = next(one for one in settings if one.params.model.caching.arch == arch and one is not as_it_is[0])
    assert three.changed == {"fit.caching.max_epochs"}
    assert [one.name for one in grid(ROOT, [])] == ["params.yaml"]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["fit.caching.batch=8", "fit.caching.batch=16"], "holds a key twice"),
        (["fit.caching.bunch=8"], r"--set fit\.caching\.bunch: params\.yaml has no such key.*fit\.caching\.batch"),
        (["batch=8"], r"the nearest are .*fit\.caching\.batch"),
        (["qqqqq=1"], r"^--set qqqqq: params\.yaml has no such key, and conf/ no such group; params\.yaml lists them$"),
        (["fit.caching.batch=-1"], r"fit\.caching\.batch"),
        (["model.caching=lstm9"], "lstm9"),
    ],
)
def test_a_key_or_value_that_there_is_not_is_named(texts: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        grid(ROOT, texts)


def test_a_params_yaml_that_is_not_what_conf_says_is_refused(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    shutil.copy(ROOT / "params.yaml", tmp_path)
    assert len(grid(tmp_path, [])) == 1
    fit = tmp_path / "conf/fit/caching.yaml"
    fit.write_text(fit.read_text().replace("batch: 16", "batch: 32"))
    with pytest.raises(ConfigError, match=r"params\.yaml: is not what conf/ says; run `make repro`"):
        grid(tmp_path, [])


@pytest.mark.parametrize(
    ("system", "change", "said"),
    [
        ("caching", "label.benefit.oracle=belady", "earlier stages read it too"),
        ("caching", "features.sequence.clip=5.0", "earlier stages read it too"),
        ("caching", "fit.admission.threads=1", "neither fit nor judge of caching takes it"),
        ("caching", "seed=7", "neither fit nor judge of caching takes it"),
        ("caching", "fit.caching.batch=8", ""),
        ("caching", "policy.manager.on_hit=[requeue]", ""),
        ("admission", "fit.admission.open_weight=0.5", ""),
    ],
)
def test_only_what_the_fit_or_the_judge_alone_reads_is_studied(system: str, change: str, said: str) -> None:
    (setting,) = grid(ROOT, [change])
    assert setting.changed
    pipeline = Pipeline(ROOT, studied_system(system))
    if not said:
        pipeline.check("web", setting)
        return
    with pytest.raises(ConfigError, match=f"--set {change.split('=')[0]}: {said}"):
        pipeline.check("web", setting)


def test_systems_and_categories_that_there_are_not_are_named() -> None:
    params = grid(ROOT, [])[0].params
    caching, workload = studied_system("caching"), studied_system("workload")
    assert studied_categories(caching, ["web", "web"], params) == ["web"]
    assert studied_categories(caching, [], params) == ["database", "fileserver", "mail", "web"]
    assert studied_categories(workload, [], params) == [""]
    assert studied_categories(studied_system("streams"), [], params) == [
        "database",
        "fileserver",
        "ledger",
        "mail",
        "spool",
        "web",
    ]
    with pytest.raises(ConfigError, match="--category blob: caching has models of database"):
        studied_categories(caching, ["blob"], params)
    with pytest.raises(ConfigError, match="of all categories; leave it out"):
        studied_categories(workload, ["web"], params)
    with pytest.raises(ConfigError, match="--system heating: cannot be studied; caching, reuse, admission"):
        studied_system("heating")
