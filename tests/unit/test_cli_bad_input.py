"""Every command on every kind of damaged file: status 1, one line that names it, nothing written."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

from cachezoo import cli
from cachezoo.traces.store import write_trace
from tests.e2e import damage
from tests.page_data import seeded_trace
from tests.study_data import made_study

ROOT = Path(__file__).resolve().parents[2]
OUT = ("-o", "out.parquet")
KINDS = ("trace.parquet", "raw.csv", "bundle.zip", "recipe.yaml", "metrics/page/web.json", "study.json")
# Of each command the words with a file of a kind in them: the file is damaged, and the command must say so.
COMMANDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "trace ingest": (("trace.parquet", *OUT), ("raw.csv", *OUT)),
    "trace info": (("trace.parquet",), ("raw.csv",)),
    "trace convert": (("trace.parquet", "-o", "out.csv", "--to", "csv"),),
    "trace cut": (("trace.parquet", *OUT, "--last-row", "9"),),
    "trace sample": (("trace.parquet", *OUT, "--rate", "0.5"),),
    "trace split": (("trace.parquet", "-o", "parts", "--at", "0.5"),),
    "trace merge": (("trace.parquet", "trace.parquet", *OUT),),
    "trace anonymise": (("trace.parquet", *OUT), ("raw.csv", *OUT)),
    "trace synth": (("trace.parquet", *OUT), ("raw.csv", *OUT), ("--model", "recipe.yaml", *OUT)),
    "trace report": (("trace.parquet", "-o", "trace.html"), ("raw.csv", "--json")),
    "trace add": (("trace.parquet", "--category", "web", "--role", "train"),),
    "simulate": (("trace.parquet",), ("raw.csv",)),
    "recommend": (
        ("trace.parquet", "--no-models"),
        ("raw.csv", "--no-models"),
        ("good.parquet", "--device", "recipe.yaml"),
    ),
    "recommend --only ram-ssd": (
        ("trace.parquet",),
        ("raw.csv",),
        ("good.parquet", "--prices", "recipe.yaml"),
        ("good.parquet", "--device", "recipe.yaml"),
    ),
    "compare": (("trace.parquet",), ("good.parquet", "--bundle", "bundle.zip")),
    "sweep": (("trace.parquet", "--workers", "1"),),
    "curve": (("trace.parquet",),),
    "bounds": (("trace.parquet",),),
    "recommend --only wear": (("trace.parquet",), ("raw.csv",), ("good.parquet", "--bundle", "bundle.zip")),
    "recommend --only cache-wear": (("trace.parquet",), ("raw.csv",)),
    "recommend --only tiers": (
        ("trace.parquet",),
        ("raw.csv",),
        ("good.parquet", "--device", "recipe.yaml"),
        ("good.parquet", "--prices", "recipe.yaml"),
        ("good.parquet", "--hierarchy", "lru | bundle", "--bundle", "bundle.zip"),
    ),
    "recommend --only share": (
        ("trace.parquet", "good.parquet", "--names", "a,b"),
        ("raw.csv", "good.parquet"),
        ("good.parquet", "good.parquet", "--names", "a,b", "--device", "recipe.yaml"),
    ),
    "recommend --only flash": (("trace.parquet",), ("raw.csv",), ("good.parquet", "--bundle", "bundle.zip")),
    "device calibrate": (
        ("--trace", "trace.parquet", "--base", "exosx20_990pro", "--kind", "hdd", "-o", "new.yaml"),
        ("--trace", "raw.csv", "--base", "exosx20_990pro", "--kind", "ssd", "-o", "new.yaml"),
        ("--trace", "good.parquet", "--base", "recipe.yaml", "--kind", "ssd", "-o", "new.yaml"),
    ),
    "device profile": (("recipe.yaml",),),
    "device response": (
        ("trace.parquet", "--device", "exosx20_990pro", "--depth", "2"),
        ("good.parquet", "--device", "recipe.yaml"),
    ),
    "device replay": (
        ("trace.parquet", "--device", "exosx20_990pro", *OUT),
        ("good.parquet", "--device", "recipe.yaml", *OUT),
    ),
    "models bundle verify": (("bundle.zip",),),
    "models bundle export": (("bundle.zip", "--onnx", "model.onnx"),),
    "models bundle inspect": (("bundle.zip",),),
    "models bundle drift": (("bundle.zip", "good.parquet"),),
    "models promote": (("bundle.zip",),),
    "models results": (("metrics/page/web.json",),),
    "models study compare": (("study.json", "good.json"), ("good.json", "study.json")),
}
# These read no file that is named, or none that can be damaged one by one: stage track's tests have the outputs, and
# those of the device commands what cannot be prepared, which is said where there is fio. A capture reads a device.
DOCUMENTS = {kind for kind in KINDS if kind.endswith((".yaml", ".json"))}
WITHOUT = {
    "trace formats", "trace capture", "policies", "models track sync", "models track ui", "models report",
    "device prepare", "models bundle release", "models bundle receive", "models bundle policy", "models rollback",
    "models zoo", "demo", "serve start", "serve status", "serve stop", "serve reload", "serve attach",
}  # fmt: skip


def leaves(command, words: tuple[str, ...] = ()) -> Iterator[str]:
    for name in command.list_commands(None):
        child = command.commands[name]
        if hasattr(child, "commands"):
            yield from leaves(child, (*words, name))
        else:
            yield " ".join((*words, name))


def test_every_command_is_here():
    deep = {f"recommend --only {name}" for name in cli.ONLY}
    listed = {*leaves(typer.main.get_command(cli.app)), *deep, "serve start"}  # help names it `serve DISK`
    assert listed == {*COMMANDS, *WITHOUT}


WRITING = [name for name, choices in COMMANDS.items() if name.startswith("trace ") and "-o" in choices[0]]


@pytest.mark.parametrize("name", WRITING)
def test_an_output_in_a_folder_that_is_not_there_is_refused_first_and_no_folder_is_made(
    tmp_path, monkeypatch, capsys, name
):
    monkeypatch.chdir(tmp_path)
    write_trace(seeded_trace(300, 40, 1), Path("trace.parquet"))
    words = list(COMMANDS[name][0])
    place = words.index("-o") + 1
    words[place] = f"none/{words[place]}"
    monkeypatch.setattr(sys, "argv", ["cachezoo", *name.split(), *words])
    with pytest.raises(SystemExit) as left:
        cli.main()
    said = capsys.readouterr().err
    assert left.value.code == 1 and len(said.splitlines()) == 1, said
    assert f"{words[place]}: cannot be written (none: no such folder); make it first" in said
    assert [path.name for path in Path().iterdir()] == ["trace.parquet"]


CASES = [
    pytest.param(name, words, way, id=f"{name}-{'+'.join(words[:1])}-{way.__name__}")
    for name, choices in COMMANDS.items()
    for words in choices
    for way in (
        *damage.ANY,
        *([damage.another_table] if "trace.parquet" in words else []),
        *(damage.TEXT if DOCUMENTS & {*words} else []),
    )
    if (name, way) != ("models results", damage.missing)
]


@pytest.mark.parametrize(("name", "words", "way"), CASES)
def test_a_command_names_the_damaged_file_and_writes_nothing(tmp_path, monkeypatch, capsys, name, words, way):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "conf", "conf")
    shutil.copy(ROOT / "params.yaml", "params.yaml")
    Path("metrics/page").mkdir(parents=True)
    trace = seeded_trace(300, 40, 1)
    for file in ("trace.parquet", "good.parquet"):
        write_trace(trace, Path(file))
    Path("raw.csv").write_text("time_us,op,offset,size\n" + "".join(f"{k},R,{4096 * k},4096\n" for k in range(200)))
    for file in ("bundle.zip", "recipe.yaml", "metrics/page/web.json"):
        Path(file).write_text('{"traces": ')
    for file in ("study.json", "good.json"):
        Path(file).write_text(json.dumps(made_study()))
    target = next(word for word in (*words[::-1], "") if word in (*KINDS, ""))
    way(Path(target))
    before = {str(path) for path in Path().rglob("*")}
    shown = () if name == "models results" else words
    monkeypatch.setattr(sys, "argv", ["cachezoo", *name.split(), *shown])
    with pytest.raises(SystemExit) as left:
        cli.main()
    said = capsys.readouterr().err
    assert left.value.code == 1, said
    assert len(said.splitlines()) == 1, said
    assert said.startswith("cachezoo: ")
    assert Path(target).name in said or Path(target).stem in said
    assert {str(path) for path in Path().rglob("*")} == before
