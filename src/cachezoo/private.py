"""Folders of caches that nobody else can write to, because what lies in them is run.

numba's and DVC's caches are pickles, and the emulated disk is a library that is loaded: who can write there, or rename
a folder on the way there, runs code as whoever uses the cache. SECURITY.md has the rules and why they are so.
"""

import functools
import grp
import os
import pwd
import stat
from pathlib import Path
from typing import NoReturn

from cachezoo.errors import CacheError

VARIABLE = "CACHEZOO_CACHE_DIR"
ELSEWHERE = f"set {VARIABLE} to a folder of your own"
MAX_LINKS = 40  # as the kernel's limit
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
OTHERS_ENTER = stat.S_IXGRP | stat.S_IXOTH


def cache_root() -> Path:
    """Where caches lie: CACHEZOO_CACHE_DIR, else `.cache` of the project."""
    base = os.environ.get(VARIABLE)
    return Path(base) if base else Path(__file__).resolve().parents[2] / ".cache"


def make_closed(folder: Path) -> None:
    """Create a folder for this user alone, unless it is there."""
    folder.mkdir(mode=0o700, exist_ok=True)


def closed_folder(folder: Path) -> None:
    """Create a folder for this user alone; refuse one that is there and lets others in.

    For `.cache` of a project: the folders that DVC makes in it may be written by everyone.

    Raises:
        CacheError: others can look into it, or replace it.
    """
    try:
        private_folder(folder)
    except CacheError as error:
        message = f"{error} (that moves the kernels; DVC's caches stay in {folder}, so the clone has to move)"
        raise CacheError(message) from error
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & (OTHERS_ENTER | OTHERS_WRITE):
        message = (
            f"{folder}: lets others in (mode {mode:04o}), and DVC's folders in it are open to all; "
            "run `make install`, which closes it"
        )
        raise CacheError(message)


def private_folder(folder: Path) -> Path:
    """A folder whose files nobody else can have written; made for this user alone where it is missing.

    Every folder from `/` on is looked at, and so is every folder that a symbolic link on the way lies in.

    Args:
        folder: absolute, or relative to the working folder.

    Returns:
        The folder, links resolved.

    Raises:
        CacheError: another user can write to it, to a file in it or to a folder on the way there, or it cannot be made.
    """
    try:
        place, closed = _walk(folder)
        _check_files(folder, place, closed)
    except OSError as error:
        raise CacheError(f"{folder}: cannot be used as a cache ({error.strerror or error}); {ELSEWHERE}") from error
    return place


def _walk(folder: Path) -> tuple[Path, bool]:
    """Go there step by step; where it really is, and whether a folder on the way keeps all others out."""
    here, left, links = Path("/"), list(folder.absolute().parts[:0:-1]), 0
    closed = _check(folder, here, here.lstat(), last=False, closed=False)
    while left:
        name = left.pop()
        if name == "..":
            here, closed = here.parent, False
            continue
        child = here / name
        if not os.path.lexists(child):
            make_closed(child)
        info = child.lstat()
        if stat.S_ISLNK(info.st_mode):
            links += 1
            if links > MAX_LINKS:
                raise CacheError(f"{folder}: its symbolic links lead in a circle; {ELSEWHERE}")
            _check_owner(folder, child, info.st_uid)
            target = child.readlink()
            left += reversed([part for part in target.parts if part != "/"])
            here, closed = Path("/") if target.is_absolute() else here, False
            continue
        here = child
        closed = _check(folder, here, info, last=not left, closed=closed)
    if not os.access(here, os.R_OK | os.W_OK | os.X_OK):
        raise CacheError(f"{here}: cannot be written by this user; change its permissions, or {ELSEWHERE}")
    return here, closed


def _check(folder: Path, here: Path, info: os.stat_result, last: bool, closed: bool) -> bool:
    """Refuse a folder that others can change; else whether others are kept out of it, there or before.

    In a folder with the sticky bit others may add but not rename what is not theirs, and the owner of every step is
    looked at. What is added to the last folder would be read.
    """
    if not stat.S_ISDIR(info.st_mode):
        raise CacheError(f"{here}: is no folder; move it away, or {ELSEWHERE}")
    _check_owner(folder, here, info.st_uid)
    held = info.st_mode & stat.S_ISVTX and not last
    if not closed and not held and _open_to_others(info):
        _refuse(folder, here, f"can be written by others (mode {stat.S_IMODE(info.st_mode):04o})", "chmod go-w")
    return closed or not info.st_mode & (OTHERS_ENTER | OTHERS_WRITE)


def _check_owner(folder: Path, place: Path, owner: int) -> None:
    if owner not in _trusted(os.geteuid()):
        _refuse(folder, place, f"belongs to another user ({_user(owner)})", f"chown -h {os.geteuid()}")


def _check_files(folder: Path, place: Path, closed: bool) -> None:
    with os.scandir(place) as entries:
        for entry in entries:
            info = entry.stat(follow_symlinks=False)
            _check_owner(folder, Path(entry.path), info.st_uid)
            if not closed and stat.S_ISREG(info.st_mode) and _open_to_others(info):
                _refuse(folder, Path(entry.path), "can be written by others", "rm")


def _open_to_others(info: os.stat_result) -> bool:
    alone = _own_group(info.st_uid, info.st_gid)
    return bool(info.st_mode & (stat.S_IWOTH if alone else OTHERS_WRITE))


@functools.cache
def _own_group(owner: int, group: int) -> bool:
    """Whether a group has its owner as the one member, as Debian and Red Hat give one to every user.

    Such a group has the user's name, is the group of the account, and lists nobody else. In a container that knows
    neither, the numbers are equal.
    """
    try:
        user = pwd.getpwuid(owner)
    except KeyError:
        user = None
    try:
        found = grp.getgrgid(group)
    except KeyError:
        return user is None and owner == group
    if user is None:
        return False
    return (found.gr_name, found.gr_gid) == (user.pw_name, user.pw_gid) and set(found.gr_mem) <= {user.pw_name}


@functools.cache
def _trusted(user: int) -> frozenset[int]:
    """Users who may write: this one, root, and the owners of this program's source and of the folders it lies in.

    Those last ones could change the program itself: a container's root has a checkout that belongs to somebody.
    """
    source = Path(__file__).resolve()
    return frozenset({user, 0, *(place.stat().st_uid for place in (source, *source.parents))})


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _refuse(folder: Path, place: Path, why: str, fix: str) -> NoReturn:
    what = "" if place == folder else f", so that others decide what is run from the cache {folder}"
    raise CacheError(f"{place}: {why}{what}; {fix} '{place}', or {ELSEWHERE}")
