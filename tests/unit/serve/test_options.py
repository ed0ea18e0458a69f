"""Options of `serve`: on the command line, in a file, both; and each wrong one in a line."""

import re
from pathlib import Path

import pytest

from cachezoo.serve import words
from cachezoo.serve.options import OPTIONS, named, settings
from cachezoo.serve.words import ServeError

NOTHING = dict.fromkeys(OPTIONS)
NEEDED = NOTHING | {"ssd": "/ssd", "size": "64G"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("64G", 64 << 30), ("64g", 64 << 30), ("64GiB", 64 << 30), ("64GB", 64 * 10**9), ("1.5 K", 1536), ("4096B", 4096)],
)
def test_a_size_is_of_powers_of_1024_unless_it_says_otherwise(text, expected):
    assert words.n_bytes(text, "--size") == expected


@pytest.mark.parametrize("text", ["64", "", "G", "-1G", "0G", "1e3G", "5%", "7p", "1G G", "99999999T", "٣G"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ServeError, match="--size"):
        words.n_bytes(text, "--size")


def test_rates_and_shares():
    assert words.rate("20MB/s", "--write-rate") == 20e6
    assert words.rate("86.4 GB/day", "--write-rate") == pytest.approx(1e6)
    assert words.share("50%", "--promise") == 0.5
    for text in ("20MB", "20/s", "20MB/week", "/s", "20B/day"):
        with pytest.raises(ServeError, match="write-rate"):
            words.rate(text, "--write-rate")
    for text in ("50", "0%", "101%", "0.5"):
        with pytest.raises(ServeError, match="promise"):
            words.share(text, "--promise")


def test_the_command_line_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = settings("disk", NEEDED | {"metrics": "9469", "write-rate": "20MB/s"}, ["cz-unit=4K"], None)
    assert (found.disk, found.ssd, found.size) == (str(tmp_path / "disk"), "/ssd", 64 << 30)
    assert (found.name, found.policy, found.mode, found.attach) == ("disk", "lru", "around", "auto")
    assert (found.metrics, found.write_rate, found.more) == (("127.0.0.1", 9469), 20e6, {"cz-unit": "4K"})


def test_a_file_and_what_counts_before_it(tmp_path):
    file = tmp_path / "sdb.conf"
    file.write_text(
        "# a comment\n[serve]\ndisk = /dev/disk/by-id/ata-X:1\nssd = /dev/y\nsize = 64G\npolicy = rejectx(x=1)+lirs\n"
        "promise = 50%\nmetrics = [::1]:9469\ncz-window = 1000\n"
    )
    found = settings(None, NOTHING | {"policy": "s3fifo"}, ["cz-window=7"], str(file))
    assert (found.disk, found.policy, found.promise) == ("/dev/disk/by-id/ata-X:1", "s3fifo", 0.5)
    assert (found.metrics, found.more, found.name) == (("::1", 9469), {"cz-window": "7"}, "ata-X:1")
    assert found.config == str(file)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("disk = a\n", "no lines NAME = VALUE"),
        ("[serve]\nsise = 1G\n", "sise: no such option"),
        ("[serve]\nsize = 1G\nsize = 2G\n", "no lines NAME = VALUE"),
        ("[cache]\nsize = 1G\n", r"one section, \[serve\]"),
        ("[serve]\ndisk = a\nssd = b\nsize = 1\n", "conf: size '1': write a size"),
        ("[serve]\ndisk = a\nssd = b\n", "--size is missing"),
        ("[serve]\ndisk = a\nsize = 1G\n", "--ssd is missing"),
        ("[serve]\n", "DISK is missing"),
        ("[serve]\ndisk = a\nssd = b\nsize = 1G\ncz-policy = lru\n", "cz-policy: serve sets it itself: use policy"),
        ("\xff", "no lines NAME = VALUE"),
    ],
)
def test_a_wrong_file_is_refused_in_a_line(tmp_path, text, says):
    file = tmp_path / "x.conf"
    file.write_text(text, encoding="latin-1")
    with pytest.raises(ServeError, match=says) as refused:
        settings(None, NOTHING, [], str(file))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("mode", "writeback"), ("attach", "maybe"), ("metrics", "x"), ("metrics", "1:2:0"), ("metrics", "99999"),
        ("metrics", "a b:9469"), ("name", "../x"), ("name", "-x"), ("policy", ""), ("policy", "a\nb"),
    ],
)  # fmt: skip
def test_a_wrong_option_is_named(option, text):
    with pytest.raises(ServeError, match=f"--{option}"):
        settings("disk", NEEDED | {option: text}, [], None)


@pytest.mark.parametrize("text", ["unit=4K", "cz-unit", "cz-unit=", "x"])
def test_only_the_filter_s_own_options_pass(text):
    with pytest.raises(ServeError, match="cz-KEY=VALUE"):
        settings("disk", NEEDED, [text], None)


@pytest.mark.parametrize(("disk", "name"), [("/dev/sdb", "sdb"), ("/a/ü b", "__b"), ("/", "d"), ("/x/.y", "d.y")])
def test_a_disk_s_name(disk, name):
    assert named(disk) == name


def test_lines_hold_nothing_that_a_terminal_obeys():
    assert words.plain("a\x1b[31mb\x7f") == "a␛[31mb\ufffd"


def test_the_filter_s_words_are_those_of_the_options_here():
    assert words.here("nbdkit: error: cachezoo: cz-ssd=/x: it is the disk") == "--ssd=/x: it is the disk"
    assert words.here("cz-size-x cz-sizes") == "cz-size-x cz-sizes"


def test_the_page_shows_what_the_filter_prints():
    root = Path(__file__).parents[3]
    source = (root / "runtimes/c/nbdkit/config.c").read_text(encoding="utf-8")
    [text] = re.findall(r"config_help\[\] =(.*?\");\n", source, re.DOTALL)
    printed = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)).replace("\\n", "\n")
    assert f"```text\n{printed}\n```" in (root / "docs/mounted.md").read_text(encoding="utf-8")
