"""Bundles of classics: files of parameters, in the form of every other bundle."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from cachezoo.bundles import Coded, RequestBatch, load, verify
from cachezoo.bundles.card import inspect
from cachezoo.bundles.classic import build_policy, id_of, write_policy
from cachezoo.bundles.protocol import ACTS, MANIFEST
from cachezoo.bundles.release import release, zoo_page
from cachezoo.bundles.schema import MODEL_SCHEMA, first_problem, schema
from cachezoo.bundles.writer import write_archive
from cachezoo.errors import ConfigError
from cachezoo.policies import mounted
from cachezoo.policies.components import Whole
from cachezoo.policies.simulate import Simulator
from cachezoo.policies.spec import parse
from cachezoo.zoo.policy.bundle import BRANCHES, KIND, golden_stream
from cachezoo.zoo.policy.serve import PolicyServing, spec_of, values_of
from tests.baleen_data import make_trace
from tests.bundle_data import refused, reseal
from tests.command_line import run
from tests.unit.bundles.test_round_trip import CODE, HEAVY, ROOT

WHOLE = "rejectx(x=2)+lirs(hir=0.05)+next(n=4)"
TABLES: dict[str, tuple[Any, ...]] = {
    "admission": mounted.ADMISSIONS,
    "eviction": mounted.EVICTIONS,
    "prefetch": mounted.PREFETCHES,
}
TEXTS = [*(one.id for one in mounted.EVICTIONS), WHOLE, "coinflip(p=0.3)+twoq", "clock(bits=3, initial=7)"]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_policy(WHOLE, tmp_path_factory.mktemp("classic") / id_of(parse(WHOLE)))[0]


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "bundle"))


@pytest.mark.parametrize("text", TEXTS)
def test_every_composition_becomes_a_bundle_that_passes_every_branch(text: str, tmp_path: Path) -> None:
    out, digest = write_policy(text, tmp_path / "bundle")
    report = verify(out)
    assert report["digest"] == digest and report["id"] == id_of(parse(text)) and report["output_difference"] == 0
    assert all(report["branches"][name] for name in KIND.wanted)
    sets = load(out).manifest["golden"]["synthetic"]
    assert all(sum(one["branches"][name] for one in sets) for name in BRANCHES)


def test_equal_texts_give_equal_bytes_and_its_archive_is_the_bundle(folder: Path, tmp_path: Path) -> None:
    spaced = " rejectx ( x = 2.0 , window_capacities=4) + lirs(hir=5e-2)+next(n=4)"
    files, _ = build_policy(spaced)
    assert files == {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    write_archive(folder, tmp_path / "bundle.zip")
    assert verify(tmp_path / "bundle.zip") == verify(folder)


def test_it_decides_what_the_simulator_counts(folder: Path) -> None:
    trace = make_trace(3_000, 5)
    trace = replace(trace, offset=trace.offset % (1 << 22))
    batch = RequestBatch(trace.time_us, trace.op, trace.offset, trace.size, trace.volume)
    served = load(folder).serving().run(batch, 90, "around")
    own = Simulator(trace, batch.pages(), "around").run(WHOLE, 90, 0)
    assert int((served.run.outcome == 2).sum()) == own.hits > 0
    assert int((served.run.victim >= 0).sum()) == own.replacements


@pytest.mark.parametrize("text", ["lru", "larc+next(n=2)", WHOLE])
def test_golden_rows_count_what_accounting_counts(text: str) -> None:
    serving = PolicyServing(policy=values_of(parse(text)))
    batch = golden_stream(values_of(parse(text)))
    found = KIND.recompute(serving, batch, {"capacity_pages": 20})
    names = ("time_us", "op", "offset", "size")
    trace: Any = replace(
        make_trace(1, 1), **{name: getattr(batch, name) for name in names}, volume=batch.volume,
        namespace=Coded.of([""] * len(batch)), user=Coded.of([""] * len(batch)), flags=None,
    )  # fmt: skip
    own = Simulator(trace, batch.pages()).run(text, 20, 0)
    branches = found.branches
    assert (branches["hit"], branches["evicted"]) == (own.hits, own.replacements)
    assert (branches["dirty_evicted"], branches["prefetched"]) == (own.dirty_evictions, own.prefetched)
    assert branches["prefetch_hit"] == own.prefetch_hits
    resident, decisions = found.outputs[:, 0], found.decisions
    assert resident.max() <= 20 and resident[-1] == np.isin(decisions[:, 0], (1, 3)).sum() - own.replacements
    assert list(decisions[decisions[:, 1] >= 0][:1, 1]) == [0] or text != "lru"  # the first page is the first to leave


def test_schema_s_ranges_are_those_of_the_components() -> None:
    own = schema(MODEL_SCHEMA)["$defs"]["policy"]["properties"]["policy"]["properties"]
    for part, table in TABLES.items():
        assert own[part]["properties"]["name"]["enum"] == [one.id for one in table]
        rules = {rule["if"]["properties"]["name"]["const"]: rule["then"] for rule in own[part]["allOf"]}
        for one in table:
            properties = dict(rules[one.id]["properties"])
            assert properties.pop("name") == {"const": one.id}
            assert rules[one.id]["required"] == ["name", *properties] and not rules[one.id]["additionalProperties"]
            found = {name: (rule["type"], rule["minimum"], rule["maximum"]) for name, rule in properties.items()}
            assert found == {
                value.name: (
                    "integer" if isinstance(value, Whole) else "number",
                    value.low,
                    0 if value.name == "libcachesim" else value.high,
                )
                for value in one.parameters
            }


def _policy(place: str, value: object) -> Any:
    def change(manifest: dict[str, Any]) -> None:
        *way, last = place.split(".")
        inner = manifest["policy"]
        for key in way:
            inner = inner[key]
        inner[last] = value

    return change


@pytest.mark.parametrize(
    ("place", "value", "match"),
    [
        ("text", "belady", "belady runs in the simulator alone"),
        ("text", "lirs", "policy.admission is not that of policy.text lirs"),
        ("text", "rejectx(x=2)+lirs(hir=0.05)+next( n=4)", "is how policy.text is written"),
        ("text", "nothing", "nothing is unknown"),
        ("text", "../x", "breaks pattern"),
        ("eviction", {"name": "lru"}, "policy.eviction is not that of policy.text"),
        ("eviction", {"name": "lru", "hir": 0.05}, "policy.eviction.hir is unknown"),
        ("eviction", {"name": "belady"}, "breaks enum"),
        ("eviction.hir", 0.06, "policy.eviction is not that of policy.text"),
        ("eviction.hir", 2, "breaks maximum"),
        ("eviction.stack", None, "not of type number"),
        ("prefetch.n", 4.5, "not of type integer"),
        ("prefetch.n", 5, "policy.prefetch is not that of policy.text"),
        ("more", 1, "policy.more is unknown"),
    ],
)
def test_what_is_not_one_composition_is_refused(copy: Path, place: str, value: object, match: str) -> None:
    reseal(copy, _policy(place, value))
    refused(copy, match)


def test_changed_golden_rows_and_sizes_are_refused(copy: Path) -> None:
    reseal(copy, lambda manifest: manifest["golden"]["context"].update(capacity_pages=25))
    refused(copy, r"row \d+ of golden/(outputs|decisions).npy is not what this runtime computes of model.json", verify)
    reseal(copy, lambda manifest: manifest["golden"]["context"].update(capacity_pages=0))
    refused(copy, "capacity_pages")
    text = (copy / ACTS).read_text()
    (copy / ACTS).write_text(text.replace("lirs", "lirx"))
    refused(copy, "does not have the sha256")


def test_the_document_is_as_jsonschema_has_it(folder: Path) -> None:
    document = json.loads((folder / ACTS).read_text())
    validator = jsonschema.Draft202012Validator(schema(MODEL_SCHEMA))
    for part, table in TABLES.items():
        for one in table:
            for value in ({"name": one.id}, {"name": one.id, "p": 0.5}, document["policy"][part], 1, {}):
                changed = {**document, "policy": {**document["policy"], part: value}}
                assert (first_problem(changed, MODEL_SCHEMA) is None) == validator.is_valid(changed)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("belady", "belady runs in the simulator alone; a bundle holds admission"),
        ("follow(experts=lru|arc)", "follow runs in the simulator alone"),
        ("vrm", "vrm runs in the simulator alone"),
        ("azor", "azor runs in the simulator alone"),
        ("bloom+lru", "bloom runs in the simulator alone"),
        ("reuse.follow", "reuse.follow is unknown"),
        ("clock(bits=1, initial=2)", "does not fit into bits"),
        ("lru+lru", "one eviction"),
        ("wtinylfu(libcachesim=1)", "in the simulator alone; leave it out"),
        ("", "a component is missing"),
    ],
)
def test_what_no_runtime_runs_becomes_no_bundle(text: str, match: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=match) as caught:
        write_policy(text, tmp_path / "bundle")
    assert "\n" not in str(caught.value) and not list(tmp_path.iterdir())


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match="something else than a bundle"):
        write_policy("lru", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_the_command_writes_it_or_says_in_a_line_why_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = json.loads(run("models", "bundle", "policy", "sieve", "--json").stdout)
    assert said == {"folder": "policy.sieve", "digest": verify(tmp_path / "policy.sieve")["digest"]}
    assert "classic: written" in run("models", "bundle", "policy", "sieve", "-o", "classic").stdout
    assert (tmp_path / "classic/card.md").read_bytes() == (tmp_path / "policy.sieve/card.md").read_bytes()
    refused_line = run("models", "bundle", "policy", "belady", "-o", "other", ok=False).stderr
    assert refused_line.startswith("cachezoo: policy belady: belady runs in the simulator alone")
    assert refused_line.count("\n") == 1 and not (tmp_path / "other").exists()


def test_ids_are_bundles_ids_and_tell_texts_apart() -> None:
    wanted = schema("manifest")["properties"]["id"]
    texts = [*TEXTS, "clock(bits=2)", "twoq(kin=1e-7)", "twoq(kin=1e-7, kout=1e-9)",
             "coinflip(p=0.123456789, seed=12)+s3fifo(small=0.123456, ghost=1.23456)+next(n=12)"]  # fmt: skip
    ids = [id_of(parse(text)) for text in texts]
    assert len(set(ids)) == len(ids)
    assert all(re.search(wanted["pattern"], one) and len(one) <= len("policy.") + 64 for one in ids)
    assert id_of(parse(WHOLE)) == "policy.rejectx_x_2_lirs_hir_0_05_next_n_4"


def test_card_says_what_it_is_and_claims_nothing(folder: Path) -> None:
    card = (folder / "card.md").read_text()
    heads = re.findall(r"^## (.*)$", card, re.MULTILINE)
    assert heads == ["When not to use it", "Limits", "How to load it", "How well"]
    assert f"`{WHOLE}`" in card and "learned from" not in card and "hit_ratio" not in card
    report = inspect(folder)
    assert not report["promotable"] and report["manifest"]["provenance"]["traces"] == []


def test_its_lines_in_python_run(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, sample, code = re.findall(r"```python\n(.*?)```", (folder / "card.md").read_text(), re.DOTALL)
    (tmp_path / "models/bundles").mkdir(parents=True)
    (tmp_path / "models/bundles" / folder.name).symlink_to(folder)
    monkeypatch.chdir(tmp_path)
    pasted: dict[str, Any] = {}
    exec(compile(sample + code, "card.md", "exec"), pasted)
    assert len(pasted["outcome"]) == len(pasted["victim"]) == 7  # a read's page and four ahead, a write's two


@pytest.mark.slow(seconds=20)
@pytest.mark.parametrize("mode", ["whole", "bare"])
def test_reading_it_needs_numpy_alone(mode: str, folder: Path) -> None:
    command = [sys.executable, "-c", CODE, mode, ",".join(HEAVY), str(folder)]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [verify(folder)["digest"]]


def test_it_goes_into_a_release_like_any_other(folder: Path, tmp_path: Path) -> None:
    found = release([folder], tmp_path / "out")
    assert f"`{folder.name}`" in zoo_page(found) and "classic rule" in zoo_page(found)


def test_values_and_text_are_one_composition() -> None:
    for text in TEXTS:
        values = values_of(parse(text))
        assert spec_of(values) == parse(text) and json.loads(json.dumps(values)) == values
    manifest = json.loads(build_policy("lru")[0][MANIFEST])
    assert manifest["cost"]["parameters"] == 0 and manifest["id"] == "policy.lru"
