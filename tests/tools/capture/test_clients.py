"""The clients of programs: what they draw and write."""

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.capture.clients.build import UNIT, make
from tools.capture.clients.common import Client, stride, zipf_rank
from tools.capture.clients.messages import drawn_size, message, word
from tools.capture.corpus import corpus_recipe
from tools.capture.programs.mail import USER_SIGMA, message_sizes
from tools.capture.programs.office import NOTHING, Office
from tools.capture.recipe import RECIPES, load_recipe


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
    load = corpus_recipe("mail/maildir_a").load
    users = message_sizes(load, load.messages, USER_SIGMA, 3)
    assert len(users) == load.users and min(map(len, users)) >= 5
    assert sum(map(len, users)) == pytest.approx(load.messages, rel=0.02)
    again, other = (message_sizes(load, load.messages, USER_SIGMA, seed) for seed in (3, 4))
    assert users == again != other


def test_an_offices_closed_loop_has_no_times_and_its_mix():
    office = Office(load_recipe(RECIPES / "fileserver_tiny.yaml").load, 1)
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
