import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cachezoo import cli
from cachezoo.cli.wear import dictionary_of
from cachezoo.coded import Coded
from cachezoo.errors import ConfigError
from cachezoo.traces.store import write_trace
from cachezoo.traces.table import Trace, TraceMeta
from tests.page_data import seeded_trace
from tests.trace_data import sample

PAGE = 8192
GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "protocol2" / "streams.ledger.fios"


def trace_of(pages, op=1, name="made"):
    n = len(pages)
    return Trace(
        time_us=np.arange(n, dtype=np.int64) * 1000,
        op=np.full(n, op, np.uint8),
        offset=np.asarray(pages, np.int64) * PAGE,
        size=np.full(n, PAGE, np.int64),
        volume=Coded.constant("vda", n),
        meta=TraceMeta(name, "database", "test", "0" * 64),
    )


def hot_and_cold(n=60_000, footprint=12_000, seed=0):
    """Hot and cold chunks by turns, so that no equal partition parts them."""
    rng = np.random.default_rng(seed)
    page = np.where(rng.random(n) < 0.9, rng.integers(0, footprint // 8, n), rng.integers(footprint // 8, footprint, n))
    chunk, inside = page // 4, page % 4
    return rng.permutation(footprint // 4)[chunk] * 4 + inside


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def go(*words):
        command = ("recommend", "--only", *(() if words[0] == "cache-wear" else ("wear",)))
        monkeypatch.setattr(sys, "argv", ["cachezoo", *command, *map(str, words)])
        with pytest.raises(SystemExit) as left:
            cli.main()
        said = capsys.readouterr()
        return left.value.code, said.out, said.err

    return go


def written(pages, name="trace.parquet", op=1):
    write_trace(trace_of(pages, op), Path(name))
    return name


def rows_of(out, victim="greedy"):
    rows = [row for row in json.loads(out)["rows"] if row["victim"] == victim]
    return {(row["placement"], row["streams"], row["over_provisioning"]): row for row in rows}


def test_streams_pay_where_hot_and_cold_chunks_lie_side_by_side(run):
    file = written(hot_and_cold())
    by = "equal,fios:F,autostream,sepbit,lifetime,oracle"
    status, out, err = run(file, "--streams", "1,4", "--op", "20%,28%", "--placement", by, "--json")
    assert status == 0, err
    rows = rows_of(out)
    legacy, fios = rows["legacy", 1, 0.2], rows["fios:F", 4, 0.2]
    assert len(rows) == 14
    assert fios["waf"] < 0.93 * legacy["waf"]
    assert fios["waf"] < 0.93 * rows["equal", 4, 0.2]["waf"]
    assert fios["fewer"] == pytest.approx(1 - fios["waf"] / legacy["waf"])
    assert fios["fewer_interval"][0] < fios["fewer"] < fios["fewer_interval"][1]
    assert fios["drive_writes"] == pytest.approx(legacy["drive_writes"] * legacy["waf"] / fios["waf"])
    assert rows["oracle", 4, 0.2]["waf"] < fios["waf"]
    assert rows["legacy", 1, 0.28]["waf"] < legacy["waf"]
    assert fios["streams_used"] == 2
    assert rows["lifetime", 4, 0.2]["waf"] < 0.93 * legacy["waf"]
    assert rows["lifetime", 4, 0.2]["parameters"].keys() == {"classes", "parts"}
    assert rows["autostream", 4, 0.2]["parameters"].keys() == {"decay", "chunk_bytes"}
    said = json.loads(out)
    assert said["host_pages"] == 20_000
    assert said["footprint"] == len(set(hot_and_cold().tolist()))
    assert said["answer"].startswith(
        "Do streams pay? Yes, under each rule by which the drive chose the block to erase (greedy, cost-benefit). At "
        "20 % over-provisioning and with greedy the drive without streams writes "
    )
    assert re.search(r"\. With cost-benefit it writes [0-9.]+ without streams\. With ", said["answer"])
    assert {row["victim"] for row in said["rows"]} == {"greedy", "cost-benefit"}
    for advice in said["advice"]:
        own = rows_of(out, advice["victim"])
        chosen = own[advice["placement"], advice["streams"], 0.2]
        rival = own[advice["rival"], advice["rival_streams"], 0.2]
        assert advice["fewer"] == chosen["fewer"] > advice["noise"] > 0
        assert advice["fewer_than_rival"] == pytest.approx(1 - chosen["waf"] / rival["waf"])
        assert rival["waf_before"] >= chosen["waf_before"]
    assert said["notes"] == ["fios:F: the chunks' features have 2 distinct points, and no more streams are used"]


def test_the_answer_speaks_of_what_was_best_on_the_cycle_before_not_on_the_one_that_counts(run):
    before = np.split(hot_and_cold(40_000), 2)
    rng = np.random.default_rng(1)  # the first quarter by address turns hot, which equal parts tell from the rest
    after = np.where(rng.random(20_000) < 0.9, rng.integers(0, 3_000, 20_000), rng.integers(3_000, 12_000, 20_000))
    parts = [written(part, f"part{k}.parquet") for k, part in enumerate([*before, after])]
    words = ("--streams", "4", "--op", "28%", "--placement", "equal,fios:F", "--json")
    status, out, err = run(*parts, *words)
    assert status == 0, err
    rows = rows_of(out)
    equal, fios = rows["equal", 4, 0.28], rows["fios:F", 4, 0.28]
    assert fios["waf_before"] < equal["waf_before"]
    assert fios["waf"] > equal["waf"]
    said = f". With fios:F, 4 streams, chosen on the previous cycle, it writes {fios['waf']:.2f}: "
    assert said in json.loads(out)["answer"]
    halves = json.loads(run(*parts[1:], *words)[1])
    assert ". With equal, 4 streams, the best in hindsight, it writes " in halves["answer"]
    assert {row["waf_before"] for row in halves["rows"]} == {None}


def test_the_answer_comes_first_then_the_table_and_the_plot(run):
    file = written(hot_and_cold())
    status, out, err = run(file, "--streams", "4", "--op", "28%", "--placement", "equal,oracle", "-o", "wear.svg")
    assert status == 0, err
    assert "over-provisioning and with greedy the drive without streams writes" in out.splitlines()[0]
    for word in ("placement", "legacy", "equal, 4 streams", "oracle, 4 streams", "3,000 erases"):
        assert word in out
    drawn = Path("wear.svg").read_text()
    assert drawn.startswith("<?xml")
    for word in ("28% over-provisioning", "WAF, with", "erases of blocks", "drive writes"):
        assert word in drawn
    run(file, "--streams", "4", "--op", "28%", "--placement", "equal,oracle", "-o", "again.svg")
    assert Path("again.svg").read_bytes() == Path("wear.svg").read_bytes()


def test_several_traces_are_cycles_and_one_is_cut_into_them(run):
    pages = hot_and_cold(60_000)
    whole = written(pages)
    parts = [written(part, f"part{k}.parquet") for k, part in enumerate(np.split(pages, 3))]
    words = ("--streams", "4", "--op", "28%", "--placement", "equal", "--json")
    cut, apart = (json.loads(run(*files, *words)[1]) for files in ([whole], parts))
    assert cut["rows"] == apart["rows"]
    halves = json.loads(run(whole, *words, "--cycles", "2")[1])
    assert halves["host_pages"] == 30_000


@pytest.mark.parametrize(
    ("pages", "words", "begin", "more"),
    [
        (
            np.arange(60_000) % 20_000, ("--placement", "equal,oracle", "--op", "15%"),
            "Do streams pay? No, there is nothing to gain, under each rule by which the drive chose the block to erase "
            "(greedy, cost-benefit). At 15 %",
            "1.0 times the trace's distinct pages (156.2 MiB).",
        ),
        (
            hot_and_cold(6_000), ("--placement", "equal", "--op", "28%", "--cycles", "10", "--ssd", "1GiB"), "",
            "a longer trace may say otherwise. They are 2 % of the drive, and the rest is room",
        ),
        (
            hot_and_cold(), ("--placement", "sepbit,oracle", "--op", "28%"),
            "Do streams pay? No placement that a host can use is among these. ",
            "A drive that places by itself, which no host can choose, has 2.",
        ),
    ],
)  # fmt: skip
def test_the_answer_says_what_there_is_to_gain_and_what_it_rests_on(run, pages, words, begin, more):
    status, out, err = run(written(pages), "--streams", "4", *words)
    assert status == 0, err
    assert out.startswith(begin) and more in out.splitlines()[0]


def test_what_saves_nothing_is_not_told_apart(run):
    pages = np.random.default_rng(0).integers(0, 12_000, 60_000)  # any placement is as good as none
    words = ("--placement", "equal", "--streams", "4", "--op", "28%", "--victim", "greedy", "--json")
    status, out, err = run(written(pages), *words)
    assert status == 0, err
    (advice,) = json.loads(out)["advice"]
    assert abs(advice["fewer"]) < 0.02 and advice["verdict"] != "better"
    file = written(hot_and_cold(), "skewed.parquet")
    words = ("--placement", "fios:F", "--streams", "4", "--op", "28%", "--victim", "greedy", "--json")
    assert json.loads(run(file, *words)[1])["advice"][0]["verdict"] == "better"


@pytest.mark.needs("public_traces")
def test_writes_smaller_than_a_flash_page_come_first(run):
    """NAND bytes over those of the host, and drive writes in bytes, as the case among the public traces says."""
    words = ("--op", "28%", "--streams", "1,4", "--placement", "legacy", "--victim", "greedy")
    file = sample("cases/wear-512-byte-writes.csv.gz")
    status, out, err = run(file, *words, "--json")
    assert status == 0, err
    found = json.loads(out)
    (row,) = found["rows"]
    assert found["host_bytes"] == 52_731 * 512
    assert row["waf_bytes"] == pytest.approx(34.8, abs=0.05)
    assert row["drive_writes"] == pytest.approx(120, abs=0.5)
    assert found["answer"].startswith(
        "Writes smaller than a flash page come first: a page of 8 KiB is written for 512 B of the host on average, "
        "so that without streams flash takes 34.8 bytes for each byte of the host, 16.0 by small writes times 2.17 by"
    )


def test_the_erase_unit_and_the_place_of_copies_are_options(run):
    file = written(hot_and_cold())
    words = ("--placement", "fios:F", "--streams", "4", "--op", "28%", "--victim", "greedy", "--json")
    kept, shared = (rows_of(run(file, *words, "--copies", copies)[1]) for copies in ("keep", "shared"))
    small = rows_of(run(file, *words, "--unit", "128KiB", "--free", "4")[1])
    assert len({found["fios:F", 4, 0.28]["waf"] for found in (kept, shared, small)}) == 3
    assert small["legacy", 1, 0.28]["erases"] > 3 * kept["legacy", 1, 0.28]["erases"]


def test_two_cycles_are_enough_to_learn_on_one_and_serve_the_other(run):
    words = ("--cycles", "2", "--placement", "fios:F,lifetime", "--streams", "4", "--op", "28%", "--json")
    rows = rows_of(run(written(hot_and_cold()), *words)[1])
    legacy = rows["legacy", 1, 0.28]["waf"]
    assert rows["fios:F", 4, 0.28]["waf"] < legacy
    assert rows["lifetime", 4, 0.28]["waf"] < legacy


def test_notes_are_lines_of_their_own_below_the_table_one_a_placement(run):
    words = ("--placement", "fios:F,fios,autostream", "--streams", "4,8,16", "--op", "28%")
    parts = [written(part, f"part{k}.parquet") for k, part in enumerate(np.split(hot_and_cold(), [30_000, 30_015]))]
    status, out, err = run(*parts, *words)
    assert status == 0, err
    below = out.rsplit("drive writes until", 1)[1].splitlines()
    notes = [line.partition(":")[0] for line in below if line.startswith(("fios", "auto"))]
    assert notes == ["fios", "fios", "autostream"]
    assert below[-1] == (
        "autostream: cycle 2 of 3 writes 15 pages, too few to tune on: it takes decay 0.5, chunk_bytes 32768"
    )
    assert out.count("distinct point") == 1


def test_a_drive_that_is_too_small_may_be_larger(run):
    file = written(hot_and_cold())
    status, _, err = run(file, "--streams", "250", "--op", "28%", "--placement", "equal")
    assert status == 1
    assert err.rstrip().endswith("fewer streams, or more over-provisioning, or a larger --ssd")
    assert run(file, "--streams", "250", "--op", "28%", "--placement", "equal", "--ssd", "1GiB")[0] == 0
    err = run(file, "--ssd", "1MiB")[2]
    assert err.rstrip().endswith("give a larger capacity, or none for a drive as large as what is written")


def test_a_bundle_is_of_one_volume(run):
    trace = trace_of(hot_and_cold())
    halves = np.repeat(np.array([0, 1], np.int32), len(trace) // 2)
    write_trace(replace(trace, volume=Coded(halves, ("vda", "vdb"))), Path("two.parquet"))
    status, out, err = run("two.parquet", "--op", "28%", "--bundle", GOLDEN)
    assert (status, out) == (1, "")
    assert err.splitlines() == [
        "cachezoo: two.parquet: it writes to 2 volumes (vda, vdb), and --bundle is of one: "
        "split the trace first (cachezoo trace split --by volume), or leave --bundle out"
    ]


def test_a_bundle_places_as_its_dictionary_says(run):
    file = written(hot_and_cold())
    status, out, err = run(file, "--placement", "equal", "--streams", "4", "--op", "28%", "--bundle", GOLDEN, "--json")
    assert status == 0, err
    assert [name for name, *_ in rows_of(out)] == ["legacy", "equal", "bundle"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--placement", "fast"), "--placement 'fast': there is no such placement; use legacy, equal"),
        (("--placement", "equal:F"), "--placement 'equal:F': there is no such placement"),
        (("--placement", "fios:X"), "--placement 'fios:X': FIOS has the features F, A, S, C, FA"),
        (("--ssd", "1MiB"), "more than the drive's capacity of 1 MiB"),
        (("--streams", "250"), "trace.parquet: 6024 pages"),
        (("--streams", "250"), "spare blocks of 64 pages, and 260 are needed"),
        (("--streams", "4,16,250", "--op", "1%,20%,28%"), "; these fit: --op 20%,28% --streams 4"),
        (("--streams", "4,8,250", "--op", "1%,28%"), "; these fit: --op 28% --streams 4,8"),
        (("--streams", "4,250", "--placement", "equal", "--op", "2.5%,28%"), "; these fit: --op 28% --streams 4"),
        (("trace.parquet", "--cycles", "3"), "several traces are a cycle each, leave --cycles out"),
        (("--victim", "lru"), "--victim 'lru': the drive's victims are greedy, wear, cost-benefit, "),
        (("--unit", "12KiB"), "the least is 32 KiB"),
        (("--unit", "36KiB"), "--unit 36KiB: give a multiple of a flash page of 8192 bytes"),
        (("-o", "wear.pdf"), "give a name that ends in .png or .svg"),
    ],
)
def test_bad_input_is_one_clear_line(run, words, said):
    file = written(hot_and_cold())
    status, out, err = run(file, *words, "--op", "28%") if "--op" not in words else run(file, *words)
    assert (status, out) == (1, "")
    assert said in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("pages", "op", "said"),
    [
        (np.arange(600), 0, "no request writes, so that no flash wears"),
        (np.arange(57), 1, "made: cycle 3 of 3, which is counted, writes 19 pages of 8 KiB, at least 20 are needed"),
        (np.arange(600) % 4, 1, "one chunk of 32 KiB alone is written"),
        (np.arange(600) % 8, 1, "spare blocks of 64 pages, and"),
        (np.arange(2), 1, "too few to cut"),
    ],
)
def test_traces_that_no_drive_can_be_judged_by_are_refused(run, pages, op, said):
    status, out, err = run(written(pages, op=op))
    assert (status, out) == (1, "")
    assert said in err
    assert len(err.splitlines()) == 1


def cached(tmp_path):
    write_trace(seeded_trace(120_000, 40_000, 3), tmp_path / "reads.parquet")
    return "reads.parquet"


def test_what_a_caches_admission_writes_becomes_erases(run, tmp_path):
    words = (cached(tmp_path), "--policy", "lru", "--policy", "rejectx+lru", "--size", "40%", "--op", "28%")
    by = ("--placement", "legacy,sepbit")
    status, out, err = run("cache-wear", *words, *by)
    assert status == 0, err
    lru, rejectx = json.loads(run("cache-wear", *words, *by, "--json")[1])["runs"]
    first, *_ = rows = lru["rows"]
    assert [row["placement"] for row in rows] == ["legacy", "sepbit"] and lru["page_bytes"] == 4096
    begin = f"At 28 % over-provisioning lru erases {first['erases']:,} blocks for {lru['host_pages']:,} pages"
    assert out.startswith(begin) and "rejectx erases " in out.splitlines()[0]
    assert rejectx["host_pages"] < lru["host_pages"] and rejectx["rows"][0]["erases"] < first["erases"]


def test_a_cache_that_hardly_writes_in_the_cycle_before_has_a_note_below_its_table(run):
    rng = np.random.default_rng(0)
    reads = np.concatenate(
        [rng.integers(0, 30_000, 30_000), np.zeros(30_000, np.int64), rng.integers(0, 30_000, 30_000)]
    )
    words = ("--policy", "fifo", "--size", "40%", "--op", "28%", "--placement", "sepbit")
    status, out, err = run("cache-wear", written(reads, op=0), *words)
    assert status == 0, err
    last = out.splitlines()[-1]
    assert last.startswith("fifo, sepbit: cycle 2 of 3 writes ") and last.endswith("it takes collected 4")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--placement", "fios"), "--placement fios: it learns from chunks of the trace's volume"),
        (("--policy", "best"), "policy best: best is unknown"),
        (("--size", "0"), "--size '0'"),
        (("--size", "100p"), "lru with a cache of 400 KiB (100 p): 100 pages of 4096 bytes"),
        (("--size", "100p"), "more over-provisioning, or a larger --size"),
        (("--op", "0"), "--op '0': give the share"),
    ],
)
def test_bad_input_of_caches_is_one_clear_line(run, tmp_path, words, said):
    status, out, err = run("cache-wear", cached(tmp_path), *words)
    assert (status, out) == (1, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_a_bundle_by_lifetime_has_no_dictionary_to_place_by():
    with pytest.raises(ConfigError, match="it places by lifetime and has no dictionary"):
        dictionary_of(Path("tests/golden/protocol2/streams.spool.lifetime"))
