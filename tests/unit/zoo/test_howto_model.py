"""docs/howto-add-a-model.md, its files put into a copy of the project and the stages of its model run."""

import json
import re
from pathlib import Path

import pytest

from tests.unit.zoo.test_howto import ROOT, blocks, edit, fresh, run, sources

PAGE = ROOT / "docs/howto-add-a-model.md"
CONF = "conf/model/admission/lgbm_extra.yaml"
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project on tiny traces, with its lists of sources before the model was added."""
    folder = fresh(tmp_path_factory.mktemp("howto_model"))
    before = sources(folder)
    for file, language, text in blocks(PAGE):
        if language == "diff":
            edit(folder / file, text)
        elif language == "yaml":
            (folder / file).write_text(text)
    run(folder, "pipelines/stages.py", "compose")
    for key in ("alpha_train", "alpha_validation"):
        for stage in ("ingest", "label_episodes"):
            run(folder, "pipelines/stages.py", stage, key)
    run(folder, "pipelines/stages.py", "fit_admission", "alpha")
    return folder, before


def text_of(folder: Path, suffix: str = "") -> str:
    return (folder / f"models/fitted/admission/admission.alpha.lgbm_extra{suffix}/model.lgb.txt").read_text()


def test_the_page_s_settings_are_those_of_the_forest_beside_but_for_the_name():
    (page,) = [text for file, language, text in blocks(PAGE) if (file, language) == (CONF, "yaml")]
    own = (ROOT / "conf/model/admission/lgbm.yaml").read_text()
    bare = [re.sub(r"\s*#.*", "", line) for line in own.splitlines()[1:]]
    assert page.splitlines()[1:] == [line.replace("arch: lgbm", "arch: lgbm_extra") for line in bare]


def test_only_stages_that_fit_or_run_forests_have_other_sources(project):
    folder, before = project
    after = sources(folder)
    changed = {name for name in before if before[name] != after[name]}
    assert {"fit_admission", "fit_reuse"} <= changed
    untouched = {"ingest", "corpus", "replay", "label_episodes", "fit_caching", "fit_workload", "judge_caching"}
    assert not changed & untouched


def test_its_trees_are_extremely_randomized_and_the_same_bytes_twice(project):
    folder, _ = project
    first = text_of(folder)
    assert "[extra_trees: 1]" in first and "[extra_trees: 1]" in text_of(folder, "_block")
    run(folder, "pipelines/stages.py", "fit_admission", "alpha")
    assert text_of(folder) == first


def test_it_is_judged_as_every_admission_model(project):
    folder, _ = project
    run(folder, "pipelines/stages.py", "judge_admission", "alpha")
    model = json.loads((folder / "models/trained/admission/admission.alpha.lgbm_extra/train.json").read_text())
    assert (model["model_id"], model["arch"]["arch"]) == ("admission.alpha.lgbm_extra", "lgbm_extra")
    assert model["trained"] is True and isinstance(model["beats_baseline"], bool)
