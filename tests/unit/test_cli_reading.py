"""How commands are told to read a trace: options, named columns, and questions at a terminal."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

import cachezoo.cli
from cachezoo.cli import app, reading
from cachezoo.errors import CachezooError
from cachezoo.traces.read import TraceFiles, read_files
from cachezoo.traces.store import read_trace

ROOT = Path(__file__).resolve().parents[2]
ROWS = "when;dev;blk;cnt;kind\n" + "".join(f"{k}.5;0;{8 * k};16;{'rd' if k % 3 else 'wr'}\n" for k in range(30))
COLUMNS = "time=when:ms,offset=blk:512,size=cnt:512,op=kind,volume=dev"
UNCLEAR = "".join(f"{20 * k + k % 3} 0 {8 * k} 8 {k % 2}\n" for k in range(300))


def run(*words: object, answers: str = ""):
    return CliRunner().invoke(app, list(map(str, words)), input=answers, catch_exceptions=False)


@pytest.fixture
def unknown(tmp_path: Path) -> Path:
    path = tmp_path / "rows.txt"
    path.write_text(ROWS)
    return path


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_at_terminal", lambda: True)


def test_columns_are_taken_by_every_command_that_reads_a_raw_trace(unknown, tmp_path):
    out = tmp_path / "o.parquet"
    assert json.loads(run("trace", "info", unknown, "--columns", COLUMNS, "--json").stdout)["requests"] == 30
    figures = json.loads(run("trace", "ingest", unknown, "-o", out, "--columns", COLUMNS, "--json").stdout)
    assert figures["remarks"] == ["columns: time=#1:ms,offset=#3:512,size=#4:512,op=#5,volume=#2"]
    trace = read_trace(out)
    assert trace.offset.tolist() == [4096 * k for k in range(30)] and trace.time_us.tolist() == [
        1000 * k for k in range(30)
    ]
    for words in (("cut", "--last-row", 9), ("sample", "--rate", 0.9), ("convert", "--to", "csv")):
        done = run("trace", words[0], unknown, "-o", tmp_path / f"{words[0]}.out", *words[1:], "--columns", COLUMNS)
        assert done.exit_code == 0, done.output


SIMULATIONS = (
    ("simulate", "--size", "10%"),
    ("compare", "--size", "10%", "--policy", "fifo"),
    ("sweep", "--size", "10%", "--policy", "lru", "--workers", 1),
    ("bounds", "--size", "10%"),
    ("curve", "--policy", "lru"),
)


@pytest.mark.parametrize("words", SIMULATIONS, ids=lambda words: words[0])
def test_simulations_read_a_raw_trace_as_told(unknown, tmp_path, words):
    assert run("trace", "ingest", unknown, "-o", tmp_path / "rows.parquet", "--columns", COLUMNS).exit_code == 0
    found = [
        run(words[0], *given, *words[1:], "--json")
        for given in ((unknown, "--columns", COLUMNS), (tmp_path / "rows.parquet",))
    ]
    for done in found:
        assert done.exit_code == 0, done.output
    one, two = (re.sub(r'rows\.(txt|parquet)|"requests_per_s": [0-9.]+', "", done.stdout) for done in found)
    assert one == two


def test_columns_of_a_known_format_are_refused(unknown):
    with pytest.raises(CachezooError, match="--columns: format msr has columns of its own; leave --format or"):
        run("trace", "info", unknown, "--columns", COLUMNS, "--format", "msr")
    with pytest.raises(CachezooError, match="--columns: 'when': write ROLE=COLUMN"):
        run("trace", "info", unknown, "--columns", "when")


def test_the_matrix_holds_columns_and_the_pipeline_reads_the_same(unknown, tmp_path, monkeypatch):
    project = tmp_path / "p"
    shutil.copytree(ROOT / "conf", project / "conf")
    monkeypatch.chdir(project)
    done = run("trace", "add", unknown, "--category", "orders", "--role", "train", "--columns", COLUMNS, "--json")
    entry = json.loads(done.stdout)["entry"]
    assert yaml.safe_load(Path("conf/matrix.yaml").read_text())["page_traces"]["orders_train"] == entry
    assert (entry["format"], entry["options"]["time"], entry["options"]["op"]) == ("columns", "when:ms", "kind")
    trace = read_files(TraceFiles([Path(entry["path"])], entry["format"], options=entry["options"]))
    assert trace.size.tolist() == [8192] * 30


def test_the_matrix_gets_the_units_that_were_inferred(tmp_path, monkeypatch):
    project = tmp_path / "p"
    shutil.copytree(ROOT / "conf", project / "conf")
    monkeypatch.chdir(project)
    path = tmp_path / "t.disksim"
    path.write_text("".join(f"{k * 3}.25 0 {4096 * k} {4096 + 512 * (k % 3)} {k % 2}\n" for k in range(300)))
    added = json.loads(run("trace", "add", path, "--category", "orders", "--role", "train", "--json").stdout)
    assert added["entry"]["options"] == {"time_unit": "ms", "unit_bytes": "1"}
    assert any(note.startswith("read as disksim with time_unit=ms unit_bytes=1 (") for note in added["notes"])


def test_a_person_names_the_columns_once_and_gets_the_command(unknown, terminal):
    done = run(
        "trace", "info", unknown, answers="when:ms\nnope\n#4:512\nkind\nnone\n#1:ms\n#3:512\n#4:512\nkind\nnone\n"
    )
    assert done.exit_code == 0, done.output
    assert "#3 blk" in done.stderr and "29.5" not in done.stderr  # the first rows are shown
    assert "offset=nope: no such column" in done.stderr  # and asked again
    said = next(line for line in done.stderr.splitlines() if "without asking: " in line)
    words = shlex.split(said.partition("without asking: ")[2])
    assert words == [str(unknown), "--columns", "time=#1:ms,offset=#3:512,size=#4:512,op=kind"]
    again = run("trace", "info", *words)
    assert done.stdout.endswith(again.stdout)  # what is typed is echoed before


def test_a_person_who_agrees_with_the_guess_presses_return(unknown, tmp_path, terminal):
    for path, count, guess in (
        (unknown, 5, "time=when:ms,offset=blk:512,size=cnt:512,op=kind,volume=dev"),
        (tmp_path / "keys.txt", 4, "time=row:us,offset=#1:4096,size=4096B,op=read"),
    ):
        if path != unknown:
            path.write_text("".join(f"{k * 7919 % 97}\n" for k in range(50)))
        done = run("trace", "info", path, answers="\n" * count)
        assert done.exit_code == 0, done.output
        assert "a guess by names and values: check it" in done.stderr
        words = shlex.split(done.stderr.partition("without asking: ")[2].splitlines()[0])
        assert words == [str(path), "--columns", guess]


def test_a_person_chooses_among_unclear_readings_by_number(tmp_path, terminal):
    path = tmp_path / "t"
    path.write_text(UNCLEAR)
    done = run("trace", "info", path, answers="0\n2\n")
    assert done.exit_code == 0, done.output
    words = shlex.split(done.stderr.partition("without asking: ")[2].splitlines()[0])
    assert words[:3] == [str(path), "--format", "disksim"]
    assert done.stdout.endswith(run("trace", "info", *words).stdout)


def test_nobody_is_asked_under_json_or_for_what_is_no_table(unknown, tmp_path, terminal):
    with pytest.raises(CachezooError, match="is no trace of a known format"):
        run("trace", "info", unknown, "--json")
    (tmp_path / "t.png").write_bytes(b"\x89PNG" + bytes(99))
    with pytest.raises(CachezooError, match="looks like a PNG image"):
        run("trace", "info", tmp_path / "t.png")


def test_without_a_terminal_the_readings_are_a_table_and_one_line(tmp_path, monkeypatch, capsys):
    path = tmp_path / "t"
    path.write_text(UNCLEAR)
    monkeypatch.setattr("sys.argv", ["cachezoo", "trace", "info", str(path)])
    with pytest.raises(SystemExit) as left:
        cachezoo.cli.main()
    said = capsys.readouterr().err
    assert left.value.code == 1
    assert said.splitlines()[-1].startswith(f"cachezoo: {path}: can be read in ")
    assert (
        "disksim with time_unit=ms" in said.partition("cachezoo: ")[0]
        and "requests/s" in said.partition("cachezoo: ")[0]
    )


def test_formats_shows_what_each_reading_means(tmp_path):
    path = tmp_path / "t"
    path.write_text(UNCLEAR)
    rows = json.loads(run("trace", "formats", path, "--json").stdout)
    assert rows[0]["id"] == "disksim"
    assert [row["fit"] for row in rows[:2]] == ["possible", "possible"] and "about as likely" in rows[0]["why"]
    for row in rows[:2]:
        assert {"span", "rate", "median size", "mean size", "footprint", "last address", "reads"} <= set(row)
        again = json.loads(run("trace", "info", path, *row["command"].split(), "--json").stdout)
        assert again["mean_size_bytes"] == pytest.approx(4096 if "unit_bytes=1" not in row["command"] else 8)
    shown = run("trace", "formats", path).stdout
    assert rows[0]["command"] in shown and "none is taken: say which" in shown


def test_formats_marks_the_reading_that_info_takes_and_says_why_not_the_others(tmp_path):
    path = tmp_path / "t.trace"
    path.write_text("".join(f"{20_000_000 * k} 0 {8 * (k * 7919 % 99_991)} 16 {k % 2}\n" for k in range(300)))
    rows = json.loads(run("trace", "formats", path, "--json").stdout)
    plain = json.loads(run("trace", "info", path, "--json").stdout)
    told = json.loads(run("trace", "info", path, *rows[0]["command"].split(), "--json").stdout)
    assert [row["fit"] for row in rows].count("taken") == 1 and rows[0]["fit"] == "taken"
    assert {key: plain[key] for key in ("source_format", "span_s")} == {
        key: told[key] for key in ("source_format", "span_s")
    }
    order = [row["fit"] for row in rows]
    assert order == sorted(order, key=("taken", "possible", "unlikely").index)
    for row in rows[1:]:
        assert row["why"] and (row["fit"] == "unlikely") == bool(row["against it"])
    assert "unlikely: " in run("trace", "formats", path).stdout.replace("\n", " ") or "unlikely" not in order


def test_formats_guesses_at_a_page_list_and_takes_columns(tmp_path):
    path = tmp_path / "pages.txt"
    path.write_text("".join(f"{k * 7919 % 997}\n" for k in range(200)))
    (row,) = json.loads(run("trace", "formats", path, "--json").stdout)
    assert (row["id"], row["fit"], row["footprint"]) == ("columns", "possible", "800.0 KiB")
    assert row["command"] == "--columns 'time=row:us,offset=#1:4096,size=4096B,op=read'"
    assert "none is taken" in run("trace", "formats", path).stdout
    asked = ("trace", "formats", path, "--columns", "time=row:s,offset=#1:512,size=512B,op=write")
    (row,) = json.loads(run(*asked, "--json").stdout)
    assert (row["fit"], row["reads"], row["mean size"]) == ("taken", "0%", "512 B")
    with pytest.raises(CachezooError, match="no such column"):
        run(*asked[:-1], "time=row:s,offset=x,size=512B,op=read")
    with pytest.raises(CachezooError, match="of which file"):
        run("trace", "formats", "--columns", "a=b")


def test_guesses_that_are_about_as_likely_are_shown_beside_each_other(tmp_path, monkeypatch, capsys):
    path = tmp_path / "t"
    path.write_text("".join(f"{'RW'[k % 2]} {400 * k + k % 3} {4096 * (k * 7919 % 997)} 4096\n" for k in range(90)))
    monkeypatch.setattr("sys.argv", ["cachezoo", "trace", "info", str(path)])
    with pytest.raises(SystemExit):
        cachezoo.cli.main()
    said = capsys.readouterr().err
    assert "guesses to be checked: --columns " in said.splitlines()[-1]
    assert "time=#2:us" in said.partition("cachezoo: ")[0] and "requests/s" in said.partition("cachezoo: ")[0]


def test_a_person_agrees_with_a_guess_at_objects(tmp_path, terminal):
    path = tmp_path / "t.csv"
    rows = (f"{k // 3},k{k * k % 31:04},GET,{100 + k * k % 31},1" for k in range(99))
    path.write_text("when_s,object,op,size,op_count\n" + "\n".join(rows) + "\n")
    done = run("trace", "info", path, answers="\n" * 5)
    assert done.exit_code == 0, done.output
    words = shlex.split(done.stderr.partition("without asking: ")[2].splitlines()[0])
    assert words[2] == "time=when_s:s,key=object,size=size:1,op=op,count=op_count"
