"""Where a key is set: cz, cachezoo-bundle, and the key of the machine."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cachezoo.runtime import RuntimeFault, __main__
from cachezoo.runtime import open as open_model
from tests.capabilities import LIBSODIUM
from tests.signed import ARCHIVE, World

ROOT = Path(__file__).parents[3]
ASKS = "asks for a signed release"
pytestmark = pytest.mark.needs("gcc", "libsodium")


@pytest.fixture
def signed(tmp_path):
    """A bundle of a release, and the key."""
    return World().write(tmp_path)


@pytest.fixture
def unsigned(tmp_path):
    """The same bundle in a folder without a release."""
    path = tmp_path / "apart" / ARCHIVE
    path.parent.mkdir()
    shutil.copy(World().write(tmp_path)[0], path)
    return path


def run(*words):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=120, check=False)


def test_cz_takes_a_released_bundle_and_refuses_another(built, signed, unsigned, tmp_path):
    path, key = signed
    trace = tmp_path / "trace.csv"
    trace.write_text("time_us,op,offset,size\n0,W,0,4096\n")
    done = run(built / "cz", "verify", path, "--key", key)
    assert done.returncode == 0 and f"{path}: of release 7, signed" in done.stdout
    assert "signed" not in run(built / "cz", "verify", path).stdout
    for words in (("verify",), ("inspect",), ("run", trace)):
        command, *more = words
        assert run(built / "cz", command, path, *more, "--key", key).returncode == 0
        done = run(built / "cz", command, unsigned, *more, "--key", key)
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1) and ASKS in done.stderr
    assert run(built / "cz", "verify", path, "--key").returncode == 2


def test_the_python_runtime_takes_a_released_bundle_and_refuses_another(library, signed, unsigned, capsys):
    path, key = signed
    with open_model(path, key=key) as model:
        assert model.info["release"] == 7
    with open_model(path) as model:
        assert model.info["release"] == 0
    with pytest.raises(RuntimeFault, match=ASKS):
        open_model(unsigned, key=key)
    assert __main__.main(["verify", str(path), "--key", str(key)]) == 0
    assert "release            7, signed" in capsys.readouterr().out
    for command in ("verify", "inspect", "run", "diff"):
        more = {"run": ["trace.csv"], "diff": [str(path)]}.get(command, [])
        assert __main__.main([command, str(unsigned), *more, "--key", str(key)]) == 2
        assert ASKS in capsys.readouterr().err


def test_without_the_library_numpy_holds_a_bundle_to_the_key_too(no_library, signed, unsigned):
    path, key = signed
    open_model(path, key=key).close()
    with pytest.raises(RuntimeFault, match=ASKS):
        open_model(unsigned, key=key)


def apart(script, *words):
    """Run a script that changes mounts for itself and what it starts alone."""
    return run("unshare", "--mount", "sh", "-ec", script, "sh", *words)


def readers(built, path):
    """What asks for a bundle: cz, and Python, which finds its libraries whatever lies in /etc."""
    python = f"{sys.executable} -c 'import sys; from cachezoo.bundles import load; load(sys.argv[1])'"
    return [f"{built / 'cz'} inspect {shlex.quote(str(path))}", f"{python} {shlex.quote(str(path))}"]


@pytest.mark.needs("unshare")
def test_the_key_of_the_machine_is_set_for_all(built, signed, unsigned, monkeypatch):
    path, key = signed
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    cover = f"mount -t tmpfs none /etc; mkdir /etc/cachezoo; cp {shlex.quote(str(key))} /etc/cachezoo/key.pub; "
    for asks in readers(built, path):
        assert apart(cover + asks).returncode == 0, apart(cover + asks).stderr
    for asks in readers(built, unsigned):
        assert ASKS in apart(cover + asks).stderr and apart(asks).returncode == 0
        lost = "mount -t tmpfs none /etc; mkdir /etc/cachezoo; ln -s nowhere /etc/cachezoo/key.pub; "
        assert "no bundle is opened without the key that is set" in apart(lost + asks).stderr


@pytest.mark.needs("unshare")
def test_a_machine_without_libsodium_refuses_where_a_key_is_set_and_else_asks_for_none(built, signed):
    path, key = signed
    (found,) = {str(file.resolve()) for file in Path("/usr/lib").glob(LIBSODIUM)}
    hide = f"mount --bind /dev/null {shlex.quote(found)}; {built / 'cz'} verify {shlex.quote(str(path))}"
    done = apart(f"{hide} --key {shlex.quote(str(key))}")
    assert done.returncode == 1 and "install libsodium (Debian: libsodium23)" in done.stderr
    assert apart(hide).returncode == 0
