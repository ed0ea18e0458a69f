"""What progress says where there is no terminal; and that nothing which a terminal obeys is printed."""

import ast
import os
import re
from pathlib import Path

import pytest
import rich.progress  # noqa: F401 - it takes the clock as it is imported, which a test here changes
from rich.table import Table

from cachezoo import console
from cachezoo.traces.store import write_trace
from tests.command_line import run
from tests.request_data import trace_of


@pytest.fixture
def lines(monkeypatch, capsys):
    """Says how far each moment is, and returns what was printed."""

    def at(*moments: tuple[float, float], note: str = "") -> list[str]:
        times = iter([0.0, *(time for time, _ in moments)])
        monkeypatch.setattr(console.time, "monotonic", lambda: next(times))
        console.err.cache_clear()
        with console.progress("work", 100) as advance:
            for _, done in moments:
                advance(done, note)
        console.err.cache_clear()
        return capsys.readouterr().err.splitlines()

    return at


def test_no_time_to_go_is_told_from_a_first_step_that_may_be_the_slowest(lines):
    assert lines((11, 1), (22, 50)) == ["work: 1 %", "work: 50 %, 22 s to go"]


def test_long_work_tells_a_time_to_go_before_a_tenth_is_done_but_not_from_its_first_steps(lines):
    assert lines((61, 1), (72, 4), (83, 5)) == ["work: 1 %", "work: 4 %", "work: 5 %, 1577 s to go"]


def test_a_note_follows_the_share_or_the_time_to_go(lines):
    assert lines((11, 1), (22, 50), note="lirs") == ["work: 1 %, lirs", "work: 50 %, 22 s to go; lirs"]


ROOT = Path(__file__).resolve().parents[2]
EVIL = "a\x1b[31mb\x07c\rd\x9be\x7ff\u202eg\u2066h"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.fixture
def shown(capsys):
    """What the consoles print."""
    console.out.cache_clear()
    console.err.cache_clear()
    yield lambda: "".join(capsys.readouterr())
    console.out.cache_clear()
    console.err.cache_clear()


def test_plain_text_stays_and_control_characters_are_pictures():
    assert console.plain("a b\tc\nd \u00e4 \u65e5") == "a b\tc\nd \u00e4 \u65e5"
    assert console.plain("\x1b[31m\x00\x7f") == "\u241b[31m\u2400\u2421"
    assert not OBEYED.search(console.plain(EVIL))
    assert console.plain(os.fsdecode(b"x\xff")) == "x\ufffd"


@pytest.mark.parametrize("which", ["out", "err"])
def test_every_kind_of_output_is_plain(shown, which):
    screen = getattr(console, which)()
    table = Table(title=EVIL)
    table.add_column(EVIL)
    table.add_row(EVIL)
    for one in (EVIL, table):
        screen.print(one, markup=False)
    console.complain(EVIL)
    said = shown()
    assert said.count("\u241b") == 5
    assert not OBEYED.search(said)


def test_progress_on_a_terminal_is_plain(shown, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with console.progress(EVIL, 1) as advance:
        advance(1, EVIL)
    said = shown()
    assert "[31m" in said and "\x1b[31m" not in said
    assert not {"\x07", "\x9b", "\u202e"} & {*said}


NAMES = (EVIL.replace("\r", "") + ".csv", os.fsdecode(b"x\xffy.csv"))
WORDS = ("trace info", "trace formats", "trace report -o out.html", "trace ingest -o out.parquet", "curve", "simulate")
COMMANDS = tuple(tuple(words.split()) for words in (*WORDS, "trace convert -o o --to csv", "recommend --no-models"))


@pytest.mark.parametrize("name", NAMES, ids=["control", "no text"])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: "-".join(words[:2]))
def test_a_file_of_any_name_is_printed_plain(tmp_path, monkeypatch, words, whole, name):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{k},R,{4096 * (k % 7)},4096\n" for k in range(50))
    Path(name).write_text("time_us,op,offset,size\n" + rows if whole else f"{EVIL},b\n1,2\n")
    count = 2 if words[0] == "trace" else 1
    done = run(*words[:count], name, *words[count:], ok=None)
    assert done.returncode in (0, 1)
    assert not OBEYED.search(done.stdout + done.stderr)


def test_names_in_a_trace_are_printed_plain(tmp_path):
    same = {"op": 0, "size": 4096, "volume": EVIL, "user": EVIL}
    requests = [{"time_us": k, "offset": 4096 * k, **same} for k in range(60)]
    write_trace(trace_of(requests, EVIL, EVIL, extra={"inferred": EVIL}), tmp_path / "t.parquet")
    for words in (("trace", "info"), ("trace", "report"), ("recommend", "--only", "share", "--apart", "volume")):
        done = run(*words, tmp_path / "t.parquet", *(["-o", tmp_path / "o.html"] if "report" in words else []), ok=None)
        assert not OBEYED.search(done.stdout + done.stderr)


WRITERS = {"print", "sys.stdout.write", "sys.stderr.write", "typer.echo", "Console", "sys.stdout.buffer.write"}
# The console itself; and the runtime's command, which numpy alone has to do for.
OWN = {
    "console.py",
    "runtime/__main__.py",
    "serve/__main__.py",
    "serve/run.py",
    "serve/words.py",
}  # serve: by the standard library alone


def test_one_place_prints():
    """`typer.echo` is for JSON, whose texts are ASCII, and for what is plain."""
    package = ROOT / "src/cachezoo"
    found = {}
    for file in package.rglob("*.py"):
        for call in (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)):
            said = ast.unparse(call.func)
            given = ast.unparse(call.args[0]) if call.args else ""
            if said in WRITERS and not (said == "typer.echo" and given.startswith(("json.dumps(", "plain("))):
                found.setdefault(str(file.relative_to(package)), set()).add(f"{said}({given})")
    assert found.pop("cli/__init__.py") == {"typer.echo(f'cachezoo {__version__}')", "typer.echo(message)"}
    assert set(found) == OWN
