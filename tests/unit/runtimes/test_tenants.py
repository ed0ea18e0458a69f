"""A cache of several tenants in C: every hit, every page that leaves and every split of the simulator."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels.outcome import ADMITTED, ADMITTED_FREE, HIT
from cachezoo.kernels.partition import add_misses, lookahead, partitioned
from cachezoo.kernels.stack_distance import stack_distances
from cachezoo.policies.registry import policy
from cachezoo.policies.stream import Stream
from cachezoo.runtime import RuntimeFault, Tenants
from cachezoo.runtime.tenants import POLICIES

pytestmark = [pytest.mark.needs("gcc"), pytest.mark.usefixtures("library")]

SPREAD = 0x9E3779B97F4A7C15  # odd, so that pages have keys of their own, from all of the 64 bits


def references(seed, count, tenants, pages):
    """Tenants with loops of growing length and few hot pages, in stretches: whose each reference is, and its page."""
    draws = np.random.default_rng(seed)
    tenant = draws.choice(tenants, count, p=draws.dirichlet(np.ones(tenants) * 3)).astype(np.int32)
    loop = np.arange(count) % np.maximum(1, pages // 2 + np.arange(count) // 20)
    hot, turn = draws.zipf(1.3, count) % pages, draws.integers(0, 2, count // 40 + 1).repeat(40)[:count]
    return tenant, np.where(turn == tenant % 2, loop, hot).astype(np.int32)


def by_appearance(tenant, page):
    """Each tenant's page as one number, by first appearance."""
    _, first, number = np.unique(tenant.astype(np.int64) << 32 | page, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int32)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[number].astype(np.int32)


def serve(cache, tenant, page):
    return [
        cache.reference(a, int(one) * SPREAD % 2**64) for a, one in zip(tenant.tolist(), page.tolist(), strict=True)
    ]


def same_as(run, served, ids, keys):
    """Whether what a cache answered is what the simulator did."""
    entered = (run.outcome == ADMITTED) | (run.outcome == ADMITTED_FREE)
    assert [one.hit for one in served] == (run.outcome == HIT).tolist()
    assert [one.admitted for one in served] == entered.tolist()
    of = dict(zip(ids.tolist(), keys, strict=True))
    wanted = [() if gone < 0 else (of[gone],) for gone in run.victim.tolist()]
    assert [tuple(map(tuple, one.victims)) for one in served] == wanted


def keys_of(tenant, page):
    return list(zip(tenant.tolist(), [int(one) * SPREAD % 2**64 for one in page], strict=True))


@pytest.mark.parametrize("name", POLICIES)
@given(seed=st.integers(0, 2**32 - 1), tenants=st.integers(2, 4), pages=st.integers(4, 90))
def test_one_cache_for_all_serves_as_the_simulator_does(name, seed, tenants, pages):
    tenant, page = references(seed, 600, tenants, 60)
    ids = by_appearance(tenant, page)
    run = policy(name).simulate(Stream.of_pages(ids, int(ids.max()) + 1), pages)
    cache = Tenants.shared(tenants, pages, name, remembered=1000)
    served = serve(cache, tenant, page)
    same_as(run, served, ids, keys_of(tenant, page))
    owners = Counter(a for a, one in zip(tenant.tolist(), served, strict=True) if one.admitted)
    owners.subtract(Counter(victim.tenant for one in served for victim in one.victims))
    assert cache.resident == tuple(owners[a] for a in range(tenants))
    assert cache.split == (pages,) * tenants


@given(
    seed=st.integers(0, 2**32 - 1),
    parts=st.lists(st.tuples(st.sampled_from(POLICIES), st.integers(4, 60)), min_size=2, max_size=4),
)
def test_parts_serve_as_caches_of_their_own_do(seed, parts):
    tenant, page = references(seed, 600, len(parts), 60)
    cache = Tenants.fixed(parts, remembered=1000 * sum(pages for _, pages in parts))
    served = serve(cache, tenant, page)
    for a, (name, pages) in enumerate(parts):
        here = np.flatnonzero(tenant == a)
        ids = by_appearance(tenant[here], page[here])
        if len(ids):
            run = policy(name).simulate(Stream.of_pages(ids, int(ids.max()) + 1), pages)
            same_as(run, [served[k] for k in here], ids, keys_of(tenant[here], page[here]))
    assert cache.split == tuple(pages for _, pages in parts)
    assert all(held <= pages for held, (_, pages) in zip(cache.resident, parts, strict=True))


def simulated_ucp(tenant, page, tenants, fragment, total, window):
    """Hits and splits, as `ucp` of questions/share has them."""
    distance = np.empty(len(page), np.int32)
    for a in range(tenants):
        here = np.flatnonzero(tenant == a)
        ids = by_appearance(tenant[here], page[here])
        distance[here] = stack_distances(ids, int(ids.max()) + 1 if len(ids) else 0)
    begins = np.arange(0, len(page), window * tenants, dtype=np.int64)
    splits = np.empty((len(begins), tenants), np.int64)
    splits[0] = total // tenants + (np.arange(tenants) < total % tenants)
    misses, every = np.zeros((tenants, total + 1), np.int64), np.ones(len(page), np.bool_)
    for k, stop in enumerate(begins[1:].tolist(), start=1):
        add_misses(tenant, distance, every, int(begins[k - 1]), stop, fragment, misses)
        splits[k] = lookahead(misses, total, np.ones(tenants, np.int64))
        misses //= 2
    hit = np.empty(len(page), np.bool_)
    partitioned(tenant, distance, begins, splits * fragment, hit)
    return hit, begins, splits * fragment


@given(
    seed=st.integers(0, 2**32 - 1), tenants=st.integers(2, 5), fragment=st.integers(1, 9),
    window=st.integers(1, 90), spare=st.integers(0, 20),
)  # fmt: skip
def test_ucp_splits_as_the_partitioner_does(seed, tenants, fragment, window, spare):
    tenant, page = references(seed, 900, tenants, 50)
    total = tenants + spare
    hit, begins, splits = simulated_ucp(tenant, page, tenants, fragment, total, window)
    cache, served, held = Tenants.ucp(tenants, total * fragment, fragment, window), [], set()
    for i, (a, one) in enumerate(zip(tenant.tolist(), page.tolist(), strict=True)):
        if i in begins:
            assert cache.split == tuple(splits[np.searchsorted(begins, i)])
        served.append(cache.reference(a, one))
        assert served[-1].hit == ((a, one) in held)
        held = (held | {(a, one)}) - set(map(tuple, served[-1].victims))
        assert Counter(owner for owner, _ in held) == Counter(dict(enumerate(cache.resident)))
    assert [one.hit for one in served] == hit.tolist()


def made(how):
    ways = {
        "shared": lambda: Tenants.shared(3, 40, "s3fifo"), "ucp": lambda: Tenants.ucp(3, 60, 4, 25),
        "fixed": lambda: Tenants.fixed([("lru", 20), ("wtinylfu", 30), ("lirs", 9)]),
    }  # fmt: skip
    return ways[how]()


@pytest.mark.parametrize("how", ["shared", "fixed", "ucp"])
@given(seed=st.integers(0, 2**32 - 1), until=st.integers(0, 500))
def test_saved_caches_go_on(how, tmp_path_factory, seed, until):
    path = tmp_path_factory.mktemp("saved") / "state"
    tenant, page = references(seed, 600, 3, 60)
    one, other = made(how), made(how)
    serve(one, tenant[:until], page[:until])
    one.save(path)
    other.restore(path)
    assert (other.split, other.resident) == (one.split, one.resident)
    assert serve(one, tenant[until:], page[until:]) == serve(other, tenant[until:], page[until:])


@pytest.mark.parametrize("how", ["shared", "fixed", "ucp"])
def test_a_damaged_state_changes_nothing(how, tmp_path):
    path, tenant, page = tmp_path / "state", *references(1, 300, 3, 60)
    one, other = made(how), made(how)
    serve(one, tenant, page)
    one.save(path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(RuntimeFault, match="it is damaged, or of other options"):
        other.restore(path)
    assert other.resident == (0, 0, 0)


def test_a_state_of_other_options_is_refused(tmp_path):
    Tenants.ucp(2, 16, 4).save(tmp_path / "state")
    for other in (Tenants.ucp(2, 16, 2), Tenants.ucp(2, 20, 4), Tenants.shared(2, 16, "lru")):
        with pytest.raises(RuntimeFault, match="of other options"):
            other.restore(tmp_path / "state")


REFUSED = {
    "2 to 1024 tenants, not for 1": lambda: Tenants.shared(1, 10, "lru"),
    "policy clock; there are azor": lambda: Tenants.shared(2, 10, "clock"),
    "a cache of 0 pages; give 1 to 2^26": lambda: Tenants.shared(2, 0, "lru"),
    "a part of 0 pages": lambda: Tenants.fixed([("lru", 5), ("lru", 0)]),
    "one of 100 pages remembers 101 to 2^30": lambda: Tenants.shared(2, 100, "lru", remembered=50),
    "1 fragments of 256 pages for 2 tenants": lambda: Tenants.ucp(2, 500),
    "a window of 2^30 at most": lambda: Tenants.ucp(2, 600, 256, 2**31),
    "pages: give a whole number": lambda: Tenants.ucp(2, 2**70),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_is_refused_in_a_line(words):
    with pytest.raises(RuntimeFault) as refused:
        REFUSED[words]()
    assert words in str(refused.value) and "\n" not in str(refused.value)


def test_a_tenant_that_is_none_is_refused():
    with pytest.raises(RuntimeFault, match="tenant 2: there are 2, from 0"):
        Tenants.shared(2, 10, "lru").reference(2, 1)
