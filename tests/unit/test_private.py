"""Folders of caches: refused where another user can write, on the way there too."""

import os
import stat
import tempfile
from pathlib import Path

import pytest

from cachezoo import private
from cachezoo.errors import CacheError

STRANGER = 64321  # no account of this machine, nor the owner of any folder the sources lie in
needs_root = pytest.mark.needs("root")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def place():
    """A folder that everyone may enter; pytest's own lie in one that is closed, where modes do not matter."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="cachezoo-test-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def refused(folder, *words):
    with pytest.raises(CacheError) as caught:
        private.private_folder(folder)
    message = str(caught.value)
    assert "\n" not in message
    assert "CACHEZOO_CACHE_DIR" in message
    for word in words:
        assert word in message


def test_what_is_missing_is_made_for_this_user_alone_whatever_the_umask(place):
    before = os.umask(0)
    try:
        assert private.private_folder(place / "a/b") == place.resolve() / "a/b"
    finally:
        os.umask(before)
    assert (mode(place / "a"), mode(place / "a/b")) == (0o700, 0o700)


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077])
def test_folders_of_a_usual_developer_are_taken(place, umask):
    before = os.umask(umask)
    try:
        (place / "clone/.cache/numba").mkdir(parents=True)
        (place / "clone/.cache/numba/index.nbi").write_bytes(b"")
    finally:
        os.umask(before)
    assert private.private_folder(place / "clone/.cache/numba").is_dir()


@pytest.mark.parametrize("open_to_all", ["", "cache", "cache/numba"])
def test_a_folder_that_everyone_writes_is_refused_on_the_way_too(place, open_to_all):
    (place / "cache/numba").mkdir(parents=True)
    (place / open_to_all).chmod(0o777)
    refused(place / "cache/numba", str(place / open_to_all), "0777", "chmod go-w")


def test_a_folder_that_everyone_writes_is_harmless_where_nobody_else_comes(place):
    (place / "dvc").mkdir()
    (place / "dvc").chmod(0o777)
    place.chmod(0o700)
    assert private.private_folder(place / "dvc").is_dir()


def test_a_sticky_folder_is_safe_on_the_way_and_not_at_the_end(place):
    place.chmod(0o1777)
    assert private.private_folder(place / "cache").is_dir()
    refused(place, "1777")


@needs_root
@pytest.mark.parametrize("planted", ["cache", "cache/numba", "cache/numba/index.nbi"])
def test_what_another_user_has_made_is_refused(place, planted):
    (place / "cache/numba").mkdir(parents=True)
    place.chmod(0o1777)
    (place / "cache/numba/index.nbi").write_bytes(b"")
    os.chown(place / planted, STRANGER, STRANGER)
    refused(place / "cache/numba", str(place / planted), f"belongs to another user ({STRANGER})", "chown")


def test_a_file_that_everyone_writes_is_refused(place):
    (place / "index.nbi").write_bytes(b"")
    (place / "index.nbi").chmod(0o666)
    refused(place, "index.nbi")


def test_where_a_link_leads_is_looked_at(place):
    (place / "open/inner").mkdir(parents=True)
    (place / "open").chmod(0o777)
    (place / "link").symlink_to(place / "open/inner")
    refused(place / "link", str(place / "open"), "0777")
    (place / "open").chmod(0o755)
    assert private.private_folder(place / "link/cache") == place.resolve() / "open/inner/cache"
    (place / "near").symlink_to("open/../open/inner")
    assert private.private_folder(place / "near/cache") == place.resolve() / "open/inner/cache"


def test_a_link_that_lies_where_everyone_writes_is_refused(place):
    """The folder it leads to is sound, but who can write the link's folder points it elsewhere."""
    for name in ("safe", "open"):
        (place / name).mkdir()
    (place / "open/second").symlink_to(place / "safe")
    (place / "first").symlink_to(place / "open/second")
    (place / "open").chmod(0o777)
    refused(place / "first", str(place / "open"))


@needs_root
def test_a_link_that_another_user_has_put_in_a_sticky_folder_is_refused(place):
    (place / "safe").mkdir()
    place.chmod(0o1777)
    (place / "link").symlink_to(place / "safe")
    os.lchown(place / "link", STRANGER, STRANGER)
    refused(place / "link", "belongs to another user")


def test_links_in_a_circle_and_files_in_the_way_are_refused(place):
    (place / "a").symlink_to(place / "b")
    (place / "b").symlink_to(place / "a")
    refused(place / "a", "circle")
    (place / "file").write_text("")
    refused(place / "file/cache", "no folder")


@needs_root
@pytest.mark.parametrize("group, members, taken", [("me", [], True), ("me", ["me"], True), ("me", ["you"], False)])
def test_the_group_of_one_user_may_write(place, monkeypatch, group, members, taken):
    place.chmod(0o775)
    uid, gid = place.stat().st_uid, place.stat().st_gid
    private._own_group.cache_clear()
    monkeypatch.setattr(private.pwd, "getpwuid", lambda number: account(number, uid, gid))
    monkeypatch.setattr(private.grp, "getgrgid", lambda number: private.grp.struct_group((group, "x", gid, members)))
    try:
        if taken:
            assert private.private_folder(place).is_dir()
        else:
            refused(place, "0775")
    finally:
        private._own_group.cache_clear()


def account(number, uid, gid):
    if number != uid:
        raise KeyError(number)
    return private.pwd.struct_passwd(("me", "x", uid, gid, "", "/", "/bin/sh"))


@needs_root
def test_a_group_of_several_users_may_not_write(place):
    os.chown(place, -1, 100)
    place.chmod(0o2775)
    refused(place, "2775")


@needs_root
def test_a_container_that_knows_neither_user_nor_group_takes_equal_numbers(place):
    private._own_group.cache_clear()
    assert private._own_group(STRANGER, STRANGER)
    assert not private._own_group(STRANGER, STRANGER + 1)


@needs_root
def test_another_user_is_refused_and_can_use_a_folder_of_their_own(place):
    """As that user, who owns neither the program nor the folder."""
    for name in ("own", "ours", "foreign"):
        (place / name).mkdir(mode=0o755)
    os.chown(place / "own", STRANGER, STRANGER)
    os.chown(place / "foreign", STRANGER + 1, STRANGER + 1)
    assert as_stranger(place / "own/cache") == "made"
    assert "Permission denied" in as_stranger(place / "ours/cache")
    assert "cannot be written by this user" in as_stranger(place / "ours")
    assert "belongs to another user" in as_stranger(place / "foreign")


def as_stranger(folder):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.setresgid(STRANGER, STRANGER, STRANGER)
        os.setresuid(STRANGER, STRANGER, STRANGER)
        try:
            private.private_folder(folder)
            said = "made"
        except CacheError as error:
            said = str(error)
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as pipe:
        return pipe.read()
