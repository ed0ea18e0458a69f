from pathlib import Path

import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from cachezoo.errors import ConfigError
from cachezoo.study.grid import Axis, Settings, corners, drawn, grid, here, space

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def settings() -> Settings:
    return Settings(ROOT)


def test_ranges_and_lists_know_what_params_yaml_has(settings: Settings) -> None:
    now = settings.params.fit.caching
    texts = [
        "fit.caching.learning_rate=1e-4..1e-1:log", "fit.caching.max_epochs=3..12", "fit.caching.hit_weight=0.5..2",
        "fit.caching.batch=8,16", "model/caching=lstm3x256,lstm_small", "policy.manager.on_hit=[stay],[requeue]",
    ]  # fmt: skip
    found = space(settings, texts, 20)
    arch = settings.params.model.caching.arch
    assert found == [
        Axis("fit.caching.learning_rate", FloatDistribution(1e-4, 1e-1, log=True), now.learning_rate),
        Axis("fit.caching.max_epochs", IntDistribution(3, 12), now.max_epochs),
        Axis("fit.caching.hit_weight", FloatDistribution(0.5, 2.0), now.hit_weight),
        Axis(
            "fit.caching.batch", CategoricalDistribution(("8", "16")), str(now.batch) if now.batch in (8, 16) else None
        ),
        Axis("model.caching", CategoricalDistribution(("lstm3x256", "lstm_small")), arch),
        Axis("policy.manager.on_hit", CategoricalDistribution(("[stay]", "[requeue]")), "[stay]"),
    ]
    asked = here(found)
    assert asked is not None and not settings.of(drawn(found, asked)).changed
    assert here(space(settings, ["fit.caching.learning_rate=0.1..0.5"], 20)) is None


def test_a_drawn_number_has_four_figures_and_stays_in_its_range() -> None:
    rate = Axis("a", FloatDistribution(0.00012346, 0.5, log=True), 0.0012345)
    assert [rate.text(value) for value in (0.33333333, 0.00012346, 0.0012345)] == ["0.3333", "0.0001235", "0.0012345"]
    assert Axis("a", FloatDistribution(1.00004, 2.0), None).text(1.00004) == "1.00004"
    assert Axis("a", FloatDistribution(1e-5, 1.0, log=True), None).text(1.23456e-5) == "1.235e-05"
    assert Axis("a", IntDistribution(3, 12), None).text(7) == "7"


def test_a_small_number_reaches_params_yaml_as_a_number(settings: Settings) -> None:
    assert settings.of({"fit.caching.learning_rate": "1.235e-05"}).params.fit.caching.learning_rate == 1.235e-05


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([], "--optimize: nothing to choose from"),
        (["fit.caching.batch=8.."], r"--set fit\.caching\.batch=8\.\.: is no range; write KEY=LOW\.\.HIGH"),
        (["fit.caching.batch=a..b"], "is no range"),
        (["fit.caching.batch=8..16,32"], "is no range"),
        (["fit.caching.batch=8..16:exp"], "is no range"),
        (["fit.caching.batch=8..inf"], "is no range"),
        (["fit.caching.batch=16..8"], "from a lower number to a higher one$"),
        (["fit.caching.hit_weight=0..1:log"], "to a higher one, above 0 if it is :log"),
        (["fit.caching.batch=8..16", "fit.caching.batch=8,16"], "holds a key twice"),
        (["fit.caching.batch=8,16", "fit.caching.max_epochs=3..6"], "there are 8 settings, --trials is 20; list all"),
    ],
)
def test_what_cannot_be_searched_is_named(settings: Settings, texts: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        space(settings, texts, 20)


def test_an_end_of_a_range_that_params_yaml_cannot_have_is_refused(settings: Settings) -> None:
    axes = space(settings, ["fit.caching.learning_rate=-0.5..0.1", "fit.caching.max_epochs=3..6"], 20)
    with pytest.raises(ConfigError, match=r"fit\.caching\.learning_rate"):
        corners(settings, axes)


def test_a_range_without_a_search_is_refused() -> None:
    with pytest.raises(ConfigError, match="a range is searched; add --optimize, or list its values"):
        grid(ROOT, ["fit.caching.max_epochs=3..12"])
