"""Every stage on damaged inputs of all kinds: one line that names the file, and outputs as they were.

Stages share their readers, so each tries one way of damage on each of its inputs, the next input and the next stage the
next one; `make test-long` tries all of them on all inputs.
"""

import contextlib
import itertools
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cachezoo.closure import Project
from scripts import data_dictionary
from tests.e2e import damage
from tests.e2e.workspace import ROOT, Stage, contents, listing, run

SCRIPTS = sorted(path.name for path in Project(ROOT).stages())
APART = ("mlflow", "__pycache__", ".cache")
# Rows are joined by position; with one file alone, nothing tells that its last row is gone.
ROWS = ("data/requests", "data/responses", "data/labels", "data/features")
# Both read everything that there is and draw it: of two ways of damage, where they read first, one is tried at a time,
# and not on models, which other stages read too.
WIDE = {"report": (".json",), "track": (".json",)}
# Files that need not be there, and text that may be shorter: VERSIONS.json pins released bundles, a category has
# metrics of one kind of cache or of both, and a lock may pin fewer libraries.
OPTIONAL = {
    # A bundle states them where they are.
    ("models/trained/admission/admission.alpha.lgbm/inputs.json", "missing"),
    ("models/trained/admission/admission.alpha.lgbm_block/inputs.json", "missing"),
    ("models/trained/admission/admission.alpha.lgbm_small/inputs.json", "missing"),
    ("models/trained/prefetch/prefetch.alpha.lgbm/inputs.json", "missing"),
    ("VERSIONS.json", "missing"),
    ("metrics", "missing"),
    ("requirements.lock", "truncated"),
}

pytestmark = pytest.mark.slow(seconds=300)


@pytest.fixture
def workspace(made, monkeypatch):
    monkeypatch.chdir(made.folder)
    return made


def groups(dep: str) -> dict[str, list[Path]]:
    """A dependency's files, damaged together if a stage may read one or another of them.

    A model's own files have names of their own; those in a folder of it, as its variants, are many of one kind.
    """
    if not Path(dep).is_dir():
        return {Path(dep).name: [Path(dep)]}
    found: dict[str, list[Path]] = {}
    for file in sorted(path for path in Path(dep).rglob("*") if path.is_file()):
        of_model = f"{file.parent.name}/{file.suffix}" if "." not in file.parent.name else file.name
        found.setdefault(of_model if dep.startswith("models") else file.suffix, []).append(file)
    return found


def cases(stage: Stage, all_ways: bool) -> Iterator[tuple[str, list[Path], damage.Damage]]:
    aligned = sum(dep.startswith(ROWS) for dep in stage.deps) > 1
    turn = itertools.count(SCRIPTS.index(stage.script))
    for dep in stage.deps:
        for name, files in groups(dep).items() if dep != "conf" else [("matrix.yaml", [Path("conf/matrix.yaml")])]:
            suffix = files[0].suffix
            ways = damage.BY_SUFFIX.get(suffix, damage.ANY)
            if not (aligned and dep.startswith(ROWS)):
                ways = tuple(way for way in ways if way is not damage.a_row_less)
            if stage.script in WIDE:
                ways = (damage.truncated, damage.no_object) if suffix in WIDE[stage.script] else ()
            if not all_ways and ways:
                ways = () if stage.script in WIDE and dep.startswith("models") else (ways[next(turn) % len(ways)],)
            for way in ways:
                yield f"{dep} [{name}] {way.__name__}", files, way


@contextlib.contextmanager
def damaged(files: list[Path], way: damage.Damage, keep: Path) -> Iterator[None]:
    for number, file in enumerate(files):
        shutil.copy2(file, keep / str(number))
    try:
        for file in files:
            way(file)
        yield
    finally:
        for number, file in enumerate(files):
            damage.remove(file)
            shutil.copy2(keep / str(number), file)


def complaint(stage: Stage, files: list[Path], way: damage.Damage) -> str | None:
    """What is wrong with how a stage takes damaged files; its outputs are put back."""
    before, names = contents(stage.outs), listing(*APART)
    try:
        status, said = run(*stage.command)
    except Exception as error:  # noqa: BLE001 - any is a finding
        return f"a traceback: {error!r}"
    after = contents(stage.outs)
    if status == 0:
        for name, content in before.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_bytes(content)
        optional = any(str(files[0]).startswith(name) and way.__name__ == kind for name, kind in OPTIONAL)
        return None if after == before or optional else "accepted, with other outputs"
    changed = listing(*APART) ^ names
    if after != before or changed:
        return f"outputs changed: {sorted(changed)}"
    if len(said.strip().splitlines()) != 1:
        return f"not one line: {said!r}"
    named = any(file.name in said or re.search(rf"\b{re.escape(file.stem)}\b", said) for file in files)
    return None if named else f"names no file: {said}"


def test_every_stage_writes_what_dvc_yaml_and_the_data_dictionary_say(workspace):
    assert {stage.script for stage in workspace.stages} == set(SCRIPTS)
    for stage in workspace.stages:
        assert all(contents((out,)) for out in stage.outs), stage.name
        assert all(Path(dep).exists() for dep in stage.deps), stage.name
    errors = data_dictionary.errors_of(workspace.folder)
    assert not errors, "\n".join(errors)


def wrong_answers(workspace, keep: Path, script: str, all_ways: bool) -> list[str]:
    """What a stage does wrong with its damaged inputs."""
    found, tried, stage = [], 0, workspace.of(script)
    for name, files, way in cases(stage, all_ways):
        with damaged(files, way, keep):
            wrong = complaint(stage, files, way)
        tried += 1
        if wrong:
            found.append(f"{stage.name}: {name}: {wrong[:400]}")
    assert tried, "a stage without inputs is not tested"
    return found


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_stage_names_the_damaged_file_and_leaves_its_outputs(workspace, tmp_path, script):
    assert wrong_answers(workspace, tmp_path, script, all_ways=False) == []


@pytest.mark.long
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_stage_takes_no_damage_for_its_input(workspace, tmp_path, script):
    assert wrong_answers(workspace, tmp_path, script, all_ways=True) == []


PARAMS = {
    "missing": (lambda text: None, "params.yaml"),
    "empty": (lambda text: "", "params.yaml"),
    "no YAML": (lambda text: text + "\n: {[", "params.yaml"),
    "an unknown key": (lambda text: text + "\ncolour: red\n", "colour"),
    "a key less": (lambda text: re.sub(r"(?m)^seed:.*$", "", text), "seed"),
    "another type": (lambda text: re.sub(r"(?m)^seed:.*$", "seed: soon", text), "seed"),
}


@pytest.mark.parametrize("script", [name for name in SCRIPTS if name not in ("compose", "sources")])
def test_params_and_keys_that_cannot_be_used_are_named(workspace, tmp_path, script):
    params = Path("params.yaml")
    text, stage = params.read_text(), workspace.of(script)
    command, key = stage.command[:2], stage.command[2:]
    before = contents(stage.outs)
    try:
        for what, (change, named) in PARAMS.items():
            changed = change(text)
            params.unlink() if changed is None else params.write_text(changed)
            status, said = run(*stage.command)
            assert (status, len(said.splitlines())) == (1, 1), f"{what}: {said}"
            assert named in said, what
            params.write_text(text)
        if key:
            content = yaml.safe_load(text)
            content["data"]["traces"] = {
                name: entry for name, entry in content["data"]["traces"].items() if entry["category"] == "nosuch"
            }
            params.write_text(yaml.safe_dump(content))
            status, said = run(*stage.command)
            assert (status, len(said.splitlines())) == (1, 1), f"no traces: {said}"
    finally:
        params.write_text(text)
    wrong = [(*command, *key, "one-more"), (*command, "nosuch")]
    for words in wrong:
        status, said = run(*words)
        assert (status, len(said.splitlines())) == (1, 1), f"{words}: {said}"
        assert words[-1] in said, said
    assert contents(stage.outs) == before


def test_a_real_process_ends_with_status_1_and_one_line(workspace, tmp_path):
    import subprocess

    shutil.copytree(workspace.folder / "data/requests", tmp_path / "data/requests")
    shutil.copy("params.yaml", tmp_path)
    key = workspace.of("replay").command[2]
    [requests] = (tmp_path / "data/requests").rglob(f"{key}.parquet")
    damage.truncated(requests)
    done = subprocess.run(
        [ROOT / ".venv/bin/python", ROOT / "pipelines/stages.py", "replay", key],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), "CACHEZOO_CACHE_DIR": str(ROOT / ".cache")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{key}.parquet: not a readable Parquet file" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "data/responses").exists()
