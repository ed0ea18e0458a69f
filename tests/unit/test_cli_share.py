"""`cachezoo recommend --only share` from the command line."""

import json

import pytest

from cachezoo.cli.share import DEFAULT_BY
from cachezoo.questions.share.partitioners import PARTITIONERS, parse, parse_several
from cachezoo.traces import memory, sampling
from cachezoo.traces.mixing import interleave
from cachezoo.traces.store import write_trace
from tests.command_line import run
from tests.sharing_data import named_trace, numbered

SHARE = ("recommend", "--only", "share")

PNG, SVG = b"\x89PNG", b"<?xml"
BY = "gvpa(fragment=8, q=100),equal(fragment=8),shared(fragment=8)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("share")
    web, mail = named_trace("web", 1500, 400, 1), named_trace("mail", 900, 250, 2)
    for trace in (web, mail, interleave([web, mail], "both")):
        write_trace(trace, path / f"{trace.meta.trace_id}.parquet")
    write_trace(numbered(mail), path / "numbered.parquet")
    return path


def found(folder, *words):
    done = run(*SHARE, folder / "web.parquet", folder / "mail.parquet", "--partitioner", BY, "--json", *words)
    return json.loads(done.stdout)


def test_the_default_tries_every_partitioner():
    assert {one.partitioner for one in parse_several(DEFAULT_BY)} == set(PARTITIONERS) - {parse("fixed").partitioner}


def test_values_of_each_partitioner_and_application(folder):
    own = found(folder, "--size", "64p")
    assert own["applications"] == ["web", "mail"] and own["order"] == "clock" and own["cache_pages"] == 64
    assert [row["partitioner"] for row in own["rows"]] == ["gvpa(fragment=8, q=100)", "equal(fragment=8)",
                                                           "shared(fragment=8)"]  # fmt: skip
    for row in own["rows"]:
        assert row["transfers"] == pytest.approx(row["misses"] + row["fragmentation"] + row["allocation"])
        assert sum(one["references"] for one in row["applications"]) == own["counted"]
        assert 0 <= row["hit_ratio"] < 1 and row["hit_ratio"] == pytest.approx(1 - row["misses"])
    assert own["rows"][1]["split"] == [[0, 32, 32]]


def test_a_mixture_is_the_same_as_its_traces_by_the_clock(folder):
    apart = json.loads(run(*SHARE, folder / "both.parquet", "--partitioner", BY, "--size", "64p", "--json").stdout)
    assert apart == found(folder, "--size", "64p")


def test_orders_and_names(folder):
    own = found(folder, "--size", "64p", "--order", "lockstep", "--names", "a,b", "--count", "10,20")
    assert own["order"] == "lockstep" and own["applications"] == ["a", "b"]
    assert own["counted_from"] == [20, 41]


def test_what_to_know_of_the_order_is_a_line_and_in_json(folder):
    words = (*SHARE, folder / "web.parquet", folder / "numbered.parquet", "--partitioner", BY, "--size", "64p")
    said = "mail has no clock: page accesses come in lockstep, one of each in turn"
    done = run(*words, "--json")
    assert json.loads(done.stdout)["remarks"] == [said] and done.stderr == f"note: {said}\n"
    assert found(folder, "--size", "64p")["remarks"] == []


def test_a_fragment_is_for_all_that_have_none_of_their_own(folder):
    by = "equal,shared,gvpa(fragment=8, q=100)"
    own = found(folder, "--size", "64p", "--partitioner", by, "--fragment", "8")
    assert [row["partitioner"] for row in own["rows"]] == ["equal(fragment=8)", "shared(fragment=8)",
                                                           "gvpa(fragment=8, q=100)"]  # fmt: skip
    both = (folder / "web.parquet", folder / "mail.parquet")
    done = run(*SHARE, *both, "--partitioner", "equal,shared(fragment=256)", "--fragment", "8", ok=False)
    assert "fragments of 8 and 256 pages" in done.stderr


def test_floors_and_what_runs_today(folder):
    both = ("--size", "64p", "--now", "equal", "--fragment", "8")
    own = found(folder, *both, "--floor", "web=24p", "--floor", "mail=hits:1%")
    assert own["now"] == "equal(fragment=8)" and set(own["chosen_on"]) >= {"equal(fragment=8)"}
    shared = next(row for row in own["rows"] if row["partitioner"].startswith("shared"))
    assert shared["unmet"] == ["web has no part of its own"] and own["chosen_on"][shared["partitioner"]] is None
    none = found(folder, *both, "--floor", "web=hits:100%")
    assert none["answer"].startswith("None keeps the floors. ") and none["service"] == []


def test_a_learned_split_is_printed_as_what_runs_it_again(folder):
    by = ("--partitioner", "learned(policy=lru|rejectx, steps=8),equal", "--now", "equal")
    by += ("--fragment", "8", "--size", "64p")
    both = (folder / "web.parquet", folder / "mail.parquet")
    own = json.loads(run(*SHARE, *both, *by, "--json").stdout)
    row = own["rows"][0]
    assert sum(row["split"][0][1:]) == 64 and set(row["policies"]) <= {"lru", "rejectx"}
    text = f"fixed(pages={row['split'][0][1]}/{row['split'][0][2]}, policy={'/'.join(row['policies'])}, fragment=8)"
    again = json.loads(run(*SHARE, *both, "--partitioner", text, "--now", text, "--size", "64p", "--json").stdout)
    assert again["rows"][0]["transfers"] == row["transfers"]


def test_a_cache_that_is_too_small_for_some_is_shared_by_the_others(folder):
    words = (*SHARE, folder / "web.parquet", folder / "mail.parquet", "--fragment", "16", "--size")
    done = run(*words, "48p", "--json")
    own = json.loads(done.stdout)
    assert len(own["left_out"]) == 1 and len(own["rows"]) == len(parse_several(DEFAULT_BY)) - 2
    assert own["left_out"][0].startswith("left out: gvpa(fragment=16), gvpa(fragment=16, alpha=0.98,")
    assert "has 3 fragments of 16 pages, and 2 applications take 2 each" in own["left_out"][0]
    assert done.stderr.count("\n") == 1 and "--fragment 8" in done.stderr
    assert json.loads(run(*words, "64p", "--json").stdout)["left_out"] == []
    for alone in (run(*words, "16p", ok=False), run(*words, "48p", "--partitioner", "equal,gvpa", ok=False)):
        assert len(alone.stderr.splitlines()) == 1 and "applications take" in alone.stderr and not alone.stdout


def test_sizes_are_of_all_pages(folder):
    own = found(folder, "--size", "20%")
    assert own["cache_pages"] == round(own["distinct_pages"] / 5)


def test_the_answer_comes_first(folder):
    done = run(*SHARE, folder / "web.parquet", folder / "mail.parquet", "--partitioner", BY, "--size", "64p")
    first = done.stdout.splitlines()[0]
    assert first.startswith(("Share it: ", "Split it: ", "Change nothing: ")) and first.endswith(".")
    text = " ".join(done.stdout.split())
    assert "2 applications and one cache of 256 KiB" in text and "hit ratio of each application" in text
    assert "in the order of their times" in text and "exosx20_990pro" in text


def test_a_plot_is_png_or_svg_and_its_bytes_depend_on_the_contest_alone(folder, tmp_path):
    for name, begin in (("a.png", PNG), ("b.svg", SVG)):
        own = [tmp_path / turn / name for turn in ("first", "again")]
        for path in own:
            path.parent.mkdir(exist_ok=True)
            run(*SHARE, folder / "both.parquet", "--partitioner", BY, "--size", "64p", "-o", path)
        assert own[0].read_bytes() == own[1].read_bytes() and own[0].read_bytes().startswith(begin)


def test_a_plot_says_what_is_not_known_and_what_the_dotted_line_is(folder, tmp_path):
    by = "shared(fragment=8),shared(fragment=8, policy=vrm(fragment=8, n=512, q=100))"
    picture = tmp_path / "share.svg"
    run(*SHARE, folder / "both.parquet", "--partitioner", by, "--size", "64p", "-o", picture)
    drawn = picture.read_text()
    for text in ("not known", "these two together", "counting begins"):
        assert drawn.count(f"<!-- {text} -->") == 1, text


@pytest.mark.parametrize(
    ("traces", "options", "message"),
    [
        ("web none", (), "none.parquet: no such file"),
        ("web web", (), "2 applications are called web; give each a name of its own (--names A,B,…)"),
        (
            "web mail",
            ("--size", "1MiB", "--partitioner", "equal"),
            "has 1 fragment of 256 pages, and 2 applications take 1 each: give at least 2 MiB (512 p), or smaller "
            "fragments (--fragment 128)",
        ),
        ("web mail", ("--size", "2GiB"), "so that there is nothing to split; give --size 100% or less"),
        ("web mail", ("--size", "64"), "--size '64': a bare number could be pages or bytes"),
        ("web mail", ("--partitioner", ""), "partitioner (empty): "),
        ("web mail", ("--names", "a"), "1 names for 2 applications"),
        ("web mail", ("-o", "share.pdf"), "give a name that ends in .png or .svg"),
        ("web mail", ("--apart", "source"), "it does not say which trace a request comes from"),
        ("web mail", ("--device", "nothing"), "nothing"),
        ("web mail", ("--size", "64p", "--floor", "other=10%"), "APP one of web, mail"),
        ("web mail", ("--size", "64p", "--floor", "web=hits:2"), "give a hit ratio above 0 and at most 1"),
        (
            "web mail",
            ("--size", "64p", "--fragment", "8", "--partitioner", "ucp", "--floor", "web=40p", "--floor", "mail=40p"),
            "floors take 320 KiB (80 p), and the cache has 256 KiB (64 p): lower one (--floor)",
        ),
    ],
)
def test_bad_input_is_one_line(folder, traces, options, message):
    done = run(*SHARE, *(folder / f"{name}.parquet" for name in traces.split()), *options, ok=False)
    assert len(done.stderr.splitlines()) == 1 and message in done.stderr, done.stderr
    assert done.returncode == 1 and not done.stdout


def test_an_application_that_ends_early_is_said_beside_the_answer_and_in_json(tmp_path):
    for trace in (named_trace("long", 3000, 400, 1), named_trace("short", 100, 50, 2)):
        write_trace(trace, tmp_path / f"{trace.meta.trace_id}.parquet")
    words = (*SHARE, tmp_path / "long.parquet", tmp_path / "short.parquet", "--partitioner", BY, "--size", "64p",
             "--order", "lockstep")  # fmt: skip
    line = "after that long has the cache to itself"
    assert line in run(*words).stdout
    assert any(line in said for said in json.loads(run(*words, "--json").stdout)["remarks"])


def test_a_file_of_no_known_format_beside_others_is_to_be_ingested_first(folder, tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("when;blk;cnt;kind\n" + "".join(f"{k};{8 * k};16;r\n" for k in range(30)))
    said = run(*SHARE, path, folder / "web.parquet", ok=False).stderr
    assert said.endswith(
        f"--columns here is of all 2 files: give it to cachezoo trace ingest {path}, and name here what that writes\n"
    )


def test_a_long_trace_is_answered_from_a_sample(folder, tmp_path, monkeypatch):
    monkeypatch.setenv(memory.FROM, "1")
    assert found(folder, "--size", "64p") == found(folder, "--size", "64p", "--sample", "exact")  # it keeps all of it
    web, mail = named_trace("web", 6000, 20_000, 1), named_trace("mail", 4000, 12_000, 2)
    for trace in (web, mail, interleave([web, mail], "both")):
        write_trace(trace, tmp_path / f"{trace.meta.trace_id}.parquet")
    exact = found(tmp_path, "--size", "800p", "--sample", "exact")
    monkeypatch.setattr(sampling, "SAMPLED", exact["references"] // 2)
    monkeypatch.setattr(sampling, "LEAST_BLOCKS", 1)
    own = found(tmp_path, "--size", "800p")
    assert 0 < own["trace_sampled"] < 1 and own["cache_pages"] == 800 and "trace_sampled" not in exact
    assert own["references"] == exact["references"]
    assert own["distinct_pages"] == pytest.approx(exact["distinct_pages"], rel=0.01)
    for row, other in zip(own["rows"][1:], exact["rows"][1:], strict=True):
        assert row["transfers"] == pytest.approx(other["transfers"], abs=3 * row["transfers_error_90"])
    assert own["rows"][1]["split"] == [[0, 400, 400]]
    done = run(*SHARE, tmp_path / "both.parquet", "--partitioner", BY, "--size", "800p")
    assert "estimated from a sample" in " ".join(done.stdout.split()) and " ± " in done.stdout


def test_samples_are_drawn_where_they_can_stand_for_the_traces(folder, tmp_path):
    both = (folder / "web.parquet", folder / "mail.parquet")
    done = run(*SHARE, *both, "--partitioner", BY, "--sample", "0.00001", ok=False)
    assert "none of its blocks is chosen: raise rate 1e-05, or take all of it" in done.stderr
    done = run(*SHARE, folder / "web.parquet", "--sample", "50%", "--size", "64p", ok=False)
    assert "no mixture of several traces; name more, or --apart volume" in done.stderr
    picture = tmp_path / "share.png"
    done = run(*SHARE, folder / "both.parquet", "--partitioner", BY, "--sample", "50%", "--size", "64p", "-o", picture)
    assert picture.read_bytes().startswith(PNG) and "estimated from a sample" in done.stdout
