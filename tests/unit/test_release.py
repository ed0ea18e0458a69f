"""`make release`: what each step finds, and what it says to do."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import release
from scripts.release import ARCHIVES, LANE, PASSED, PLACES, SUMS

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.needs("git")
NAMES = {f"GIT_{who}_{what}": "test@example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
CHANGES = "# Changelog\n\n## Unreleased\n\n## 1.2.0 - 2026-11-30\n\n- new\n\n## 1.1.0 - 2026-10-01\n\n- old\n"


def git(folder, *words):
    done = subprocess.run(
        ["git", "-C", folder, *words], env={**os.environ, **NAMES}, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path):
    (tmp_path / "src/cachezoo").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.0"\n')
    (tmp_path / "src/cachezoo/__init__.py").write_text('__version__ = "1.2.0"\n')
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 1.2.0\n")
    (tmp_path / "CHANGELOG.md").write_text(CHANGES)
    (tmp_path / ".gitignore").write_text("/release/\n/.pytest_cache/\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "one")
    return tmp_path


def packed(project, sums=None):
    folder = project / ARCHIVES
    folder.mkdir()
    (folder / "a-1.zip").write_bytes(b"a")
    (folder / SUMS).write_text(f"{sums or hashlib.sha256(b'a').hexdigest()}  a-1.zip\n")


def passed(project, commit, lane=LANE):
    (project / PASSED).parent.mkdir(parents=True)
    (project / PASSED).write_text(json.dumps({"commit": commit, "lane": lane}))


def test_all_is_well_with_a_tag_on_a_clean_tree_whose_tests_have_passed(project):
    packed(project)
    passed(project, git(project, "rev-parse", "HEAD"))
    git(project, "tag", "-a", "v1.2.0", "-m", "one")
    for step in (release.version, release.changelog, release.clean, release.tests, release.tag, release.sums):
        assert str(step(project)).startswith("ok "), step


@pytest.mark.parametrize("name", PLACES)
def test_a_version_that_another_place_does_not_have(project, name):
    path = project / name
    path.write_text(path.read_text().replace("ersion: 1.2.0\n", "ersion: 1.2.1\n").replace('"1.2.0"', '"1.2.1"'))
    found = release.version(project)
    assert found.todo and f"{name} has 1.2.1" in found.found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# Changelog\n\n## Unreleased\n", "nothing under 1.2.0"),
        ("# Changelog\n\n## 1.2.0 - 2026-11-30\n\n## 1.1.0 - 2026-10-01\n\n- old\n", "nothing under 1.2.0"),
        (CHANGES.replace("1.2.0 - 2026-11-30", "1.2.0"), "no date"),
        (CHANGES.replace("Unreleased\n", "Unreleased\n\n- more\n"), "under Unreleased"),
    ],
)
def test_a_changelog_that_does_not_say_what_is_new(project, text, said):
    (project / "CHANGELOG.md").write_text(text)
    found = release.changelog(project)
    assert said in found.found and found.todo.startswith("edit CHANGELOG.md")


def test_what_is_not_committed_is_named(project):
    (project / "pyproject.toml").write_text("")
    found = release.clean(project)
    assert str(found).startswith("not ok") and "pyproject.toml" in found.found


def test_tests_of_another_commit_or_lane_do_not_count(project):
    assert release.tests(project).todo == "make test"
    passed(project, git(project, "rev-parse", "HEAD"), "not slow and not long")
    assert release.tests(project).todo == "make test"


def test_a_tag_is_made_by_hand_and_never_moved(project):
    assert release.tag(project).todo == "git tag -a v1.2.0 -m 'cachezoo 1.2.0'"
    git(project, "tag", "v1.2.0")
    git(project, "commit", "-q", "--allow-empty", "-m", "two")
    assert "stays" in release.tag(project).todo


def test_an_archive_that_is_not_as_its_checksum_says(project):
    assert release.sums(project).todo == "make repro"
    packed(project, "0" * 64)
    assert release.sums(project).found.startswith("a-1.zip ")
    (project / ARCHIVES / SUMS).write_text("")
    assert release.sums(project).todo


def test_without_bundles_the_step_says_what_makes_them(tmp_path):
    (tmp_path / "docs").mkdir()
    found = release.bundles(tmp_path, None)
    assert found.todo == "make repro" and "bundles" in found.found


@pytest.mark.parametrize(
    ("arguments", "counts"), [((), True), (("-n", "1"), True), (("t",), False), (("-k", "a"), False)]
)
def test_a_whole_run_that_passed_is_remembered_with_its_commit(project, arguments, counts):
    (project / "pyproject.toml").write_text(
        '[project]\nversion = "1.2.0"\n[tool.pytest.ini_options]\ntestpaths = ["t"]\n'
    )
    (project / "t").mkdir()
    (project / "t/test_a.py").write_text("def test_a():\n    pass\n")
    (project / "conftest.py").write_text(
        "import pytest\nfrom tests.passed import remember\n@pytest.hookimpl(trylast=True)\n"
        "def pytest_sessionfinish(session):\n    hasattr(session.config, 'workerinput') or remember(session)\n"
    )
    (project / ".gitignore").write_text("/release/\n/.pytest_cache/\n__pycache__/\n")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "two")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", LANE, *arguments],
        cwd=project, env=environment | {"PYTHONPATH": str(ROOT)}, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert (not release.tests(project).todo) is counts
