from cachezoo.policies.registry import POLICIES as REGISTERED
from cachezoo.questions.share.table import NAMES as SHARED
from cachezoo.questions.tiers.table import NAMES as TIERS
from cachezoo.show.palette import (
    BOUND,
    FAMILIES,
    HIERARCHIES,
    LINES,
    OURS,
    POLICIES,
    SHARINGS,
    Look,
    colour_of,
    look_of,
    looks,
)
from cachezoo.show.style import BLACK, BLUE, GREEN, GREY, LIGHT, SKY
from cachezoo.zoo.registry import SYSTEMS


def test_every_policy_has_a_look_of_its_own_and_a_family_one_colour():
    known = {own.id for own in REGISTERED.values() if own.kind != "bound"} | {"belady", "belady_bypass"}
    assert known <= set(POLICIES)
    assert len({*POLICIES.values()}) >= len(POLICIES) - 1  # `opt` is the optimum of another simulator
    assert sum(map(len, FAMILIES.values())) == len(POLICIES)
    assert {name for name in SYSTEMS if name != "streams"} <= set(POLICIES)
    assert all(POLICIES[name].colour == BLUE for name in SYSTEMS if name != "streams")


def test_ways_to_share_and_hierarchies_are_those_of_their_tables():
    assert set(SHARINGS) < set(SHARED)
    assert len(set(SHARINGS.values())) == len(SHARINGS)
    assert set(HIERARCHIES) == set(TIERS)
    assert SHARINGS["learned"][0] == HIERARCHIES["zoo"].colour == BLUE


def test_a_look_is_found_by_the_id_the_eviction_the_system_or_the_kind():
    assert look_of("lru") == Look(SKY, "-", ".") == look_of("lru(x=1)")
    assert look_of("rejectx+arc").colour == GREEN
    assert look_of("caching.web.lstm_small") == POLICIES["caching"]
    assert look_of("mine", "model") == OURS
    assert look_of("static_hindsight", "bound") == BOUND
    assert colour_of("static_hindsight", "bound") == LIGHT
    assert colour_of("belady_bypass", "bound") == BLACK
    assert colour_of("other") == GREY == look_of("other", "classic").colour


def test_of_twenty_lines_no_two_look_alike_and_lru_has_its_own_whatever_is_drawn():
    policies = [(f"classic{k}", "classic") for k in range(20)] + [("mine", "model"), ("belady_bypass", "bound")]
    styles = looks([*policies, ("lru(x=1)", "classic"), ("lru", "classic")])
    assert len(set(styles.values())) == 24
    assert styles["lru"] == POLICIES["lru"]
    assert styles["lru(x=1)"].colour == SKY
    assert styles["mine"] == OURS
    assert list(styles) == [*(name for name, _ in policies), "lru(x=1)", "lru"]
    bounds = looks([(f"bound{k}", "bound") for k in range(3)])
    assert {one.line for one in bounds.values()} == {":"} and len(set(bounds.values())) == 3
    assert not {styles[f"classic{k}"].line for k in range(20)} - set(LINES)
