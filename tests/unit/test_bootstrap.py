"""What scripts/bootstrap.sh does before it looks whether anything is to be installed, and with a clone that moved."""

import hashlib
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.package_index import pin, serving, source, wheel

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
    stamp = f".installed-{hashlib.sha256(b'some.lockpyproject.toml').hexdigest()[:16]}"
    (tmp_path / ".venv" / stamp).write_text(f"{tmp_path}\n")
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


BACKEND = """
import zipfile

INFO = "tiny-1.0.dist-info"


def build_editable(folder, config_settings=None, metadata_directory=None):
    from pathlib import Path

    name = "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(Path(folder) / name, "w") as wheel:
        wheel.writestr("tiny.pth", f"{Path.cwd() / 'src'}\\n")
        wheel.writestr(f"{INFO}/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n")
        wheel.writestr(f"{INFO}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{INFO}/entry_points.txt", "[console_scripts]\\ntiny = tiny:main\\n")
        wheel.writestr(f"{INFO}/RECORD", "")
    return name
"""
BUILD = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n[project]\nname = "tiny"\n'


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A clone of a tiny project, with an environment that bootstrap has made, and a copy of it all."""
    place = tmp_path_factory.mktemp("tiny") / "place"
    clone = place / "tiny clone"
    (clone / "scripts").mkdir(parents=True)
    for name in ("bootstrap.sh", "settle.py"):
        shutil.copy(ROOT / "scripts" / name, clone / "scripts")
    (clone / "some.lock").write_text("")
    (clone / "pyproject.toml").write_text(f'{BUILD}version = "1.0"\n')
    (clone / "backend.py").write_text(BACKEND)
    (clone / "src").mkdir()
    (clone / "src/tiny.py").write_text("import sys\ndef main():\n    print(__file__, sys.prefix, sep='\\n')\n")
    (place / "bin").mkdir()
    (place / "bin/python3.11").symlink_to(sys.executable)
    installed(clone)
    subprocess.run(["cp", "-a", place, place.with_name("kept")], check=True)
    return clone


@pytest.fixture
def tiny(made):
    """The clone, as and where it was when it was installed; its one command prints its sources."""
    shutil.rmtree(made.parent)
    subprocess.run(["cp", "-a", made.parent.with_name("kept"), made.parent], check=True)
    return made


def installed(clone, status=0, **settings):
    path = f"{clone.parent / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        ["scripts/bootstrap.sh", "some.lock"],
        cwd=clone,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": path, **(settings or {"PIP_NO_INDEX": "1"})},
    )
    assert done.returncode == status, done.stderr
    return done.stderr


def runs(clone):
    """Where the code lies that the clone's command runs, and its environment."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([clone / ".venv/bin/tiny"], capture_output=True, text=True, check=True, env=environment)
    return done.stdout.splitlines()


def own(clone):
    return [str(clone / "src/tiny.py"), str(clone / ".venv")]


def site_cache(clone):
    return (clone / ".dvc/config.local").read_text()


def test_a_moved_clone_runs_its_own_code(tiny):
    assert runs(tiny) == own(tiny)
    assert f"site_cache_dir = {tiny}/.cache/dvc" in site_cache(tiny)
    moved = tiny.rename(tiny.parent / "moved")
    said = installed(moved)
    assert said == f"bootstrap: .venv was made in {tiny}; it is set to this folder now, its packages stay\n"
    assert runs(moved) == own(moved)
    assert site_cache(moved) == f"[core]\n    site_cache_dir = {moved}/.cache/dvc\n"
    assert str(tiny) not in "".join(path.read_text() for path in (moved / ".venv/bin").glob("[Aa]ctivate*"))
    assert installed(moved) == ""


@pytest.mark.parametrize("copy", [["cp", "-a"], ["cp", "-al"]])
def test_a_copied_clone_runs_its_own_code_and_leaves_the_old_one_its(tiny, copy):
    deep = tiny.parent / ("deep" * 40)
    subprocess.run([*copy, tiny, deep], check=True)
    assert installed(deep).count("\n") == 1
    assert (runs(deep), runs(tiny)) == (own(deep), own(tiny))
    assert str(tiny) in site_cache(tiny)
    assert installed(tiny) == ""


def test_a_move_that_was_cut_short_is_gone_on_with(tiny):
    moved = tiny.rename(tiny.parent / "moved")
    (moved / "backend.py").rename(moved / "away")
    installed(moved, status=2)
    (moved / "away").rename(moved / "backend.py")
    assert installed(moved) == ""
    assert runs(moved) == own(moved)


def test_settings_of_dvc_that_a_user_made_stay(tiny):
    (tiny / ".dvc/config.local").write_text(f"{site_cache(tiny)}['remote \"mine\"']\n    url = /mnt/mine\n")
    moved = tiny.rename(tiny.parent / "moved")
    installed(moved)
    assert "url = /mnt/mine" in site_cache(moved)
    assert f"site_cache_dir = {moved}/.cache/dvc" in site_cache(moved)


def test_a_stamp_of_before_it_named_the_clone_installs_nothing(tiny):
    stamp = next((tiny / ".venv").glob(".installed-*"))
    stamp.write_text("")
    (tiny / "backend.py").unlink()
    assert installed(tiny) == ""
    assert stamp.read_text() == f"{tiny}\n"


def test_a_link_to_another_clones_environment_is_refused(tiny):
    other = tiny.parent / "other"
    subprocess.run(["cp", "-a", tiny, other], check=True)
    shutil.rmtree(other / ".venv")
    (other / ".venv").symlink_to(tiny / ".venv")
    assert installed(other, status=1) == (
        f"bootstrap: .venv is a link to that of {tiny}, whose code it runs; remove the link\n"
    )
    assert runs(tiny) == own(tiny)


def test_an_environment_without_a_python_is_made_anew(tiny):
    (tiny / ".venv/bin/python").unlink()
    (tiny / ".venv/bin/python").symlink_to("/nowhere/python3.11")
    next((tiny / ".venv").glob(".installed-*")).unlink()
    assert "it is made anew\n" in installed(tiny)
    assert runs(tiny) == own(tiny)


BUILDER = """
import zipfile

INFO = "old-1.0.dist-info"


class __legacy__:
    def get_requires_for_build_wheel(config_settings=None):
        return []

    def build_wheel(folder, config_settings=None, metadata_directory=None):
        name = "old-1.0-py3-none-any.whl"
        with zipfile.ZipFile(f"{folder}/{name}", "w") as wheel:
            wheel.writestr("old.py", "BUILDER = 'of the lock'\\n")
            wheel.writestr(f"{INFO}/METADATA", "Metadata-Version: 2.1\\nName: old\\nVersion: 1.0\\n")
            wheel.writestr(f"{INFO}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
            wheel.writestr(f"{INFO}/RECORD", "")
        return name
"""
OTHER = {"other.py": "who = 'knows'\n"}


@pytest.fixture
def indexes(tmp_path):
    """Two indexes, `simple` for all packages and `cpu` for torch; each also has what is to come from the other."""
    for name, own, foreign in (("one", "simple", "cpu"), ("torch", "cpu", "simple")):
        wheel(tmp_path / foreign, name, "2.13.0", files=OTHER)
        wheel(tmp_path / own, name, "2.13.0+cpu" if name == "torch" else "1.0", needs=[] if name == "one" else ["one"])
    wheel(tmp_path / "simple", "two", needs=["one"])
    return tmp_path


def write_locks(clone, indexes, url):
    """A lock that builds on another."""
    torch = pin("torch", indexes / "cpu/torch-2.13.0+cpu-py3-none-any.whl", version="2.13.0")
    one, two = (pin(name, indexes / f"simple/{name}-1.0-py3-none-any.whl") for name in ("one", "two"))
    (clone / "base.lock").write_text(f"# torch comes from {url}/cpu\n{one}{torch}")
    (clone / "some.lock").write_text(f"-r base.lock\n{two}")


def from_index(clone, url, status=0, **settings):
    own = {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_FIND_LINKS": "",
        "PIP_INDEX_URL": f"{url}/simple",
        "NO_PROXY": "127.0.0.1",
    }
    return installed(clone, status, **own | settings)


def distributions(clone):
    said = "from importlib.metadata import distributions as d; print(*(f'{x.name}=={x.version}' for x in d()))"
    done = subprocess.run([clone / ".venv/bin/python", "-Ic", said], capture_output=True, text=True, check=True)
    return {text for text in done.stdout.split() if not text.startswith(("pip==", "setuptools==65", "setuptools==66"))}


def stamps(clone):
    return list((clone / ".venv").glob(".installed-*"))


def test_what_is_installed_is_the_lock_and_torchs_index_is_for_torch_alone(tiny, indexes):
    with serving(indexes) as (url, asked):
        write_locks(tiny, indexes, url)
        assert from_index(tiny, url) == ""
        assert distributions(tiny) == {"tiny==1.0", "one==1.0", "two==1.0", "torch==2.13.0+cpu"}
        assert {path.split("/")[1] for path in asked if "torch" in path} == {"cpu"}
        assert all("torch" in path for path in asked if path.startswith("/cpu/"))
        assert from_index(tiny, url) == ""
        before, (stamp,) = len(asked), stamps(tiny)
        (tiny / "base.lock").write_text("# Of the lock that it builds on too.\n" + (tiny / "base.lock").read_text())
        assert from_index(tiny, url) == ""
        assert stamps(tiny) != [stamp] and len(asked) == before


def test_torch_is_taken_from_local_files_where_pip_has_some_and_else_from_a_mirror(tiny, indexes):
    with serving(indexes) as (url, asked):
        write_locks(tiny, indexes, f"{url}/nowhere")
        assert from_index(tiny, url, PIP_FIND_LINKS=str(indexes / "cpu")) == ""
        assert [path for path in asked if "torch" in path] == []
        subprocess.run([tiny / ".venv/bin/python", "-m", "pip", "uninstall", "-qy", "torch"], check=True)
        stamps(tiny)[0].unlink()
        assert from_index(tiny, url, TORCH_INDEX=f"{url}/cpu") == ""
        assert "torch==2.13.0+cpu" in distributions(tiny)


@pytest.mark.parametrize("name", ["simple/two-1.0", "cpu/torch-2.13.0+cpu"])
@pytest.mark.parametrize("local", [False, True])
def test_a_file_of_other_bytes_is_refused_and_nothing_counts_as_installed(tiny, indexes, name, local):
    with serving(indexes) as (url, _):
        write_locks(tiny, indexes, url)
        path = indexes / f"{name}-py3-none-any.whl"
        good = path.read_bytes()
        wheel(path.parent, *path.name.split("-")[:2], files=OTHER)
        settings = {"PIP_FIND_LINKS": str(path.parent) if local else ""}
        assert "DO NOT MATCH THE HASHES" in from_index(tiny, url, status=1, **settings)
        assert stamps(tiny) == []
        assert not any(text.startswith(path.name.split("-")[0]) for text in distributions(tiny))
        path.write_bytes(good)
        assert from_index(tiny, url, **settings) == ""
        assert len(stamps(tiny)) == 1


@pytest.mark.parametrize("needs", [[], ["one"]])
def test_what_has_no_hash_in_the_lock_is_refused(tiny, indexes, needs):
    """A pin without one, and a package that another needs and no pin names."""
    with serving(indexes) as (url, _):
        (tiny / "some.lock").write_text(
            pin("two", indexes / "simple/two-1.0-py3-none-any.whl") if needs else "one==1.0\n"
        )
        assert "--require-hashes" in from_index(tiny, url, status=1)
        assert distributions(tiny) == {"tiny==1.0"}


def test_what_has_no_wheel_is_built_by_the_setuptools_of_the_lock(tiny, indexes):
    files = {"setuptools/__init__.py": "", "setuptools/build_meta.py": BUILDER}
    own = wheel(indexes / "simple", "setuptools", "77.0", files=files)
    wheel(indexes / "simple", "setuptools", "99.0", files=OTHER)
    wheel(indexes / "simple", "wheel", "99.0", files=OTHER)
    old = source(indexes / "simple", "old")
    (tiny / "some.lock").write_text(pin("old", old) + pin("setuptools", own, version="77.0"))
    with serving(indexes) as (url, asked):
        assert from_index(tiny, url) == ""
    assert not any("99.0" in path for path in asked)
    said = [tiny / ".venv/bin/python", "-Ic", "import old; print(old.BUILDER)"]
    assert subprocess.run(said, capture_output=True, text=True, check=True).stdout == "of the lock\n"


def test_an_installation_that_is_cut_short_leaves_no_stamp_of_the_one_before(tiny, indexes):
    (stamp,) = stamps(tiny)
    (tiny / "some.lock").write_text("absent==1.0 --hash=sha256:" + "0" * 64 + "\n")
    installed(tiny, status=1)
    assert stamps(tiny) == []
    (tiny / "some.lock").write_text("")
    installed(tiny)
    assert stamps(tiny) == [stamp]
