"""`cachezoo trace …` from file to file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from cachezoo.cli import app
from cachezoo.errors import CachezooError
from cachezoo.traces.formats import FORMATS
from cachezoo.traces.store import read_pages, read_trace, write_trace
from tests.page_data import seeded_trace
from tests.trace_data import texts

MSR = "128166372003061629,usr,0,Read,{},4096,10\n"


def run(*args: object) -> Any:
    """The command's JSON."""
    done = CliRunner().invoke(app, ["trace", *map(str, args), "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def refused(*args: object) -> str:
    with pytest.raises(CachezooError) as error:
        CliRunner().invoke(app, ["trace", *map(str, args)], catch_exceptions=False)
    return str(error.value)


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """Two canonical traces of one volume each."""
    paths = tmp_path / "mail.parquet", tmp_path / "web.parquet"
    for seed, path in enumerate(paths):
        trace = seeded_trace(600, 50, seed)
        object.__setattr__(trace.meta, "trace_id", path.stem)
        write_trace(trace, path)
    return paths


def test_several_raw_files_become_one_trace_with_a_name(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("".join(MSR.format(k * 4096) for k in range(5)))
    out = tmp_path / "o.parquet"
    figures = run("ingest", tmp_path / "a.csv", tmp_path / "b.csv", "-o", out, "--id", "both", "--category", "web")
    assert (figures["requests"], figures["distinct_pages"], figures["trace_id"]) == (10, 5, "both")
    assert read_trace(out).meta.category == "web"
    assert run("info", tmp_path / "a.csv", tmp_path / "b.csv")["requests"] == 10


def test_bad_rows_are_skipped_only_when_asked_and_said(tmp_path: Path) -> None:
    raw, out = tmp_path / "t.csv", tmp_path / "o.parquet"
    raw.write_text(MSR.format(0) + "what\n" + MSR.format(4096))
    assert "t.csv: row 2: has 1 field, not 7" in refused("ingest", raw, "-o", out)
    assert not out.exists()
    done = CliRunner().invoke(app, ["trace", "ingest", str(raw), "-o", str(out), "--skip-bad-rows", "1"])
    assert done.exit_code == 0
    assert "skipped: 1 bad row\n" in done.stdout and "1 bad row was skipped" in done.stderr
    assert len(read_trace(out)) == 2


@pytest.mark.parametrize("words", [["ingest", "-o", "o.parquet"], ["ingest", "-o", "o.parquet", "--json"], ["info"]])
def test_a_jump_of_years_is_in_the_summary_and_on_standard_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [MSR.format(k * 4096) for k in range(5)]
    Path("t.csv").write_text("".join([*rows, rows[0].replace("128166372003061629", "-1")]))
    done = CliRunner().invoke(app, ["trace", words[0], "t.csv", *words[1:]], catch_exceptions=False)
    assert done.exit_code == 0
    assert "row 6: 406.4 years back" in done.stdout
    assert done.stderr == (
        "warning: t.csv: row 6: its time is 406.4 years before the last row's; all times count from the earliest: fix "
        "or drop the row if it is wrong\n"
    )


def test_formats_are_listed_and_a_files_candidates(tmp_path: Path) -> None:
    assert [row["id"] for row in run("formats")] == list(FORMATS)
    raw = tmp_path / "t.csv"
    raw.write_text(MSR.format(0))
    best = run("formats", raw)[0]
    assert (best["id"], best["fit"]) == ("msr", "taken")
    done = CliRunner().invoke(app, ["trace", "formats", str(raw)])
    assert "MSR-Cambridge" in done.stdout


def test_convert_says_what_is_lost_and_comes_back(two: tuple[Path, Path], tmp_path: Path) -> None:
    trace = read_trace(two[0])
    assert run("convert", two[0], "-o", tmp_path / "t.csv", "--to", "csv")["requests"] == 600
    assert run("info", tmp_path / "t.csv")["requests"] == 600
    report = run("convert", two[0], "-o", tmp_path / "t.bin", "--to", "oraclegeneral")
    lost = {key: value for key, value in report.items() if key.startswith("lost: ")}
    assert int((trace.op == 1).sum()) in lost.values()
    assert "--option 'colour': write KEY=VALUE" in refused("convert", two[0], "-o", "x", "--to=csv", "--option=colour")


def test_cut_sample_and_split(two: tuple[Path, Path], tmp_path: Path) -> None:
    trace, out = read_trace(two[0]), tmp_path / "o.parquet"
    assert run("cut", two[0], "-o", out, "--first-row", 100, "--last-row", 250)["requests"] == 150
    assert read_trace(out).offset.tolist() == trace.offset[100:250].tolist()
    assert read_pages(out).n_requests == 150
    before = int(np.searchsorted(trace.time_us, trace.time_us[300]))
    assert run("cut", two[0], "-o", out, "--to", trace.time_us[300] / 1e6)["requests"] == before
    figures = run("sample", two[0], "-o", out, "--rate", 0.5, "--block-bytes", 4096, "--seed", 3)
    assert 0 < figures["distinct_pages"] < 50
    rows = run("split", two[0], "-o", tmp_path / "parts", "--at", 0.5, "--at", 0.75)
    assert [row["requests"] for row in rows] == [300, 150, 150]
    assert sorted(path.name for path in (tmp_path / "parts").iterdir()) == [f"mail.{k}.parquet" for k in (1, 2, 3)]
    assert "give --at, --at-second or --by, one of them" in refused("split", two[0], "-o", out)


def test_merge_keeps_the_source_and_split_gives_it_back(two: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "both.parquet"
    figures = run("merge", *two, "-o", out, "--share", 0.8, "--share", 0.2)
    assert (figures["requests of mail"], figures["requests of web"]) == (600, 150)
    mixture = read_trace(out)
    assert mixture.meta.trace_id == "both"
    assert {(s, v.split("/")[0]) for s, v in zip(texts(mixture.source), texts(mixture.volume), strict=True)} == {
        ("mail", "mail"),
        ("web", "web"),
    }
    rows = run("split", out, "-o", tmp_path / "parts", "--by", "source")
    back = read_trace(Path(rows[0]["output"]))
    assert back.offset.tolist() == read_trace(two[0]).offset.tolist()
    run("merge", *two, "-o", out, "--turn", "mail=100", "--turn", "web=50", "--periods", 2)
    assert texts(read_trace(out).source) == (["mail"] * 100 + ["web"] * 50) * 2
    assert "--turn 'mail=x': write NAME" in refused("merge", *two, "-o", out, "--turn", "mail=x")
    assert "give --share or --turn, not both" in refused("merge", *two, "-o", out, "--turn", "mail", "--share", 1)


@pytest.mark.parametrize("command", ["cut --last-row 5", "sample --rate 0.5", "convert --to csv", "merge"])
def test_no_command_replaces_what_it_reads(two: tuple[Path, Path], command: str) -> None:
    name, *rest = command.split()
    before = two[0].read_bytes()
    assert "would be replaced" in refused(name, *(two if name == "merge" else two[:1]), "-o", two[0], *rest)
    assert two[0].read_bytes() == before


def test_add_puts_a_trace_into_the_matrix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil

    root = Path(__file__).resolve().parents[2]
    shutil.copytree(root / "conf", tmp_path / "p/conf")
    monkeypatch.chdir(tmp_path / "p")
    (tmp_path / "orders.csv").write_text("".join(MSR.format(k * 4096) for k in range(50)))
    report = run("add", tmp_path / "orders.csv", "--category", "orders", "--role", "train", "--part", 0, 0.5)
    assert (report["key"], report["new_category"], report["missing"]) == ("orders_train", True, ["validation", "test"])
    assert report["next_command"].startswith("cachezoo trace add")
    assert "orders_train:" in Path("conf/matrix.yaml").read_text()
    monkeypatch.chdir(tmp_path)
    assert "no project here" in refused("add", tmp_path / "orders.csv", "--category", "orders", "--role", "test")


def test_a_name_in_brackets_is_shown_as_it_is(tmp_path: Path) -> None:
    for name in ("a[red].csv", "x[/b].csv"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(MSR.format(0))
        done = CliRunner().invoke(app, ["trace", "info", str(path)], catch_exceptions=False)
        assert path.name.removesuffix(".csv") in done.output
