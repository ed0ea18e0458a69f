"""A name is a name: new names of volumes and programs, or of pages, change no figure of any command.

What reads an order out of names reads what nobody put there, and often the future, as numbers by first appearance have
it.
"""

import csv
import json
import re
import shutil

import numpy as np
import pytest
from typer.main import get_command

from cachezoo.cli import app
from tests.command_line import run

REQUESTS = 2000
VOLUMES, USERS = ("a0", "m1", "z2"), ("httpd", "mysqld")
# New names, whose order is another.
RENAMED = {"a0": "sdz", "m1": "0", "z2": "md/7", "httpd": "zeta", "mysqld": "alpha"}
# What names the file, or measures this run.
OF_THE_FILE = re.compile(r"sha256|digest|requests_per_s|kernel_s|seconds_to|elapsed|source_bytes|output|trace_id")
DIGEST = re.compile(r"\b[0-9a-f]{60,64}\b")
COMMANDS = {
    "trace info": (),
    "trace report": (),
    "simulate": ("--policy", "lru", "--policy", "rejectx+s3fifo+next(n=4)", "--policy", "arc", "--size", "5%,20%"),
    "compare": ("--size", "10%", "--workers", "1"),
    "sweep": ("--size", "10%", "--policy", "lru", "--policy", "wtinylfu", "--workers", "1"),
    "curve": ("--policy", "lru", "--policy", "sieve", "--points", "5"),
    "bounds": ("--size", "10%"),
    "recommend": ("--no-models",),
    "recommend --only ram-ssd": (),
    "recommend --only tiers": (),
    "recommend --only wear": ("--unit", "64KiB", "--free", "6", "--op", "60%", "--streams", "1,4"),
    "recommend --only cache-wear": ("--streams", "1", "--op", "80%", "--size", "50%"),
    "recommend --only flash": ("--prefetch", "none,next(8)"),
    "recommend --only share": ("trace.parquet", "--names", "one,two", "--fragment", "16"),
    "device replay": ("--device", "exosx20_990pro", "-o", "replayed.parquet"),
    "recommend --for bcache": (),
    "device response": ("--device", "exosx20_990pro", "--depth", "2"),
}
# Commands all of whose figures come from pages alone, with policies that have no spatial inputs.
OF_PAGES = {
    "simulate": (
        "--policy",
        "lru",
        "--policy",
        "s3fifo",
        "--policy",
        "rejectx+arc",
        "--policy",
        "lrb",
        "--size",
        "10%",
    ),
    "compare": ("--size", "10%", "--workers", "1"),
    "sweep": ("--size", "10%", "--policy", "lru", "--policy", "wtinylfu", "--workers", "1"),
    "curve": ("--policy", "lru", "--policy", "sieve", "--points", "5"),
    "bounds": ("--size", "10%"),
}


def rows(pages_of_a_request):
    """Requests of two programs on three volumes, some pages more asked for than others."""
    draw = np.random.default_rng(7)
    volume = draw.integers(0, 3, REQUESTS)
    page = (draw.pareto(0.9, REQUESTS) * 9).astype(np.int64) % 700
    length = draw.integers(1, pages_of_a_request + 1, REQUESTS)
    time = np.cumsum(draw.integers(1, 40_000, REQUESTS))
    return [
        [int(time[k]), "RW"[int(draw.random() < 0.3)], int(page[k]) * 4096, int(length[k]) * 4096,
         VOLUMES[volume[k]], USERS[int(draw.random() < 0.5)]]
        for k in range(REQUESTS)
    ]  # fmt: skip


def written(folder, table):
    folder.mkdir()
    with (folder / "trace.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["time_us", "op", "offset", "size", "volume", "user"], *table])
    for name in ("trace", "other"):
        run("trace", "ingest", folder / "trace.csv", "--id", name, "-o", folder / f"{name}.parquet")
    return folder


def without_names(value):
    """Figures alone: names by their new words, and what has a name in the order of these."""
    if isinstance(value, dict):
        known = {RENAMED.get(key, key): own for key, own in value.items() if not OF_THE_FILE.search(key)}
        return {key: without_names(own) for key, own in sorted(known.items())}
    if isinstance(value, list):
        return [without_names(own) for own in value]
    if isinstance(value, str):
        value = DIGEST.sub("", value)
        for old, new in RENAMED.items():
            value = re.sub(rf"\b{re.escape(old)}\b", new, value)
    return value


def figures(command, folder, monkeypatch, file, words):
    monkeypatch.chdir(folder)
    done = run(*command.split(), file, *words, "--json")
    return without_names(json.loads(done.stdout))


# Why a command that reads a trace is not here.
ELSEWHERE = {
    "trace ingest": "brings in what all of these read",
    "trace formats": "says of which format a file is",
    "trace add": "records a file",
    "trace sample": "draws by names: another name is another draw",
    "models bundle drift": "bundles/test_drift.py",
}
# Changes of a trace, and where they write.
CHANGES = {
    "trace convert": ("--to", "msr", "-o", "made.csv"),
    "trace cut": ("--first-row", "100", "--last-row", "1500", "-o", "made.parquet"),
    "trace split": ("--at", "0.5", "-o", "made"),
    "trace split --by volume": ("-o", "made-by-volume"),
    "trace merge": ("other.parquet", "--share", "1", "--share", "2", "-o", "made.parquet"),
    "trace anonymise": ("--key", "secret", "-o", "made.parquet"),
    "trace synth": ("--requests", "1000", "-o", "made.parquet"),
}


@pytest.fixture(scope="module")
def by_volume(tmp_path_factory):
    folder = tmp_path_factory.mktemp("volumes")
    table = rows(6)
    renamed = [[*row[:4], RENAMED[row[4]], RENAMED[row[5]]] for row in table]
    return written(folder / "old", table), written(folder / "new", renamed)


@pytest.fixture(scope="module")
def by_page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    table = rows(1)
    place = np.random.default_rng(8).permutation(1 << 16)
    renamed = [[*row[:2], int(place[row[2] // 4096]) * 4096, *row[3:]] for row in table]
    return written(folder / "old", table), written(folder / "new", renamed)


@pytest.mark.parametrize("command", COMMANDS)
def test_names_of_volumes_and_programs(command, by_volume, monkeypatch):
    old, new = (figures(command, folder, monkeypatch, "trace.parquet", COMMANDS[command]) for folder in by_volume)
    assert new == old


@pytest.mark.parametrize("command", OF_PAGES)
def test_numbers_of_pages(command, by_page, monkeypatch):
    old, new = (figures(command, folder, monkeypatch, "trace.parquet", OF_PAGES[command]) for folder in by_page)
    assert new == old


@pytest.mark.parametrize("command", CHANGES)
def test_what_is_made_of_a_renamed_trace(command, by_volume, monkeypatch, tmp_path):
    """The change says the same, and what it made is the same trace by its figures."""
    found = []
    for source in by_volume:
        folder = shutil.copytree(source, tmp_path / source.name)
        (folder / "secret").write_bytes(bytes(range(32)))
        said = figures(command, folder, monkeypatch, "trace.parquet", CHANGES[command])
        place = folder / CHANGES[command][-1]
        made = sorted(place.iterdir()) if place.is_dir() else [place]
        infos = [figures("trace info", folder, monkeypatch, file, ()) for file in made]
        found.append((said, sorted(infos, key=json.dumps)))
    assert found[1] == found[0]


def reading(command, path=()):
    """Names of the commands that are listed and read a trace."""
    for name in command.list_commands(None) if hasattr(command, "commands") else ():
        yield from reading(command.commands[name], (*path, name))
    if any(re.search(r"TRACE|\bFILE", str(one.metavar)) for one in command.params if one.param_type_name == "argument"):
        yield " ".join(path)


def test_no_command_that_reads_a_trace_is_left_out():
    here = {command.split(" --")[0] for command in (*COMMANDS, *CHANGES)}
    assert set(reading(get_command(app))) == here | set(ELSEWHERE)
