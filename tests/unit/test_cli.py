import gzip
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from cachezoo import cli
from cachezoo.errors import CachezooError
from tests.command_line import run

STORED = Path(__file__).resolve().parents[1] / "golden/protocol2"
HEADER = "time_us,op,offset,size\n"
GOOD = HEADER + "".join(f"{i},{'RW'[i % 2]},{4096 * (i % 7)},4096\n" for i in range(100))


def test_the_installed_command_ends_with_the_status_and_one_line(tmp_path):
    command = [sys.executable, "-c", "from cachezoo.cli import main; main()", "trace", "info", tmp_path / "none.csv"]
    env = {**os.environ, "PYTHONPATH": "src"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("cachezoo: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.fixture
def trace(tmp_path):
    raw, out = tmp_path / "t.csv", tmp_path / "t.parquet"
    raw.write_text(GOOD)
    run("trace", "ingest", raw, "-o", out)
    return out


def test_ingest_info_simulate_compare(trace):
    info = json.loads(run("trace", "info", trace, "--json").stdout)
    assert (info["requests"], info["reads"], info["distinct_pages"], info["source_format"]) == (
        100,
        50,
        7,
        "csv",
    )
    asked = ("simulate", trace, "--policy", "lru", "--size", "7p", "--json")
    result = json.loads(run(*asked, "--count", "all").stdout)["runs"][0]
    assert (result["page_accesses"], result["hits"], result["hit_ratio"]) == (100, 93, 0.93)
    assert result["ssd_writes"] == 7 + 50 - 3
    assert result["requests_per_s"] > 0
    assert json.loads(run(*asked).stdout)["runs"][0]["warmup"] == 50
    table = json.loads(run("compare", trace, "--size", "50%", "--json").stdout)["runs"][0]
    assert table["optimum"] == "belady_bypass"
    assert {row["policy"] for row in table["rows"]} >= {"lru", "lfu", "larc", "rejectx", "belady_bypass"}
    assert table["rows"][0]["gap_closed"] in (None, pytest.approx(1.0))
    assert "best classic" in run("compare", trace, "--size", "50%").stdout


def test_gzip_and_raw_traces_are_read_directly(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(GOOD.encode()))
    assert json.loads(run("simulate", path, "--count", "all", "--json").stdout)["runs"][0]["requests"] == 100


def test_a_capacity_above_the_working_set_is_a_warning(trace):
    done = run("simulate", trace, "--size", "100p", "--count", "all", "--json")
    assert "warning" in done.stderr
    assert json.loads(done.stdout)["runs"][0]["hits"] == 93


BAD = {
    "empty": (b"", "empty"),
    "header only": (HEADER.encode(), "empty"),
    "binary": (b"\x80\x81\xff\n\x00\xff" * 50, "is no trace of a known format"),
    "not utf-8": (HEADER.encode() + b"0,\xff\xfe,0,4096\n", "row 1: is no text in UTF-8"),
    "columns": (b"time_us,op,offset\n0,R,0\n", "header"),
    "unknown column": (b"time_us,op,offset,size,colour\n0,R,0,1,red\n", "header"),
    "short row": (HEADER.encode() + b"0,R,0,1\n1,R\n", "row 2: has 2 fields, not 4"),
    "op": (HEADER.encode() + b"0,R,0,1\n1,X,0,1\n", "row 2: op is 'X'"),
    "not a number": (HEADER.encode() + b"0,R,zero,1\n", "zero"),
    "negative offset": (HEADER.encode() + b"0,R,-4096,1\n", "row 1: offset is -4096"),
    "overflow": (HEADER.encode() + b"0,R,99999999999999999999,1\n", "99999999999999999999"),
    "overflowing end": (HEADER.encode() + b"0,R,9223372036854775807,1\n", "overflows"),
    "zero size": (HEADER.encode() + b"0,R,0,0\n", "row 1: size is 0"),
    "before the start": (HEADER.encode() + b"-5,R,0,1\n", "row 1: its time lies before the trace's start"),
    "null": (HEADER.encode() + b"0,R,,1\n", "offset is empty"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_and_leaves_nothing(tmp_path, name):
    content, message = BAD[name]
    raw, out = tmp_path / "bad.csv", tmp_path / "out.parquet"
    raw.write_bytes(content)
    done = run("trace", "ingest", raw, "-o", out, ok=False)
    assert message in done.stderr
    assert "bad.csv" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


def test_a_truncated_gzip_is_refused(tmp_path):
    path = tmp_path / "bad.csv.gz"
    path.write_bytes(gzip.compress((GOOD * 50).encode())[:-30])
    done = run("trace", "ingest", path, "-o", tmp_path / "o.parquet", ok=False)
    assert len(done.stderr.strip().splitlines()) == 1
    assert "bad.csv.gz" in done.stderr


HUGE = "9" * 23


@pytest.mark.parametrize("command", ["simulate", "compare"])
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--size", "0p"), "above 0"),
        (("--size", "100"), "--size '100': a bare number could be pages or bytes; write 100p for pages"),
        (("--size", HUGE + "p"), f"--size '{HUGE}p': no cache has so many pages"),
        (("--size", "101%"), "at most 100 %"),
        (("--size", "9" * 5000), "write a size as 64MiB"),
        (("--policy", "nosuch"), "policy nosuch: nosuch is unknown; a policy is [admission+]eviction[+prefetch]"),
        (("--count", "1000"), "--count 1000: the trace ends before"),
        (("--count", "²"), "--count '²': give half, auto, all"),
    ],
)
def test_bad_options_are_one_line(trace, command, args, message):
    done = run(command, trace, *args, ok=False)
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("nosuch",), "cachezoo: No such command 'nosuch'; see cachezoo --help"),
        (("compare",), "cachezoo: Missing argument 'TRACE'; see cachezoo compare --help"),
        (("compare", "x", "--nosuch"), "cachezoo: No such option: --nosuch; see cachezoo compare --help"),
        (("models", "track", "ui", "--port", "high"), "'--port'"),
        (("models", "track", "ui", "--port", "99999"), "less than or equal to 65535"),
    ],
)
def test_a_command_line_that_cannot_be_understood_is_one_line_and_status_2(args, message):
    done = run(*args, ok=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_group_without_a_command_shows_its_help():
    done = run("trace", ok=False)
    assert (done.returncode, done.stderr) == (2, "")
    assert "ingest" in done.stdout


def test_an_output_that_cannot_be_written_is_one_line(tmp_path, trace):
    (tmp_path / "file").touch()
    for output, message in ((tmp_path, "is a folder"), (tmp_path / "file/x.parquet", "cannot be written")):
        done = run("trace", "ingest", trace, "-o", output, ok=False)
        assert f"cachezoo: {output}: {message}" in done.stderr
        assert len(done.stderr.splitlines()) == 1


PROGRAMS = {
    "cachezoo": ("from cachezoo.cli import main; main()", "--version", "--help", "policies", "policies --json"),
    "cachezoo-bundle": (
        "import sys; from cachezoo.runtime.__main__ import main; sys.exit(main(sys.argv[1:]))",
        f"inspect {STORED}/admission.database.lgbm",
        f"verify {STORED}/admission.database.lgbm",
    ),
}


@pytest.mark.parametrize(("program", "words"), [(name, words) for name, own in PROGRAMS.items() for words in own[1:]])
def test_an_output_without_room_is_an_error_and_one_line(program, words):
    """Buffers are flushed as the interpreter ends, which nobody sees."""
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-c", PROGRAMS[program][0], *words.split()]
        env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=env)
    assert done.returncode not in (0, 120)
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith(f"{program}: ") and "No space left on device" in done.stderr


def test_an_error_is_said_where_standard_output_is_closed():
    command = f"{sys.executable} -c 'from cachezoo.cli import main; main()' trace info none.csv >&-"
    done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "cachezoo: none.csv: no such file\n")


def test_an_unexpected_system_error_and_ctrl_c_are_one_line(monkeypatch, capsys):
    def raising(error):
        def policies():
            raise error

        monkeypatch.setattr(command, "callback", policies)
        monkeypatch.setattr("sys.argv", ["cachezoo", "policies"])
        with pytest.raises(SystemExit) as left:
            cli.main()
        return left.value.code, capsys.readouterr().err

    command = next(
        known
        for known in cli.simulation.app.registered_commands
        if known.name is None and known.callback.__name__ == "policies"
    )
    full = OSError(28, "No space left on device", "a.tmp", None, "a.parquet")
    assert raising(full) == (1, "cachezoo: a.parquet: No space left on device; make room and run it again\n")
    little = "cachezoo: there is too little memory for this; give a part of the trace, or run it where there is more\n"
    assert raising(MemoryError()) == (1, little)
    interrupted = (130, "cachezoo: interrupted\n")
    assert raising(KeyboardInterrupt()) == interrupted
    for outer in (SystemError("CPUDispatcher(f) returned a result with an exception set"), CachezooError("no model")):
        for attribute in ("__cause__", "__context__"):
            middle = ValueError()
            middle.__context__ = KeyboardInterrupt()
            setattr(outer, attribute, middle)
            assert raising(outer) == interrupted
            setattr(outer, attribute, None)
    with pytest.raises(SystemError, match="of its own"):
        raising(SystemError("of its own"))


def test_ingest_never_replaces_its_source(tmp_path):
    raw, link = tmp_path / "t.csv", tmp_path / "link.csv"
    raw.write_text(GOOD)
    link.symlink_to(raw)
    for file, output in ((raw, raw), (raw, link), (link, raw)):
        done = run("trace", "ingest", file, "-o", output, ok=False)
        assert "is the raw trace itself" in done.stderr
        assert raw.read_text() == GOOD
        assert link.is_symlink()


@pytest.mark.parametrize("args", [("models", "results"), ("models", "track", "sync"), ("models", "track", "ui")])
def test_outside_a_project_one_line_says_so(tmp_path, monkeypatch, args):
    monkeypatch.chdir(tmp_path)
    done = run(*args, ok=False)
    assert done.returncode == 1
    assert "run this in the project's folder" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.needs("public_traces")
def test_msr_sample():
    folder = Path(os.environ["CACHEZOO_PUBLIC_TRACES"])
    info = json.loads(run("trace", "info", folder / "fixtures/msr-cambridge1-sample.csv", "--json").stdout)
    assert (info["source_format"], info["requests"]) == ("msr", 1000)


@pytest.mark.needs("public_traces")
@pytest.mark.parametrize(("mebibytes", "percent"), [(256, 25), (512, 47), (1024, 76)])
def test_lru_reaches_the_known_hit_ratios_on_cloudphysics(mebibytes, percent):
    import numpy as np
    import pandas as pd

    from cachezoo.coded import Coded
    from cachezoo.policies.simulate import simulate
    from cachezoo.traces.pages import expand_pages
    from cachezoo.traces.table import Trace, TraceMeta

    rows = pd.read_csv(
        Path(os.environ["CACHEZOO_PUBLIC_TRACES"]) / "block/cloudphysics_us.csv.gz", header=None, comment="v"
    )
    rows = rows.iloc[:, 1:5].set_axis(["time", "op", "size", "lbn"], axis=1)
    rows = rows[rows["size"] > 0]
    trace = Trace(
        rows["time"].to_numpy(np.int64),
        (rows["op"].astype(str) == "2a").to_numpy(np.uint8),
        rows["lbn"].to_numpy(np.int64) * 512,
        rows["size"].to_numpy(np.int64),
        Coded.constant("0", len(rows)),
        TraceMeta("cloudphysics", "unknown", "csv", "0" * 64),
    )
    result = simulate(trace, expand_pages(trace), "lru", mebibytes * 256, 0)
    assert round(100 * result.hit_ratio) == percent


def test_the_version_is_that_of_the_package():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert run("--version").stdout == f"cachezoo {project['version']}\n"


def test_a_table_off_a_terminal_is_as_wide_as_columns_says(monkeypatch):
    from cachezoo import console

    for columns, width in (("100", 100), ("", 160), ("wide", 160)):
        monkeypatch.setenv("COLUMNS", columns)
        console.out.cache_clear()
        assert console.out().width == width


@pytest.mark.parametrize("columns", ["80", "100", ""])
def test_a_table_off_a_terminal_cuts_no_cell(trace, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    text = run("compare", trace, "--policy", "lru", "--size", "2p").stdout
    assert "belady_bypass" in text and "classic" in text and max(map(len, text.splitlines())) <= int(columns or 160)
    assert ("columns left out" in text) == (columns != "")


@pytest.mark.parametrize("args", [("curve", "-o", "{}/p.png"), ("recommend", "--output", "{}/p.html")])
def test_a_folder_that_is_not_there_is_refused_and_not_made(tmp_path, trace, args):
    gone = tmp_path / "no/such"
    done = run(args[0], trace, *(word.format(gone) for word in args[1:]), ok=False)
    assert "cannot be written" in done.stderr and "no such folder" in done.stderr
    assert len(done.stderr.splitlines()) == 1 and not (tmp_path / "no").exists()


def test_a_curve_takes_sizes_and_bounds_say_what_they_are(trace):
    rows = json.loads(run("curve", trace, "--size", "2p,1p", "--policy", "lru", "--json").stdout)["rows"]
    assert [row["capacity"] for row in rows] == [1, 2]
    assert "static hindsight: a cache that holds" in " ".join(run("bounds", trace, "--size", "1p").stdout.split())
