"""The commands on traces of objects: figures, what is refused and why, and that a key is a name."""

import json

import numpy as np
import pytest

from tests.command_line import run
from tests.trace_data import sample

COLUMNS = ("--columns", "time=#1:s,key=#2,size=#3:1,op=#4,ttl=#5")
COMMANDS = {
    "simulate": ("--policy", "lru", "--policy", "coinflip(p=0.5)+gdsf", "--size", "5%,64KiB"),
    "compare": ("--size", "10%"),
    "curve": ("--policy", "s3fifo", "--points", "4"),
    "bounds": ("--size", "10%"),
    "recommend": (),
    "recommend --only flash": (),
    "trace report": (),
    "recommend --only flash --policy baleen": (),
}
OF_THE_FILE = ("requests_per_s", "source_sha256")  # how fast a run was, and what the file's bytes are


def rows(n=2000, objects=150, seed=3):
    """Time, object, size, op and time to live: some objects are large, some requests write or delete."""
    draw = np.random.default_rng(seed)
    key = (draw.pareto(0.8, n) * 4).astype(np.int64) % objects
    size = 100 + (key * 7919) % 9000
    op = draw.choice(["get", "get", "get", "get", "set", "delete"], n)
    ttl = np.where(op == "set", draw.choice([0, 2], n), 0)
    return [[k // 20, int(key[k]), int(size[k]), str(op[k]), int(ttl[k])] for k in range(n)]


def written(path, table):
    path.write_text("".join(" ".join(map(str, row)) + "\n" for row in table))
    return path


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return written(tmp_path_factory.mktemp("objects") / "objects.txt", rows())


def asked(command, path, *words):
    return json.loads(run(*command.split(), path, *words, *COLUMNS, "--json").stdout)


def naive_lru(table, capacity, *, deletes=True, ttl=True):
    """Hits, bytes of hits, and requests of an LRU cache of bytes."""
    held, void, hits, hit_bytes, total = {}, {}, 0, 0, 0
    for time, key, size, op, life in table:
        if op == "delete" and not deletes:
            continue
        if key in held and ttl and time >= void[key]:
            del held[key]
        if op == "delete":
            held.pop(key, None)
            continue
        total += 1
        until = time + life if life else float("inf")
        if key in held:
            hits, hit_bytes = hits + 1, hit_bytes + size
            held[key] = held.pop(key)
            if op == "set":
                void[key] = until
        elif size <= capacity:
            held[key], void[key] = size, until
            while sum(held.values()) > capacity:
                del held[next(iter(held))]
    return hits, hit_bytes, total


@pytest.mark.parametrize("ignored", [(), ("ttl",), ("deletes",), ("deletes", "ttl")])
def test_simulate_heeds_deletes_and_times_to_live(trace, ignored):
    words = ("--ignore", ",".join(ignored)) if ignored else ()
    (found,) = asked("simulate", trace, "--size", "100KiB", "--count", "all", *words)["runs"]
    hits, hit_bytes, total = naive_lru(
        rows(), 100 * 1024, deletes="deletes" not in ignored, ttl="ttl" not in ignored
    )  # fmt: skip
    assert (found["hits"], found["byte_hits"], found["requests"]) == (hits, hit_bytes, total)
    assert found["capacity_bytes"] == 100 * 1024
    assert (found["deletes"] > 0) == ("deletes" not in ignored)
    assert (found["expired"] > 0) == ("ttl" not in ignored)


def test_ignored_sizes_make_a_cache_of_so_many_objects(trace):
    (found,) = asked("simulate", trace, "--size", "10%", "--count", "all", "--ignore", "sizes")["runs"]
    distinct = len({row[1] for row in rows() if row[3] != "delete"})
    equal = [[time, key, 1, op, life] for time, key, _, op, life in rows()]
    assert found["capacity_objects"] == round(0.1 * distinct)
    assert found["hits"] == naive_lru(equal, found["capacity_objects"])[0]
    assert found["byte_hit_ratio"] is None


def test_compare_shows_what_no_cache_beats(trace):
    (found,) = asked("compare", trace, "--size", "10%")["runs"]
    most = found["bounds"]["hit_ratio_upper"]
    assert found["rows"][0]["policy"] == found["best_classic"]
    assert all(row["hit_ratio"] <= most for row in found["rows"])
    assert {"lru", "gdsf", "wtinylfu", "lhd", "adaptsize+lru"} <= {row["policy"] for row in found["rows"]}


def test_recommend_names_a_policy_that_the_first_half_chose(trace):
    found = asked("recommend", trace)
    row = found["sizes"][found["recommended"]]
    assert row["policy"] in (row["chosen_on_first_half"], "lru")
    assert row["hit_ratio"] <= row["upper_bound"]
    said = run("recommend", trace, *COLUMNS).stdout
    assert "no runtime here serves objects" in said
    assert "cachezoo simulate" in said


def test_recommend_reaches_a_target_or_says_that_it_cannot(trace):
    found = asked("recommend", trace, "--target-hit", "50%")
    row = found["sizes"][found["recommended"]]
    assert found["why"] == "reached"
    assert row["hit_ratio"] >= 0.5
    said = run("recommend", trace, "--target-hit", "99.9%", *COLUMNS).stdout
    assert "cannot be reached with any size or policy tried" in said


def test_objects_that_never_return_need_no_cache(tmp_path):
    path = written(tmp_path / "once.txt", [[k, k, 100, "get", 0] for k in range(500)])
    assert asked("recommend", path)["recommended"] is None
    assert "No cache: even one for all objects hits only 0 %" in run("recommend", path, *COLUMNS).stdout


def test_flash_meets_its_budget_on_the_first_half(trace):
    found = asked("recommend --only flash", trace, "--write-rate", "30%")
    everything, *budgeted = found["rows"]
    assert everything["admission"] == "accept_all"
    assert {row["admission"] for row in budgeted} == {"coin_flip", "rejectx", "by_size"}
    assert all(row["bytes_written"] < everything["bytes_written"] for row in budgeted)
    several = asked("recommend --only flash", trace, "--write-rate", "30%", "--size", "5%,10%")
    assert [one["size"] for one in several["caches"]] == ["5%", "10%"]
    assert [row for row in several["rows"] if row["size"] == "10%"] == found["rows"]


def test_flash_says_that_an_admission_can_be_learned(trace):
    assert "--policy baleen also runs" in run("recommend", "--only", "flash", trace, *COLUMNS).stdout
    said = run("recommend", "--only", "flash", trace, "--policy", "baleen", *COLUMNS).stdout
    assert "--policy baleen also runs" not in said and "baleen" in said and "rejectx" in said


@pytest.mark.parametrize(
    ("command", "words", "said"),
    [
        ("simulate", ("--policy", "lru+next(n=4)"), "next reads ahead by address, and objects have no neighbours"),
        ("simulate", ("--device", "exosx20_990pro"), "--device: the trace names objects by keys"),
        ("simulate", ("--unit", "request"), "--unit: the trace names objects by keys"),
        ("simulate", ("--policy", "arc"), "arc is unknown"),
        ("simulate", ("--size", "64p"), "--size '64p': objects are not pages"),
        ("simulate", ("--size", "0.5B"), "--size '0.5B': a cache has at least one byte"),
        ("simulate", ("--size", "99999999TiB"), "--size '99999999TiB': a cache has at least one byte, and less than"),
        ("simulate", ("--size", "64KiB", "--ignore", "sizes"), "sizes are ignored, so that it holds objects"),
        ("simulate", ("--ignore", "keys"), "a trace of objects has deletes, ttl, sizes"),
        ("recommend", ("--target-ms", "2"), "--target-ms: the trace names objects by keys"),
        ("recommend", ("--hits", "bytes", "--ignore", "sizes"), "without sizes there are no bytes"),
        ("recommend --only flash", ("--prefetch", "next(8)"), "--prefetch: the trace names objects by keys"),
        ("recommend --only flash", ("--disk", "wdredpro2tb"), "--disk: the trace names objects by keys"),
        (
            "recommend --only flash",
            ("--policy", "opt"),
            "of objects has accept_all, coin_flip, rejectx, by_size, baleen",
        ),
        ("recommend --only flash", ("--policy", "baleen", "--bundle", "b"), "b: "),
        ("recommend --only tiers", (), "has no addresses"),
        ("sweep", (), "has no addresses"),
    ],
)
def test_what_needs_addresses_is_refused_with_the_reason(trace, command, words, said):
    done = run(*command.split(), trace, *words, *COLUMNS, ok=False)
    assert said in done.stderr
    assert done.stdout == ""


def test_a_trace_of_addresses_refuses_what_is_of_objects(tmp_path):
    path = tmp_path / "pages.csv"
    path.write_text("time_us,op,offset,size\n" + "".join(f"{k},R,{4096 * (k % 9)},4096\n" for k in range(99)))
    for words in (("--ignore", "ttl"), ("--policy", "gdsf")):
        done = run("simulate", path, *words, ok=False)
        assert "of traces of objects" in done.stderr or "gdsf is unknown" in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_new_keys_change_no_figure(command, tmp_path, monkeypatch):
    place = np.random.default_rng(5).choice(2**31, 150, replace=False)
    renamings = {"old": lambda key: key, "new": lambda key: int(place[key]), "texts": lambda key: f"user/{97 - key}"}
    found = {}
    for name, renamed in renamings.items():
        (tmp_path / name).mkdir()
        written(tmp_path / name / "t.txt", [[row[0], renamed(row[1]), *row[2:]] for row in rows()])
        monkeypatch.chdir(tmp_path / name)
        values = asked(command, "t.txt", *COMMANDS[command])
        found[name] = json.dumps(values, default=str)
    figures = {name: _figures(json.loads(text)) for name, text in found.items()}
    assert figures["new"] == figures["old"]
    assert figures["texts"] == figures["old"]


def _figures(value):
    if isinstance(value, dict):
        return {key: _figures(own) for key, own in value.items() if key not in OF_THE_FILE}
    return [_figures(own) for own in value] if isinstance(value, list) else value


@pytest.mark.needs("public_traces")
def test_the_cases_have_their_right_values():
    web = sample("cases/webcachesim-time-id-size.tr")
    columns = ("--columns", "time=#1:s,key=#2,size=#3:1,op=read")
    words = ("--size", "10%", "--count", "all", "--json", *columns)
    (found,) = json.loads(run("simulate", web, *words).stdout)["runs"]
    assert (round(found["hit_ratio"], 4), round(found["byte_hit_ratio"], 4)) == (0.5168, 0.4047)
    twice = sample("cases/object-ids-numbered-by-first-appearance.tr")
    words = ("--policy", "lru", "--policy", "s3fifo", "--size", "20%", "--count", "all", "--ignore", "sizes", "--json")
    found = json.loads(run("simulate", twice, *words, *columns).stdout)["runs"]
    assert round(found[0]["hit_ratio"], 4) == 0.4483
    assert all(row["hit_ratio"] <= 0.5 for row in found)
    kept = sample("cases/cachelib-kv-guess-collapses-keys.csv")
    columns = ("--columns", "time=op_time:s,key=key,size=size:1,op=op,count=op_count,ttl=ttl")
    words = ("--size", "10%", "--count", "all", "--ignore", "sizes", "--json", *columns)
    (found,) = json.loads(run("simulate", kept, *words).stdout)["runs"]
    assert found["hits"] == 1865  # of 20,000: 0.0933
