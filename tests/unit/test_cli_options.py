"""The grammars of options: what each takes, and what it says of what it does not take, in one style."""

import json
import re

import pytest

from cachezoo.cli import options
from cachezoo.cli.common import outputs
from cachezoo.errors import CachezooError, ConfigError
from cachezoo.questions.flash.options import WriteRate
from cachezoo.questions.tiers.budget import Money
from cachezoo.questions.tiers.purchase import Rating
from cachezoo.sizes import Size
from cachezoo.traces.mixing import Turn
from tests.command_line import run

GIB = 1 << 30
TAKEN = [
    (options.device_bytes, "4096", 4096), (options.device_bytes, "512 MiB", 512 << 20),
    (options.device_bytes, "20G", 20 * GIB), (options.device_bytes, "3B", 3),
    (options.page_bytes, "4KiB", 4096), (options.page_bytes, "64 kib", 65_536), (options.page_bytes, "1MiB", 1 << 20),
    (options.hit_ratio, "0.8", 0.8), (options.hit_ratio, " 80 % ", 0.8), (options.hit_ratio, "1", 1.0),
    (options.sample_rate, "auto", None), (options.sample_rate, "exact", None), (options.sample_rate, "1%", 0.01),
    (options.over_provisioning, "28%, 0.07,7%", (0.07, 0.28)),
    (options.stream_counts, "16,1,1", (1, 16)),
    (options.endurance, "600TBW", 600.0), (options.endurance, " 1.2 pbw", 1200.0),
    (options.money, "500", Money(500.0, False)), (options.money, "$0.02", Money(0.02, False)),
    (options.money, " $20 / month", Money(20.0, True)),
    (options.rating, "mixed", Rating(kind="mixed")), (options.rating, "3 dwpd", Rating(dwpd=3.0)),
    (options.rating, "1.2PBW", Rating(tbw=1200.0)),
    (options.years, "5y", 5.0), (options.years, "36 months", 3.0), (options.years, "1 year", 1.0),
    (options.write_rates, "10,20,30MB/s", [WriteRate(f"{n}MB/s", n * 1e6, 0.0) for n in (10, 20, 30)]),
    (options.write_rates, "25%,25%", [WriteRate("25%", None, 0.25)]),
    (options.write_rates, "86400GiB/day", [WriteRate("86400GiB/day", float(GIB), 0.0)]),
    (options.turn, "mail", Turn("mail")), (options.turn, "mail=5", Turn("mail", requests=5)),
    (options.turn, "mail=1.5s", Turn("mail", seconds=1.5)), (options.turn, "a=b=5", Turn("a=b", requests=5)),
]  # fmt: skip
REFUSED = {
    options.device_bytes: ["-1", "1.5", "512Mi", "much", "9" * 30],
    options.page_bytes: ["4096", "2KiB", "5KiB", "64KB", "2MiB", "0KiB", "-4KiB", "much", "9" * 30],
    options.hit_ratio: ["80", "0", "101%", "nan", "much", "8e400", "\u0660.8"],
    options.sample_rate: ["0", "1", "100%", "nan", "some"],
    options.over_provisioning: ["0%", "90%", "seven", "", "7%,,11%", "nan"],
    options.stream_counts: ["0", "257", "1.5", "", "\u0661"],
    options.endurance: ["600", "TBW", "-1TBW", "600GB"],
    options.money: ["0", "-5", "5GiB", "5%", "", "nan", "$", "5/year", "inf", "/month"],
    options.rating: ["0DWPD", "1 dw", "", "9999DWPD", "\u0661DWPD", "Mixed use"],
    options.years: ["5", "0y", "101y", "-1y", "1day", "\u0665y"],
    options.write_rates: [
        "10",
        "fast",
        "0MB/s",
        "101%",
        "10MB",
        "10MB/year",
        "10MB/s,",
        "-1MB/s",
        "9" * 400 + "MB/s",
        "1e9MB/s",
        "\u00b2%",
    ],
    options.turn: ["mail=x", "mail=xs", "mail=1_0"],
}


@pytest.mark.parametrize(("parse", "text", "value"), TAKEN)
def test_what_is_taken(parse, text, value):
    assert parse(text) == value


@pytest.mark.parametrize(("parse", "text"), [(parse, text) for parse, texts in REFUSED.items() for text in texts])
def test_what_is_refused_is_named_with_its_option_and_what_to_give(parse, text):
    with pytest.raises(ConfigError) as refused:
        parse(text)
    said = str(refused.value)
    assert re.match(r"--[a-z-]+ '.{0,25}': .*\b(give|write|buys|is a policy)\b", said), said
    assert len(said) < 220 and "\n" not in said


def test_bytes_have_bounds():
    assert options.in_bytes("1.5TB", "--working-set") == 1_500_000_000_000
    for text, said in (("10%", "give bytes, such as 10GiB"), ("1KiB", "the least is 4 KiB"), ("2TiB", "at most 1 TiB")):
        with pytest.raises(ConfigError, match=f"--ssd '{text}': {said}"):
            options.in_bytes(text, "--ssd", 4096, 1 << 40)


def test_sizes_come_once_in_their_order():
    assert options.sizes(["5%,64MiB", "5%"], "10%") == [Size.parse("5%"), Size.parse("64MiB")]
    assert options.sizes(None, "1%,2%") == [Size.parse("1%"), Size.parse("2%")]


@pytest.mark.parametrize("text", ["-1", "0", "5%", "1000001", "x"])
def test_a_price_is_dollars_a_gb(text):
    assert options.price("$3", "--ram-price") == 3
    with pytest.raises(ConfigError, match=r"--ram-price .*: give dollars a GB"):
        options.price(text, "--ram-price")


def test_pairs_have_a_key_and_a_value():
    assert options.pairs(["a=1", "b=x=y", "a=2"]) == {"a": "2", "b": "x=y"}
    for text in ("a", "a=", "=1"):
        with pytest.raises(ConfigError, match=f"--option '{text}': write KEY=VALUE"):
            options.pairs([text])


def test_an_output_is_what_its_name_ends_with(tmp_path):
    trace = tmp_path / "t.csv"
    trace.write_text("")
    files = [tmp_path / name for name in ("a.svg", "a.csv", "a.json")]
    assert list(outputs(files, ("plot", "csv", "json"))) == ["plot", "csv", "json"]
    for given, said in (
        ([tmp_path / "a.pdf"], "give a name that ends in .png or .svg"),
        ([tmp_path / "a.png", tmp_path / "b.svg"], "give one of each kind"),
        ([tmp_path / "none/a.png"], "no such folder"),
    ):
        with pytest.raises(CachezooError, match=said):
            outputs(given, ("plot",))
    with pytest.raises(ConfigError, match="would be replaced"):
        outputs([trace], ("csv",), [trace])


def timeless(said):
    return {**(row := json.loads(said)["runs"][0]), "requests_per_s": len(row)}


@pytest.mark.parametrize(("count", "first"), [("all", 0), ("half", 49), ("25%", 24), ("60s", 60), ("1m", 60), ("7", 7)])
@pytest.mark.parametrize("word", ["--count", "--warmup"])
def test_what_counts_begins_at_a_share_a_time_or_an_access(tmp_path, word, count, first):
    rows = "".join(f"{k * 1_000_000},R,{4096 * k},4096\n" for k in range(99))
    (tmp_path / "t.csv").write_text(f"time_us,op,offset,size\n{rows}")
    (row,) = json.loads(run("simulate", tmp_path / "t.csv", word, count, "--json").stdout)["runs"]
    assert row["warmup"] == first and row["page_accesses"] == 99 - first


def test_words_of_before_say_what_they_are_now(tmp_path):
    (tmp_path / "t.csv").write_text("time_us,op,offset,size\n" + "".join(f"{k},R,{4096 * k},4096\n" for k in range(99)))
    done = run("simulate", tmp_path / "t.csv", "--capacity=5p", "--warmup", "all", "--json")
    assert done.stderr.splitlines() == ["note: --capacity is now --size", "note: --warmup is now --count"]
    new = run("simulate", tmp_path / "t.csv", "--size", "5p", "--count", "all", "--json")
    assert not new.stderr and timeless(done.stdout) == timeless(new.stdout)
    for words in (("wear",), ("recommend", "--only", "wear"), ("recommend", "--only=wear")):
        done = run(*words, "--help")
        assert "Usage: cachezoo recommend --only wear" in done.stdout
        note = "note: cachezoo wear is now cachezoo recommend --only wear\n"
        assert done.stderr == (note if words[0] == "wear" else "")
    assert "Usage: cachezoo models results" in run("results", "--help").stdout
    assert run("recommend", "t.csv", "--only", "house", ok=False).returncode == 2


@pytest.mark.parametrize(
    ("words", "new"),
    [
        (("--only", "tiers"), "--hierarchy"), (("--only", "ram-ssd"), "--hierarchy"),
        (("--only", "wear"), "--placement"),
        (("--only", "cache-wear"), "--placement"), (("--only", "share"), "--partitioner"), ((), "--hits"),
    ],
)  # fmt: skip
def test_by_has_a_word_for_each_thing_that_it_named(tmp_path, words, new):
    done = run("recommend", *words, tmp_path / "none.csv", "--by", "nosuch", ok=False)
    assert done.stderr.splitlines()[0] == f"note: --by is now {new}"
