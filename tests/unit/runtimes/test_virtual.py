"""Virtual I/O caches in C, alone and shared: every hit, every page moved and every split of the Python kernels."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.bundles import load
from cachezoo.bundles.measured import Metrics
from cachezoo.bundles.writer import write_bundle
from cachezoo.errors import ConfigError
from cachezoo.kernels.virtual import gvpa, vrm
from cachezoo.kernels.virtual.queues import QUEUES, Moves, moves
from cachezoo.questions.share.partition import parse
from cachezoo.questions.share.virtual import PARAMETERS
from cachezoo.runtime import RuntimeFault, Settings, Share, Virtual, abi
from cachezoo.runtime import open as open_model
from tests import virtual_data
from tests.bundle_data import EXPORT
from tests.c_library import make
from tests.golden import make_share
from tests.unit.runtimes.test_libcachezoo import run

pytestmark = pytest.mark.needs("gcc")


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    return make(tmp_path_factory, "all")


@pytest.fixture(autouse=True)
def library(built, monkeypatch):
    monkeypatch.setenv(abi.VARIABLE, str(built / "libcachezoo.so.1"))


@pytest.fixture(scope="session")
def bundle(tmp_path_factory):
    folder = tmp_path_factory.mktemp("virtual")
    model, out = virtual_data.write_model(folder / "model"), folder / "virtual.database.vrm"
    write_bundle(model, virtual_data.requests(250), Metrics(), EXPORT, out)
    return out


def stream(seed, references, pages):
    """Hot pages, a loop, and pages from everywhere, in stretches."""
    draws = np.random.default_rng(seed)
    kind = draws.integers(0, 3, references // 50 + 1).repeat(50)[:references]
    loop, hot = np.arange(references) % max(1, pages // 2), draws.integers(0, max(1, pages // 8), references)
    return np.choose(kind, (loop, hot, draws.integers(0, pages, references))).astype(np.int32)


@st.composite
def cases(draw):
    """Settings of a queue, and a cache that fits it."""
    fragment, runs = draw(st.integers(1, 9)), draw(st.integers(1, 5))
    pages = draw(st.integers(fragment * runs, 40 * fragment + 20))
    own = Settings(
        draw(st.sampled_from(QUEUES)), pages, fragment, runs, draw(st.sampled_from((0.0, 0.3, 0.95, 1.0))),
        draw(st.integers(1, 60)), draw(st.sampled_from((0.0, 0.25, 1.0))),
    )  # fmt: skip
    if draw(st.booleans()):
        rates = np.random.default_rng(draw(st.integers(0, 99))).random(vrm.fragments(pages, fragment))
        own = own._replace(profile=rates.tolist())
    return own, draw(st.integers(fragment * runs, pages)), draw(st.integers(0, 2**32 - 1))


def reference_settings(own):
    return vrm.Settings(own.fragment, own.runs, own.decay, own.quantum, own.cost)


@given(cases())
def test_a_cache_serves_as_the_kernels_do(case):
    own, capacity, seed = case
    asked = stream(seed, 400, 2 * own.pages)
    moved = moves(own.queue, asked, 2 * own.pages, own.pages)
    profile = None if own.profile is None else np.array(own.profile)
    wanted = vrm.simulate(moved, capacity, own.pages, reference_settings(own), profile)
    cache = Virtual(own, capacity)
    first = tuple((low, high) for low, high in wanted.mappings[0].tolist() if low >= 0)
    assert cache.runs == first
    places = [cache.reference(int(page) * 0x9E3779B97F4A7C15 % 2**64) for page in asked]
    assert [place.position for place in places] == moved.position.tolist()
    assert [place.hit for place in places] == wanted.hit.tolist()
    assert [place.moved for place in places] == wanted.moved.tolist()
    assert cache.runs == tuple((low, high) for low, high in wanted.mappings[-1].tolist() if low >= 0)
    cache.close()


def moves_of_all(own, app, asked, count, pages):
    """Each application's moves at the places of its references."""
    found = Moves(*(np.zeros(len(app), np.int32) for _ in range(3)))
    for a in range(count):
        here = np.flatnonzero(app == a)
        for whole, part in zip(found, moves(own.queue, asked[here], pages, own.pages), strict=True):
            whole[here] = part
    return found


@given(cases(), st.integers(2, 5), st.integers(1, 3), st.integers(1, 4), st.sampled_from((0.0, 0.05)), st.booleans())
def test_a_share_splits_as_the_kernels_do(case, count, step, reach, fill, lockstep):
    own, _, seed = case
    draws = np.random.default_rng(seed)
    fragments = vrm.fragments(own.pages, own.fragment)
    total = int(draws.integers(count * own.runs, count * (own.pages // own.fragment) + 1))
    app = (np.arange(900) % count if lockstep else draws.choice(count, 900)).astype(np.int32)
    asked = stream(seed, 900, 2 * own.pages)
    profiles = None if own.profile is None else np.tile(np.array(own.profile), (count, 1))
    wanted = gvpa.share(
        app, moves_of_all(own, app, asked, count, 2 * own.pages), count, total, own.pages, reference_settings(own),
        step, reach, fill, profiles,
    )  # fmt: skip
    assert fragments >= total / count
    share = Share(total * own.fragment, [own] * count, step, reach, fill)
    places = [share.reference(a, page) for a, page in zip(app.tolist(), asked.tolist(), strict=True)]
    assert [place.hit for place in places] == wanted.hit.tolist()
    assert [place.moved for place in places] == wanted.moved.tolist()
    assert share.split == tuple(min(own.pages, own.fragment * held) for held in wanted.splits[-1].tolist())
    assert all(high <= own.pages for a in range(count) for _, high in share.runs(a))
    share.close()


def test_the_stored_rows_of_a_share_are_found_again():
    assert make_share.STORED.read_text().splitlines() == make_share.rows()
    own = make_share.SETTINGS
    share = Share(
        make_share.TOTAL * own.fragment,
        [Settings(queue, make_share.PAGES, own.fragment, own.f, own.alpha, own.q, own.cost)
         for queue in make_share.QUEUES],
        make_share.STEP, make_share.REACH, make_share.FILL,
    )  # fmt: skip
    for line in make_share.STORED.read_text().splitlines()[1:]:
        application, key, position, hit, moved, *split = map(int, line.split(","))
        assert share.reference(application, key) == (position, bool(hit), moved)
        assert share.split == tuple(split)
    share.close()


LIMITED = ("f", "cost", "fill", "step", "reach", "fragment")


def share_with(name, value):
    """A share of two in C with one value of gvpa(...), and else what fits that."""
    values = {"f": 1, "cost": 0.0, "fill": 0.0, "step": 1, "reach": 1, "fragment": 1, name: value}
    f, fragment = int(values["f"]), int(values["fragment"])
    pages = max(f, 1) * max(fragment, 1)
    own = Settings("lru", 2 * pages, fragment, f, 0.5, 10, values["cost"])
    return Share(2 * pages, [own, own], int(values["step"]), int(values["reach"]), values["fill"])


@pytest.mark.parametrize("name", LIMITED)
def test_limits_are_those_of_gvpa(name):
    limits = next(one for one in PARAMETERS if one.name == name)
    for value in (limits.low, limits.high):
        share_with(name, value).close()
        parse(f"gvpa({name}={value})")
    for beyond in (limits.high + 1, -1):
        with pytest.raises(RuntimeFault):
            share_with(name, beyond)
        with pytest.raises(ConfigError):
            parse(f"gvpa({name}={beyond})")


def test_the_farthest_reach_splits_as_the_kernels_do():
    own, count, total, farthest = Settings("lru", 400, 1, 1, 0.9, 300, 1.0), 2, 402, 4096
    app = (np.arange(6000) % count).astype(np.int32)
    loop, few = np.arange(3000) % 380, np.arange(3000) % 7
    asked = np.stack([loop, few], axis=1).ravel().astype(np.int32)
    kernel = (app, moves_of_all(own, app, asked, count, 400), count, total, own.pages, reference_settings(own), 1)
    wanted, nearer = gvpa.share(*kernel, farthest), gvpa.share(*kernel, 64)
    share = Share(total, [own] * count, 1, farthest)
    places = [share.reference(a, page) for a, page in zip(app.tolist(), asked.tolist(), strict=True)]
    assert [place.hit for place in places] == wanted.hit.tolist()
    assert share.split == tuple(wanted.splits[-1].tolist()) != tuple(nearer.splits[-1].tolist())
    share.close()


@settings(max_examples=settings.default.max_examples // 2)
@given(cases(), st.integers(0, 500))
def test_saved_caches_go_on(tmp_path_factory, case, until):
    own, capacity, seed = case
    path = tmp_path_factory.mktemp("saved") / "state"
    asked = stream(seed, 700, 2 * own.pages).tolist()
    one, other = Virtual(own, capacity), Virtual(own._replace(profile=None), capacity)
    both = [Share(2 * capacity, [own] * 2), Share(2 * capacity, [own._replace(profile=None)] * 2)]
    for page in asked[:until]:
        one.reference(page)
        both[0].reference(page % 2, page)
    one.save(path)
    other.restore(path)
    both[0].save(path)
    both[1].restore(path)
    for page in asked[until:]:
        assert one.reference(page) == other.reference(page)
        assert both[0].reference(page % 2, page) == both[1].reference(page % 2, page)
    assert one.runs == other.runs and both[0].split == both[1].split


GOOD = Settings("lru", 64, 4, 2, 0.5, 10, 0.0)
BAD = {
    "a cache smaller than its 2 runs": ({}, 7),
    "queue of 64 pages is below its cache of 65": ({}, 65),
    "fragment: must have 1 to 65536 pages (0)": ({"fragment": 0}, 32),
    "runs: must be 1 to 16 (17)": ({"runs": 17}, 32),
    "a queue has 1 to 2^26 pages": ({"pages": 2**26 + 1}, 32),
    "quantum: must have 1 to 2^40": ({"quantum": 0}, 32),
    "decay: must be 0 to 1 (1.5)": ({"decay": 1.5}, 32),
    "decay: must be 0 to 1 (nan)": ({"decay": float("nan")}, 32),
    "cost: must be 0 to 1e6": ({"cost": -1.0}, 32),
    "queue 'clock': there are": ({"queue": "clock"}, 32),
    "profile: a fragment has 0 to 1 hits a reference (2)": ({"profile": [0.0] * 15 + [2.0]}, 32),
    "profile: 3 numbers, the queue has 16": ({"profile": [0.0] * 3}, 32),
}


@pytest.mark.parametrize("problem", BAD)
def test_what_no_cache_is_made_of_is_refused_in_one_line(problem):
    changes, capacity = BAD[problem]
    with pytest.raises(RuntimeFault) as refused:
        Virtual(GOOD._replace(**changes), capacity)
    assert problem in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("pages", "applications", "words"),
    [
        (32, [GOOD], "2 to 1024 applications, not of 1"),
        (10**4, [GOOD] * 1025, "2 to 1024 applications, not of 1025"),
        (31, [GOOD] * 4, "application 0: 4 pages are a cache smaller than its 2 runs"),
        (136, [GOOD, GOOD], "application 0: a queue of 64 pages is below its cache of 68"),
        (130, [GOOD._replace(pages=68), GOOD, GOOD._replace(fragment=8)], "application 2: fragments of 8 pages"),
        (64, [GOOD, GOOD._replace(cost=2e6)], "application 1: cost"),
        (0, [GOOD, GOOD], "a cache of 0 pages"),
    ],
)
def test_shares_that_cannot_be_are_refused_in_one_line(pages, applications, words):
    with pytest.raises(RuntimeFault) as refused:
        Share(pages, applications)
    assert words in str(refused.value) and "\n" not in str(refused.value)


ODD = {
    "fragment": (2**32 + 4, 4.0, "4"),
    "runs": (2**32 + 2, 2.5, None),
    "pages": (2**64 + 64, 64.0, [64]),
    "quantum": (2**64 + 10, float("nan"), 10**400),
    "decay": ("0.5", None, 1j),
    "cost": ([0.0], 10**400),
    "profile": (0.5, ["x"] * 16, [None] * 16, "0" * 16),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in ODD.items() for value in values])
def test_numbers_that_the_library_would_cut_are_refused_in_one_line(name, value):
    with pytest.raises(RuntimeFault, match=rf"^{name}: .*\Z"):
        Virtual(GOOD._replace(**{name: value}), 32)


@pytest.mark.parametrize(
    ("name", "odd"),
    [("pages", 2**64 + 64), ("step", 2**32 + 1), ("step", 1.0), ("reach", -(2**32) + 1), ("reach", "1"), ("fill", "0")],
)
def test_options_that_the_library_would_cut_are_refused_in_one_line(name, odd):
    with pytest.raises(RuntimeFault, match=rf"^{name}: .*\Z"):
        Share(**{"pages": 64, "applications": [GOOD, GOOD], name: odd})


def test_keys_and_applications_are_whole_numbers_that_fit():
    cache, share = Virtual(GOOD, np.int64(32)), Share(64, [GOOD, GOOD])
    with pytest.raises(RuntimeFault, match=r"^capacity: .*"):
        Virtual(GOOD, 2**64 + 32)
    for key in (-1, 2**64, 1.0, "1", None):
        for refer in (cache.reference, lambda page: share.reference(0, page)):
            with pytest.raises(RuntimeFault, match=r"^key: give a whole number of 0 to 18446744073709551615$"):
                refer(key)
    for application in (2**32, 0.0):
        for refer in (lambda a: share.reference(a, 1), share.runs):
            with pytest.raises(RuntimeFault, match=r"^application: "):
                refer(application)
    assert [cache.reference(key).position for key in (2**64 - 1, np.uint64(2**64 - 1), 0)] == [-1, 0, -1]
    assert share.reference(np.int32(1), 0).position == -1


def test_what_is_closed_says_so(bundle):
    cache, share, model = Virtual(GOOD, 32), Share(64, [GOOD, GOOD]), open_model(bundle, 40)
    for own in (cache, share, model):
        own.close()
    for use in (lambda: cache.reference(1), lambda: share.runs(0), lambda: model.stats()):
        with pytest.raises(RuntimeFault, match=r"^it is closed; make or open it again$"):
            use()


def test_requests_of_64_mib_are_served_wherever_they_begin(bundle):
    with open_model(bundle, 40) as model:
        cache = model.cache(40)
        for offset, pages in ((0, 16384), (512, 16385), (4095, 16385)):
            access = cache.access(0, "read", offset, 64 << 20, "sda")
            assert access.hits + access.misses == pages
        with pytest.raises(RuntimeFault):
            cache.access(0, "read", 512, (64 << 20) + 4096, "sda")


def test_an_application_that_is_not_there_is_refused():
    share = Share(64, [GOOD, GOOD])
    for application in (-1, 2):
        with pytest.raises(RuntimeFault, match="there are 2, from 0"):
            share.reference(application, 1)
        assert share.runs(application) == ()
    assert share.split == (32, 32)


def test_a_bundle_is_verified_and_starts_as_it_says(bundle, built):
    with open_model(bundle, 40) as model:
        assert model.verify()["agreement"] == 1 and model.info["kind"] == "virtual"
        cache, share = Virtual(model, 40), Share(100, [model, GOOD._replace(fragment=8)])
    arch = virtual_data.ARCH
    own = vrm.Settings(arch["fragment"], arch["runs"], arch["decay"], arch["quantum"], arch["cost"])
    asked = stream(3, 1000, 500)
    moved = moves(arch["queue"], asked, 500, arch["pages"])
    wanted = vrm.simulate(moved, 40, arch["pages"], own, virtual_data.rates())
    assert [cache.reference(page)[1:] for page in asked.tolist()] == list(
        zip(wanted.hit.tolist(), wanted.moved.tolist(), strict=True)
    )
    assert share.runs(0) != ((0, 48),) and sum(share.split) == 96
    done = run(built / "cz", "verify", bundle)
    assert done.returncode == 0 and f" in {len(load(bundle).golden_sets())} sets" in done.stdout


def test_the_command_and_the_cache_serve_a_bundle(bundle, built):
    batch = virtual_data.requests(250)
    ran = load(bundle).serving().run(batch.pages(), 40)
    done = run(built / "cz", "run", bundle, bundle / "golden/requests.csv", "--capacity", "40")
    assert done.returncode == 0, done.stderr
    found = dict(line.split() for line in done.stdout.splitlines())
    assert int(found["units"]) == len(ran.hit) and int(found["hits"]) == ran.hit.sum()
    assert int(found["prefetched"]) == ran.moved.sum()
    with open_model(bundle, 40) as model:
        cache, hits = model.cache(40), 0
        for k in range(len(batch)):
            access = cache.access(
                int(batch.time_us[k]),
                "write" if batch.op[k] else "read",
                int(batch.offset[k]),
                int(batch.size[k]),
                "sda",
            )
            hits += access.hits
        assert hits == ran.hit.sum() and cache.stats()["prefetched"] == ran.moved.sum()


@pytest.mark.parametrize(
    "capacity", [virtual_data.ARCH["runs"] * virtual_data.ARCH["fragment"] - 1, virtual_data.ARCH["pages"] + 1]
)
def test_a_bundle_runs_no_cache_that_does_not_fit_it(bundle, capacity):
    with pytest.raises(RuntimeFault, match="cache"):
        open_model(bundle, capacity)


def test_without_the_library_there_are_no_virtual_caches(bundle, monkeypatch):
    monkeypatch.delenv(abi.VARIABLE)
    monkeypatch.setattr(abi, "NAME", "libcachezoo-that-is-nowhere.so")
    for make_one in (lambda: Virtual(GOOD, 32), lambda: Share(64, [GOOD, GOOD]), lambda: open_model(bundle)):
        with pytest.raises(RuntimeFault, match="libcachezoo-that-is-nowhere"):
            make_one()


DAMAGES = {
    "a byte less": lambda data: data[:-1],
    "a number more": lambda data: data + bytes(8),
    "not a number": lambda data: b"\xff" * 8 + data[8:],
    "a rate above 1": lambda data: np.array([1.5]).tobytes() + data[8:],
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_profile_is_refused_in_one_line(bundle, tmp_path, name):
    from shutil import copytree

    from tests.unit.zoo.streams.test_bundle import reseal

    folder = Path(copytree(bundle, tmp_path / bundle.name))
    (folder / "profile.bin").write_bytes(DAMAGES[name]((folder / "profile.bin").read_bytes()))
    reseal(folder)
    with pytest.raises(RuntimeFault) as refused:
        open_model(folder, 40)
    assert "profile.bin" in str(refused.value) and "\n" not in str(refused.value)
