from collections import Counter

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import CaptureError, ConfigError
from tools.capture.corpus import TRACES, corpus_names, corpus_recipe, missing
from tools.capture.programs import PROGRAMS, check_packages, program_class
from tools.capture.programs.base import Closed
from tools.capture.recipe import RECIPES, SchedulePlan, load_recipe, parse_recipe
from tools.capture.schedule import build_schedule

LONG = sorted(RECIPES.glob("corpus/*/*_long.yaml"))
PACED = sorted(RECIPES.glob("*.yaml")) + [path for path in LONG if load_recipe(path).schedule is not None]
CORPUS = [name for name in corpus_names() if not name.endswith("_long")]
SCRIPTS = ("commands",)
CATEGORIES = ("database", "fileserver", "mail", "web")
PHASE = {"mix": {"visits": 1}, "theta": 1.0, "requests": 100, "pages": 100}
PLAN = {
    "days": 2,
    "day_s": 100,
    "segment_s": 5,
    "rate": 100,
    "amplitude": 0.6,
    "bursts": 2,
    "burst_factor": 2,
    "jobs": [{"kind": "late", "at": 0.9}, {"kind": "early", "at": 0.1}],
}


def recipe(**changes):
    return yaml.safe_load((RECIPES / "database_train.yaml").read_text()) | changes


def closed(**changes):
    return yaml.safe_load((RECIPES / "corpus/web/nginx_a.yaml").read_text()) | changes


def scripted(**changes):
    load = {"program": "commands", "name": "x", "packages": ["coreutils"], "clients": 1, "items": 5, "prepare": "true"}
    return closed(load=load | {"operations": {"visits": "true"}} | changes, phases=[PHASE])


@pytest.mark.parametrize("path", PACED, ids=lambda path: path.stem)
def test_committed_recipes_make_schedules_with_peaks_and_days(path):
    made = load_recipe(path)
    program_class(made)
    schedule = build_schedule(made.schedule, made.seed)
    assert schedule.peak_to_mean >= 2
    assert made.schedule.days >= 2
    assert schedule.seconds == made.schedule.days * made.schedule.day_s
    assert schedule.time_scale == 86_400 / made.schedule.day_s
    assert [job.start_s for job in schedule.jobs] == sorted(job.start_s for job in schedule.jobs)


@pytest.mark.parametrize("name", CORPUS)
def test_the_corpus_recipes_fit_their_programs_and_places(name):
    made = corpus_recipe(name)
    program_class(made)
    assert sum(phase.requests for phase in made.phases) <= 100_000
    assert sum(phase.pages for phase in made.phases) <= 450_000
    assert made.warmup_pages > 0


@pytest.mark.parametrize("path", LONG, ids=lambda path: path.stem)
def test_a_long_recipe_is_a_shorter_one_that_goes_on(path):
    """Only sizes of the data and the pace differ; the kinds of operations, skews and moves are the shorter one's."""
    made, name = load_recipe(path), path.stem.removesuffix("_long")
    assert corpus_recipe(f"{path.parent.name}/{path.stem}") == made
    program_class(made)
    short = load_recipe(next(path for path in RECIPES.rglob(f"{name}.yaml")))
    assert (made.program, made.category, made.readahead_kib) == (short.program, short.category, short.readahead_kib)
    if made.schedule is None:
        limits = {"requests", "pages"}
        one, other = ([phase.model_dump(exclude=limits) for phase in recipe.phases] for recipe in (made, short))
        assert one == other and made.rounds > 1
    else:
        assert made.schedule.jobs == short.schedule.jobs and made.schedule.days > short.schedule.days
        same = ("theta", "mix", "hours", "read_bias")
        assert all(getattr(made.load.paced, key, 0) == getattr(short.load.paced, key, 0) for key in same)


def test_rounds_play_the_phases_again_with_the_hot_set_further_on():
    made = parse_recipe(closed(phases=[PHASE, PHASE | {"move": 0.3}], rounds=3, onward=0.4), "here")
    assert [phase.move for phase in made.played] == pytest.approx([0, 0.3, 0.4, 0.7, 0.8, 0.1])
    assert all(phase.model_copy(update={"move": 0}) == made.phases[0] for phase in made.played)
    assert parse_recipe(closed(), "here").played == parse_recipe(closed(), "here").phases


def test_no_two_recipes_share_a_seed():
    seeds = [load_recipe(path).seed for path in {*PACED, *LONG}] + [corpus_recipe(name).seed for name in CORPUS]
    assert len(set(seeds)) == len(seeds)


def test_every_category_has_four_programs_of_three_set_ups_and_scripts_drive_more():
    found = [corpus_recipe(name) for name in CORPUS]
    assert {made.load.program for made in found} == {
        name for name, kind in PROGRAMS.items() if issubclass(kind, Closed)
    }
    for category in CATEGORIES:
        own, scripts = (
            Counter(
                made.program for made in found if made.category == category and (made.load.program in SCRIPTS) is by
            )
            for by in (False, True)
        )
        assert len(own) == 4 and set(own.values()) == {3}
        assert scripts or category != "database"
        assert not set(own) & set(scripts)


def test_set_ups_of_a_program_differ_in_their_data_memory_and_phases():
    found = [corpus_recipe(name) for name in CORPUS]
    for program in {made.program for made in found}:
        made = [recipe for recipe in found if recipe.program == program]
        for read in (lambda r: r.load, lambda r: (r.memory_mib, r.readahead_kib), lambda r: r.phases):
            assert len({str(read(recipe)) for recipe in made}) == len(made), program


@given(
    st.integers(2, 4),
    st.integers(10, 40),
    st.floats(0.5, 0.9),
    st.integers(1, 4),
    st.floats(2.0, 4.0),
    st.integers(0, 1000),
)
def test_a_schedule_is_a_function_of_plan_and_seed(days, segments, amplitude, bursts, factor, seed):
    changes = {"days": days, "day_s": 5 * segments, "amplitude": amplitude, "bursts": bursts, "burst_factor": factor}
    plan = SchedulePlan.model_validate(PLAN | changes)
    try:
        schedule = build_schedule(plan, seed)
    except ConfigError as error:
        assert "peak" in str(error)
        return
    assert schedule == build_schedule(plan, seed)
    rates = [segment.rate for segment in schedule.segments]
    assert len(rates) == days * segments
    assert sum(rates) / len(rates) == pytest.approx(plan.rate)
    assert max(rates) >= 2 * plan.rate - 1e-9
    assert len({segment.seed for segment in schedule.segments}) == len(rates)
    assert [job.kind for job in schedule.jobs] == ["early", "late"] * days
    assert [segment.elapsed_days for segment in schedule.segments][::segments] == list(range(days))


def test_other_seeds_put_the_bursts_elsewhere():
    plan = SchedulePlan.model_validate(PLAN)
    assert build_schedule(plan, 1).segments != build_schedule(plan, 2).segments


def test_a_flat_schedule_is_refused():
    with pytest.raises(ConfigError, match="raise amplitude or burst_factor"):
        build_schedule(SchedulePlan.model_validate(PLAN | {"amplitude": 0.1, "bursts": 0}), 1)


LOAD = recipe()["load"]
BAD = [
    (recipe(nonsense=1), "nonsense: Extra inputs"),
    (recipe(load=LOAD | {"program": "nfs"}), "load: Input tag 'nfs'"),
    (recipe(seed=-1), "seed: "),
    (recipe(schedule=PLAN | {"segment_s": 7}), "whole segments"),
    (recipe(schedule=PLAN | {"days": 1}), "schedule.days"),
    (recipe(load=LOAD | {"paced": LOAD["paced"] | {"theta": 1}}), "load.postgres.paced.theta: "),
    (recipe(load={"program": "postgres"}), "load.postgres.clients: Field required"),
    (recipe(load={name: value for name, value in LOAD.items() if name != "paced"}), "load.paced belongs to a recipe"),
    (recipe(phases=[PHASE]), "either schedule and warmup_s, or phases and warmup_pages"),
    (closed(load=LOAD), "load.paced belongs to a recipe with a schedule"),
    (closed(phases=[]), "phases: "),
    (closed(onward=0.1), "onward to rounds"),
    (recipe(rounds=2), "rounds belong to phases"),
    (closed(phases=[PHASE | {"mix": {}}]), "phases.0.mix: "),
    (closed(phases=[PHASE | {"move": 1.0}]), "phases.0.move: "),
    (closed(place_mib=2048), "leaves no room on a disk of disk_mib 1024"),
    (scripted(operations={}), "load.commands.operations: "),
    (scripted(operations={"gets": None}), "operations gets have no script; give them one, or name a client"),
    (scripted(values={"PATH": "/tmp"}), "load.commands.values.PATH"),
    (scripted(packages=[]), "load.commands.packages: "),
    (closed(load={"program": "nginx", "clients": 1}), "load.nginx.median_kib: Field required"),
]


@pytest.mark.parametrize(("values", "message"), BAD)
def test_a_bad_recipe_is_named_in_one_line(tmp_path, values, message):
    path = tmp_path / "r.yaml"
    path.write_text(yaml.safe_dump(values))
    with pytest.raises(ConfigError, match=message) as caught:
        load_recipe(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_files_that_hold_no_recipe(tmp_path):
    with pytest.raises(ConfigError, match="not readable"):
        load_recipe(tmp_path / "none.yaml")
    bad = tmp_path / "bad.yaml"
    bad.write_text("a: [1\nb: 2")
    with pytest.raises(ConfigError, match="not readable as YAML") as caught:
        load_recipe(bad)
    assert "\n" not in str(caught.value)
    bad.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not readable"):
        load_recipe(bad)


SQLITE = yaml.safe_load((RECIPES / "corpus/database/sqlite_a.yaml").read_text())["load"]
BLOB = yaml.safe_load((RECIPES / "blob_tiny.yaml").read_text())["load"]
MIXED = LOAD | {"paced": LOAD["paced"] | {"mix": {"scans": 1}}}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (recipe(schedule=PLAN), "schedule.jobs: postgres has no early, late; it has report, vacuum, batch"),
        (recipe(load=MIXED), "load.paced.mix: postgres has no scans; it has lookups, updates, recents, orders"),
        (recipe(load=SQLITE), "sqlite has no way to be paced"),
        (closed(load=BLOB), "blob is driven by a schedule alone"),
        (
            closed(phases=[PHASE | {"mix": {"visits": 1, "dreams": 2}}]),
            r"phases\.0\.mix: nginx has no dreams; it has vis",
        ),
        (scripted(operations={"puts": "true"}), r"phases\.0\.mix: x has no visits; it has puts"),
        (closed(phases=[PHASE | {"beside": ["vacuum"]}]), r"phases\.0\.beside: nginx has no vacuum; it has publish, b"),
    ],
)
def test_what_a_recipe_names_has_to_be_known_to_its_program(values, message):
    with pytest.raises(ConfigError, match=message):
        program_class(parse_recipe(values, "here"))


@pytest.mark.parametrize("seconds", [6, 20, 61, 600])
def test_a_recipe_of_another_duration(seconds):
    made = parse_recipe(recipe(), "here").lasting(seconds)
    schedule = build_schedule(made.schedule, made.seed)
    assert seconds * 0.7 <= schedule.seconds <= seconds
    assert schedule.peak_to_mean >= 2


def test_too_short_a_duration_is_refused():
    with pytest.raises(ConfigError, match="a duration of 3 s"):
        parse_recipe(recipe(), "here").lasting(3)


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setattr("tools.capture.installed.find_program", lambda name: None)
    with pytest.raises(CaptureError, match=r"apt-get install e2fsprogs mount nginx-light tar util-linux wrk$"):
        check_packages(PROGRAMS["nginx"])


def test_missing_packages_of_scripts_are_named_and_versions_are_debians():
    made = program_class(parse_recipe(scripted(packages=["coreutils", "no-such-package"]), "here"))
    with pytest.raises(CaptureError, match=r"^x needs Debian packages .*: apt-get install no-such-package$"):
        check_packages(made)
    versions = made.versions()
    assert versions["coreutils"][0].isdigit() and versions["no-such-package"] == "none"


def test_the_corpus_wants_recipes_in_their_places_and_what_is_missing_is_known(tmp_path):
    folder = tmp_path / "corpus/web"
    folder.mkdir(parents=True)
    for name in ("nginx_a", "caddy_a"):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(closed()))
    assert missing(tmp_path, tmp_path) == corpus_names(tmp_path) == ["web/caddy_a", "web/nginx_a"]
    (tmp_path / TRACES / "web").mkdir(parents=True)
    (tmp_path / TRACES / "web/nginx_a.parquet").touch()
    assert missing(tmp_path, tmp_path) == ["web/caddy_a"]
    assert corpus_recipe("web/nginx_a", tmp_path).program == "nginx"
    with pytest.raises(ConfigError, match=r"caddy_a\.yaml: is of web and nginx; its place must be"):
        corpus_recipe("web/caddy_a", tmp_path)
    with pytest.raises(ConfigError, match=r"has no recipe 'web/x'; it has web/caddy_a, web/nginx_a"):
        corpus_recipe("web/x", tmp_path)
