"""`cachezoo recommend --for`: what it prints, writes and refuses, and what docs/deploy.md says of its systems."""

import json
from pathlib import Path

import numpy as np
import pytest

from cachezoo.questions.targets.registry import TARGETS
from cachezoo.traces.store import write_trace
from tests.command_line import run
from tests.tiers_data import byte_trace

ROOT = Path(__file__).resolve().parents[2]
rng = np.random.default_rng(4)
N = 600


def stored(folder, pages, write):
    path = folder / "t.parquet"
    write_trace(byte_trace(pages * 4096, np.full(N, 4096), write), path)
    return path


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return stored(tmp_path_factory.mktemp("hot"), rng.integers(0, 30, N) * 99, np.arange(N) % 4 == 0)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    return stored(tmp_path_factory.mktemp("fresh"), rng.permutation(N) * 99, np.zeros(N))


def lines(text):
    return [" ".join(line.split()) for line in text.splitlines()]


@pytest.mark.parametrize("name", TARGETS)
def test_the_answer_comes_first_then_the_table_then_the_commands(trace, name):
    said = lines(run("recommend", trace, "--for", name, "--disk", "/dev/sdb", "--ssd", "/dev/nvme0n1").stdout)
    assert said[0].startswith((f"Run {TARGETS[name].title} in mode ", f"Do not put {TARGETS[name].title} "))
    if said[0].startswith("Run ") and name == "zfs":  # a trace of a few pages: ZFS takes no such ARC
        assert any(line.startswith("Simulation only: ZFS with L2ARC takes no cache") for line in said)
        assert "Commands:" not in said
    elif said[0].startswith("Run "):
        after = said[said.index("Commands:") + 1 :]
        assert any("/dev/sdb" in line for line in after)
        assert any("/dev/nvme0n1" in line for line in after)
    table = next(k for k, line in enumerate(said) if "before a disk" in line and k > 0)
    assert any(line.startswith(("Against no cache mode ", "Against no SSD mode ")) for line in said[table:])


def test_where_no_cache_pays_it_says_so_and_prints_no_command(fresh):
    text = run("recommend", "--for=open-cas", fresh).stdout
    assert text.startswith("Do not put Open CAS before this disk: ")
    assert "Commands" not in text


def test_json_and_csv_hold_the_figures(trace, tmp_path):
    asked = ("recommend", trace, "--for", "open-cas", "--modes", "wt,wb", "--size", "50%")
    found = json.loads(run(*asked, "--json", "-o", tmp_path / "t.csv").stdout)
    assert found["trace"] == "t.parquet"
    assert found["for"] == "open-cas"
    assert {row["mode"] for row in found["rows"]} == {"", "wt", "wb"}
    assert found["rows"][0]["cache"] == "none"
    assert found["ssd_pages"] <= 15
    assert (found["commands"] == []) == (found["answer"] == "nothing")
    head, *rows = (tmp_path / "t.csv").read_text(encoding="utf-8").splitlines()
    assert "response_us" in head
    assert len(rows) == len(found["rows"])


@pytest.mark.parametrize(("options", "says"), [
    (("--for", "flashcache"), "--for"),
    (("--for", "bcache", "--modes", "wt"), "bcache caches in writethrough, writeback, writearound"),
    (("--for", "bcache", "--ram", "1MiB"), "bcache has no cache in RAM"),
    (("--for", "bcache", "--size", "12"), "--size"),
    (("--for", "bcache", "--ssd", "/dev/sda;reboot"), "give the path of a block device"),
    (("--for", "bcache", "--disk", "/dev/sda", "--ssd", "/dev/sda"), "name two devices"),
    (("--for", "zfs", "--name", "my pool"), "--name"),
    (("--for", "zfs", "-o", "t.png"), "ends in .csv or .json"),
])  # fmt: skip
def test_bad_input_ends_in_a_line(trace, options, says):
    done = run("recommend", trace, *options, ok=False)
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_help_names_the_systems_and_their_options():
    assert "--for" in run("recommend", "--help").stdout
    own = run("recommend", "--for", "bcache", "--help").stdout
    for option in ("--for", "--size", "--ram", "--modes", "--disk", "--ssd", "--name", "--json"):
        assert option in own
    for name in TARGETS:
        assert name in own


def documented():
    """The table of docs/deploy.md, as the registry has it."""
    rows = ["| `--for` | what runs it | modes, the default first | default settings |", "|---|---|---|---|"]
    for name, target in TARGETS.items():
        modes = ", ".join(f"`{mode.id}`" for mode in target.modes if mode.writes != "none")
        knobs = ", ".join(f"`{knob.name}` {knob.default} {knob.unit}".rstrip() for knob in target.knobs)
        rows.append(f"| `{name}` | {target.runs} | {modes} | {knobs} |")
    return "\n".join(rows)


def test_the_table_of_systems_is_the_registrys():
    assert documented() in (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
