"""Forms for issues and the workflow: they are what GitHub takes, and run what everybody runs."""

from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FORMS = sorted(path for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
ASKED = {"input", "textarea", "dropdown", "checkboxes"}


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_says_what_each_field_is_for(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert form["name"] and form["description"]
    fields = [field for field in form["body"] if field["type"] in ASKED]
    assert len({field["id"] for field in fields}) == len(fields) > 1
    assert all(field["attributes"]["label"] for field in fields)
    assert any(field.get("validations", {}).get("required") for field in fields)


def test_the_workflow_runs_what_everybody_runs_and_may_only_read():
    flow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))
    (job,) = flow["jobs"].values()
    assert job["steps"][-1]["run"] == ".ci/run" and (ROOT / ".ci/run").stat().st_mode & 0o111
    assert flow["permissions"] == {"contents": "read"}


def test_three_kinds_of_issue():
    assert {path.stem for path in FORMS} == {"bug", "question", "trace"}
