"""The nbdkit filter under a filesystem and under fio: what was written is read again."""

import filecmp
import shutil
import subprocess
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.e2e.test_nbd_filter import back, counters, through, tier
from tests.nbd_filter import refused, serve, wait_for_path

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.needs("nbdkit", "gcc")


def command(*words):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True, timeout=120).stdout


@contextmanager
def mounted(server, folder):
    """The server's disk as a filesystem, through nbdfuse and a loop device; all of it is taken down afterwards."""
    fuse, place = folder / "fuse", folder / "mounted"
    fuse.mkdir(exist_ok=True)
    place.mkdir(exist_ok=True)
    with ExitStack() as down:
        process = subprocess.Popen(["nbdfuse", str(fuse / "disk"), f"nbd+unix:///?socket={server.path}"])
        down.callback(process.wait, 30)
        down.callback(process.terminate)
        wait_for_path(fuse / "disk", process)
        device = command("losetup", "--find", "--show", "--direct-io=off", fuse / "disk").strip()
        down.callback(command, "losetup", "--detach", device)
        command("mount", "-t", "ext4", device, place)
        down.callback(command, "umount", place)
        yield place


def same(left, right):
    """Whether two folders hold the same files with the same bytes."""
    compared = filecmp.dircmp(left, right, ignore=[])
    files = sorted(path.relative_to(left) for path in Path(left).rglob("*") if path.is_file())
    _, differ, failed = filecmp.cmpfiles(left, right, [str(path) for path in files], shallow=False)
    return len(files) > 0 and not (compared.left_only or compared.right_only or differ or failed)


@pytest.mark.needs("root", "loop", "nbdfuse")
def test_a_tree_on_ext4_is_the_same_after_remounts_and_a_restart(built, tmp_path):
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / "src", tree / "src", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "disk").open("wb") as file:
        file.truncate(64 << 20)
    command("mkfs.ext4", "-q", tmp_path / "disk")
    options = tier(tmp_path, "32M")
    with serve(built, tmp_path, options) as server:
        with mounted(server, tmp_path) as place:
            shutil.copytree(tree / "src", place / "src")
        for _ in range(2):  # each mount begins without what the kernel remembers
            with mounted(server, tmp_path) as place:
                assert same(tree / "src", place / "src")
                command("rm", "-r", place / "src/cachezoo/policies")
                shutil.copytree(tree / "src/cachezoo/policies", place / "src/cachezoo/policies")
        server.stop()
    assert counters(tmp_path)["invalidated"] > 0
    with serve(built, tmp_path, options) as server:
        with mounted(server, tmp_path) as place:
            assert same(tree / "src", place / "src")
        server.stop()
    assert counters(tmp_path)["resident_at_start"] > 0
    assert counters(tmp_path)["read_hits"] > counters(tmp_path)["read_misses"]
    command("e2fsck", "-fn", tmp_path / "disk")


@pytest.mark.needs("root", "loop")
def test_a_block_device_in_use_is_refused_and_is_in_use_then(built, tmp_path):
    place, other = tmp_path / "place", tmp_path / "other"
    for folder in (place, other):
        folder.mkdir()
    for disk in (tmp_path / "disk", other / "disk"):
        disk.write_bytes(bytes(1 << 20))
    with (tmp_path / "flash").open("wb") as file:
        file.truncate(16 << 20)
    command("mkfs.ext4", "-q", tmp_path / "flash")
    device = command("losetup", "--find", "--show", "--direct-io=off", tmp_path / "flash").strip()
    options = [f"cz-ssd={device}", "cz-size=1M"]
    with ExitStack() as down:
        down.callback(command, "losetup", "--detach", device)
        command("mount", "-t", "ext4", device, place)
        try:
            said = refused(built, tmp_path, options)
        finally:
            command("umount", place)
        assert said == f"nbdkit: error: cachezoo: {device}: it is mounted, or another program uses it\n"
        (tmp_path / "flash").write_bytes(bytes(16 << 20))
        with serve(built, tmp_path, options) as server:
            assert refused(built, other, options) == said
            with pytest.raises(subprocess.CalledProcessError):
                command("mount", "-t", "ext4", device, place)
            server.stop()


@pytest.mark.needs("fio")
@pytest.mark.parametrize("mode", [tier, through, back])
def test_fio_finds_what_it_wrote(built, tmp_path, mode):
    with (tmp_path / "disk").open("wb") as file:
        file.truncate(16 << 20)
    job = [
        "fio", "--name=verify", "--ioengine=nbd", f"--uri=nbd+unix:///?socket={tmp_path / 'nbd.sock'}", "--rw=randrw",
        "--rwmixread=40", "--bsrange=512-64k", "--blockalign=512", "--size=16m", "--io_size=48m", "--iodepth=16",
        "--verify=crc32c", "--verify_fatal=1", "--do_verify=1", "--verify_backlog=64", "--randseed=7",
        "--verify_state_save=0",
    ]  # fmt: skip
    with serve(built, tmp_path, mode(tmp_path, "4M")) as server:
        command(*job)
        server.stop()
    found = counters(tmp_path)
    assert found["read_hits"] > 0
    assert found["written_back" if mode is back else "invalidated"] > 0
    assert (found["ssd_corrupt"], found["ssd_errors"]) == (0, 0)
