import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from tools.capture.closed.clients.build import UNIT, make
from tools.capture.closed.clients.common import Client, stride, zipf_rank
from tools.capture.closed.clients.messages import drawn_size, message, word
from tools.capture.closed.driver import TRACES, capture_corpus, corpus_names, corpus_recipe, missing
from tools.capture.closed.mail import message_sizes
from tools.capture.closed.programs import PROGRAMS, closed_class
from tools.capture.closed.recipe import check_phases, load_closed
from tools.capture.loads import FileserverLoad
from tools.capture.workloads.office import NOTHING, Office

ROOT = Path(__file__).resolve().parents[3]
NAMES = corpus_names(ROOT)
CATEGORIES = ("database", "fileserver", "mail", "web")


def values(**changes):
    return yaml.safe_load((ROOT / "tools/capture/recipes/corpus/web/nginx_a.yaml").read_text()) | changes


@pytest.mark.parametrize("name", NAMES)
def test_committed_recipes_fit_their_programs_and_places(name):
    made = corpus_recipe(ROOT, name)
    kind = closed_class(made.program)
    check_phases(made, kind.operations, kind.jobs)
    assert made.requests <= 100_000 and sum(phase.pages for phase in made.phases) <= 450_000
    assert made.warmup_pages > 0


def test_every_category_has_four_programs_of_three_set_ups():
    found = {name: corpus_recipe(ROOT, name) for name in NAMES}
    assert {made.program for made in found.values()} == set(PROGRAMS)
    for category in CATEGORIES:
        programs = Counter(made.program for made in found.values() if made.category == category)
        assert len(programs) == 4 and set(programs.values()) == {3}


def test_set_ups_of_a_program_differ_in_their_data_memory_and_phases():
    found = [corpus_recipe(ROOT, name) for name in NAMES]
    for program in PROGRAMS:
        made = [recipe for recipe in found if recipe.program == program]
        for read in (lambda r: r.load, lambda r: (r.memory_mib, r.readahead_kib), lambda r: r.phases):
            assert len({str(read(recipe)) for recipe in made}) == 3, program


def test_no_two_recipes_share_a_seed():
    seeds = [corpus_recipe(ROOT, name).seed for name in NAMES]
    assert len(set(seeds)) == len(seeds)


PHASE = {"mix": {"visits": 1}, "theta": 1.0, "requests": 100, "pages": 100}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nonsense": 1}, "nonsense: Extra inputs"),
        ({"phases": []}, "phases: "),
        ({"phases": [PHASE | {"mix": {}}]}, "phases.0.mix: "),
        ({"phases": [PHASE | {"move": 1.0}]}, "phases.0.move: "),
        ({"place_mib": 2048}, "leaves no room on a disk of disk_mib 1024"),
        ({"load": {"program": "tape", "clients": 1}}, "load: Input tag 'tape'"),
        ({"load": {"program": "nginx", "clients": 1}}, "load.nginx.articles: Field required"),
    ],
)
def test_a_bad_recipe_is_named_in_one_line(tmp_path, changes, message):
    path = tmp_path / "r.yaml"
    path.write_text(yaml.safe_dump(values(**changes)))
    with pytest.raises(ConfigError, match=message) as caught:
        load_closed(path)
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mix": {"visits": 1, "dreams": 2}}, r"phases\.0\.mix: nginx has no dreams; it has visits, crawls"),
        ({"beside": ["vacuum"]}, r"phases\.0\.beside: nginx has no vacuum; it has publish, backup"),
    ],
)
def test_operations_and_jobs_have_to_be_known_to_the_program(tmp_path, changes, message):
    path = tmp_path / "r.yaml"
    path.write_text(yaml.safe_dump(values(phases=[PHASE | changes])))
    kind = PROGRAMS["nginx"]
    with pytest.raises(ConfigError, match=message):
        check_phases(load_closed(path), kind.operations, kind.jobs)


def test_an_unknown_program_is_named():
    with pytest.raises(ConfigError, match=f"unknown program 'tape'; there are {', '.join(sorted(PROGRAMS))}"):
        closed_class("tape")


def test_the_driver_wants_recipes_in_their_places_and_captures_what_is_missing(tmp_path):
    folder = tmp_path / "tools/capture/recipes/corpus/web"
    folder.mkdir(parents=True)
    (folder / "nginx_a.yaml").write_text(yaml.safe_dump(values()))
    (folder / "caddy_a.yaml").write_text(yaml.safe_dump(values()))
    assert missing(tmp_path) == corpus_names(tmp_path) == ["web/caddy_a", "web/nginx_a"]
    (tmp_path / TRACES / "web").mkdir(parents=True)
    (tmp_path / TRACES / "web/nginx_a.parquet").touch()
    assert missing(tmp_path) == ["web/caddy_a"]
    assert corpus_recipe(tmp_path, "web/nginx_a").program == "nginx"
    with pytest.raises(ConfigError, match=r"caddy_a\.yaml: is of web and nginx; its place must be"):
        next(capture_corpus(tmp_path, ["web/nginx_a", "web/caddy_a"]))
    with pytest.raises(ConfigError, match=r"has no recipe 'web/x'; it has web/caddy_a, web/nginx_a"):
        corpus_recipe(tmp_path, "web/x")


@given(st.integers(1, 5000), st.floats(0, 3), st.floats(0, 1, exclude_max=True))
def test_ranks_are_within_the_population(count, theta, uniform):
    assert 0 <= zipf_rank(uniform, count, theta) < count


@pytest.mark.parametrize("theta", [0.0, 0.7, 1.0, 1.3])
def test_ranks_follow_the_continuous_zipf_distribution(theta):
    """The share of ranks below a hundred is the integral of x^-theta up to there, over that up to the whole."""
    draw = random.Random(3)
    count, drawn = 1000, 40_000
    x = np.linspace(1, count + 1, 200_001)
    density = x**-theta
    wanted = density[x <= 101].sum() / density.sum()
    found = sum(zipf_rank(draw.random(), count, theta) < 100 for _ in range(drawn)) / drawn
    assert found == pytest.approx(wanted, abs=0.01)


@given(st.integers(1, 3000), st.integers(0, 2**31))
def test_a_stride_permutes(count, layout):
    assert len({place * stride(count, layout) % count for place in range(count)}) == count


def plan(**changes):
    return {"mix": {"one": 3, "two": 1}, "theta": 1.0, "move": 0.0, "layout": 7, "seed": 5, "client": 0} | changes


def test_the_hot_set_moves_as_a_whole():
    here, there = Client(plan()), Client(plan(move=0.5))
    first, second = ([client.item(100) for _ in range(2000)] for client in (here, there))
    step = stride(100, 7)
    assert [(item + 50 * step) % 100 for item in first] == second


def test_a_client_draws_its_mix_until_it_is_told_to_end_and_closes():
    done = Counter()

    class Counting(Client):
        def one(self):
            done["one"] += 1
            if done.total() >= 4000:
                self.end()

        def two(self):
            done["two"] += 1

        def close(self):
            done["closed"] += 1

    Counting(plan()).run()
    assert done["closed"] == 1
    assert done["one"] / done["two"] == pytest.approx(3, rel=0.15)


def test_messages_have_their_size_and_are_a_function_of_the_draws():
    one, other = (message(random.Random(2), 5, 3000) for _ in range(2))
    assert one == other and len(one) == 3000
    assert b"Message-ID: <5@example.org>" in one
    assert len({word(rank) for rank in range(5000)}) == 5000
    sizes = [drawn_size(random.Random(seed), 10, 1.0, 64) for seed in range(500)]
    assert 512 <= min(sizes) and max(sizes) <= 64 * 1024
    assert np.median(sizes) == pytest.approx(10 * 1024, rel=0.2)


def test_users_have_as_many_messages_as_the_recipe_says():
    load = corpus_recipe(ROOT, "mail/maildir_a").load
    users = message_sizes(load, 3)
    assert len(users) == load.users and min(map(len, users)) >= 5
    assert sum(map(len, users)) == pytest.approx(load.messages, rel=0.02)
    assert users == message_sizes(load, 3) != message_sizes(load, 4)


def test_an_offices_closed_loop_has_no_times_and_its_mix():
    paced = yaml.safe_load((ROOT / "tools/capture/recipes/fileserver_tiny.yaml").read_text())
    office = Office(FileserverLoad.model_validate(paced["fileserver"]), 1)
    texts = office.closed(9, {"reads": 3, "saves": 1}, 0.8, 0.2, 2000)
    lines = [line for text in texts for line in text.splitlines()]
    assert not any(line[0].isdigit() for line in lines)
    assert all(text.endswith(f"{NOTHING}\n") for text in texts)
    renames = sum(line.startswith("Rename") for line in lines)
    opened = sum(line.startswith("QUERY_PATH_INFORMATION") for line in lines)
    assert renames + opened == 2000 and opened / renames == pytest.approx(3, rel=0.15)


def test_a_projects_makefile_names_every_unit(tmp_path):
    make(tmp_path / "p", random.Random(1), [500] * 20)
    text = (tmp_path / "p/Makefile").read_text()
    assert text.count("ar rcs") == 2
    assert all(f"u{unit:05d}.o" in text for unit in range(20))
    assert (tmp_path / "p/u00003.c").read_text() == UNIT.format(unit="00003", edit=0)
