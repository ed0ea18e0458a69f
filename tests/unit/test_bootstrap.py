"""What scripts/bootstrap.sh does before it looks whether anything is to be installed."""

import hashlib
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STRANGER = 64321


@pytest.fixture
def clone(tmp_path):
    """A clone whose environment is installed."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts/bootstrap.sh", tmp_path / "scripts")
    for name in ("some.lock", "pyproject.toml"):
        (tmp_path / name).write_text(name)
    (tmp_path / ".venv").mkdir()
    (tmp_path / f".venv/.installed-{hashlib.sha256(b'some.lockpyproject.toml').hexdigest()[:16]}").touch()
    return tmp_path


def bootstrap(clone):
    done = subprocess.run(
        ["sh", "-c", "umask 0; exec scripts/bootstrap.sh some.lock"],
        cwd=clone,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert stat.S_IMODE((clone / ".cache").stat().st_mode) == 0o700
    return done.stderr


def old(clone, mode, inner=0o755):
    (clone / ".cache/dvc/repo").mkdir(parents=True)
    (clone / ".cache/numba").mkdir()
    (clone / ".cache/numba/index.nbi").write_bytes(b"")
    (clone / ".cache/dvc/repo").chmod(inner)
    (clone / ".cache").chmod(mode)


def test_a_new_clone_has_a_cache_for_one_user(clone):
    assert bootstrap(clone) == ""
    assert bootstrap(clone) == ""


@pytest.mark.parametrize("mode", [0o755, 0o775, 0o750])
def test_an_old_clone_is_closed_and_keeps_what_nobody_else_wrote(clone, mode):
    old(clone, mode)
    assert bootstrap(clone) == ""
    assert (clone / ".cache/numba/index.nbi").exists()


@pytest.mark.parametrize("mode, inner", [(0o777, 0o755), (0o755, 0o777)])
def test_what_others_could_write_is_removed(clone, mode, inner):
    old(clone, mode, inner)
    assert bootstrap(clone).count("\n") == 1
    assert list((clone / ".cache").iterdir()) == []
    assert bootstrap(clone) == ""


def test_what_dvc_opens_in_a_closed_folder_stays(clone):
    old(clone, 0o700, 0o777)
    assert bootstrap(clone) == ""
    assert (clone / ".cache/dvc/repo").exists()


@pytest.mark.needs("root")
def test_what_another_user_has_made_is_removed(clone):
    old(clone, 0o775)
    os.chown(clone / ".cache/numba/index.nbi", STRANGER, STRANGER)
    assert "removed" in bootstrap(clone)
    assert list((clone / ".cache").iterdir()) == []


def test_a_link_to_a_cache_elsewhere_is_followed(clone, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    elsewhere.chmod(0o700)
    (clone / ".cache").symlink_to(elsewhere)
    assert bootstrap(clone) == ""
    assert (clone / ".cache").is_symlink()


@pytest.mark.parametrize("mode", [0o755, 0o777])
def test_what_lies_behind_a_link_is_left_alone(clone, tmp_path_factory, mode):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "other_project").mkdir(mode=0o777)
    (elsewhere / "other_project/work").write_text("mine")
    (elsewhere / "other_project").chmod(0o777)
    elsewhere.chmod(mode)
    (clone / ".cache").symlink_to(elsewhere)
    done = subprocess.run(["scripts/bootstrap.sh", "some.lock"], cwd=clone, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "is a link" in done.stderr and done.stderr.count("\n") == 1
    assert (elsewhere / "other_project/work").read_text() == "mine"
    assert stat.S_IMODE(elsewhere.stat().st_mode) == mode
