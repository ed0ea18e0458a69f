#!/bin/sh
# Create .venv in the clone and install a pinned set: bootstrap.sh requirements.lock|requirements-dev.lock
# Repeatable: does nothing when the lock that is installed has not changed. PIP_ARGS passes through to pip; TORCH_INDEX
# is a mirror of the index that the lock names for torch.
set -eu
cd "$(dirname "$0")/.."
trap 'echo "bootstrap: interrupted; run the same again to go on" >&2; exit 130' INT
# What lies in .cache is run: compiled kernels and DVC's own caches are pickles, and DVC makes its folders for everyone
# to write. So nobody else may enter. Where others could write until now, it may be theirs; all of it is made again.
[ -d .cache ] || mkdir -m 700 .cache
was=$(stat -L -c %a .cache)
if [ "$was" != 700 ] && [ -L .cache ]; then
    echo "bootstrap: .cache is a link to a folder that others may enter; chmod 700 that folder, or remove the link" >&2
    exit 1
fi
if [ "$was" != 700 ]; then
    if ! chmod 700 .cache 2>/dev/null; then
        echo "bootstrap: .cache belongs to another user; remove it, or take it over: chown -R $(id -u) .cache" >&2
        exit 1
    fi
    foreign=$(find -H .cache -mindepth 1 ! -type l \( -perm -0002 -o ! -user "$(id -u)" \) -print -quit)
    if [ $((0$was & 2)) != 0 ] || [ -n "$foreign" ]; then
        find -H .cache -mindepth 1 -delete
        echo "bootstrap: others could write to .cache; it is closed now, and what it held is removed" >&2
    fi
fi
# Below this DVC's own files have no room, and it ends in tracebacks.
free_mib=$(df -Pm . | awk 'NR == 2 {print $4}')
if [ "$free_mib" -lt 64 ]; then
    echo "bootstrap: $free_mib MiB are free here, too few to run anything; make room and run it again" >&2
    exit 1
fi
lock=$1
locks="$(sed -n 's/^-r //p' "$lock") $lock" # with those that it builds on
here=$(pwd -P)
# The stamp says which packages are installed, and for which clone: a copy of an environment runs the old one's code.
# shellcheck disable=SC2086 # a list of files
stamp=.venv/.installed-$(cat $locks pyproject.toml | sha256sum | cut -c1-16)
[ -e "$stamp" ] && [ "$(cat "$stamp")" = "$here" ] && exit 0
install_here() {
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
}
# Made anew, not written into: of a clone copied with hard links the old file is the other clone's too.
stamped() {
    rm -f .venv/.installed-*
    printf '%s\n' "$1" > "$stamp"
}

there=""
if [ -e .venv ] && ! .venv/bin/python -c '' 2>/dev/null; then
    if [ -L .venv ]; then
        echo "bootstrap: .venv is a link, and no Python runs in $(readlink .venv); remove the link" >&2
        exit 1
    fi
    echo "bootstrap: the Python of .venv does not run here; it is made anew" >&2
    rm -rf .venv
elif [ -e .venv ]; then
    there=$(.venv/bin/python -I scripts/settle.py place)
fi
if [ -n "$there" ] && [ -L .venv ] && [ .venv -ef "$there/.venv" ]; then
    echo "bootstrap: .venv is a link to that of $there, whose code it runs; remove the link" >&2
    exit 1
fi
if [ -n "$there" ]; then
    echo "bootstrap: .venv was made in $there; it is set to this folder now, its packages stay" >&2
    [ ! -e "$stamp" ] || stamped "$there" # so that a run that is cut short here goes on with the next lines
    .venv/bin/python -I scripts/settle.py
fi
if [ -e "$stamp" ]; then # the lock's packages are there, and nothing is downloaded
    [ ! -s "$stamp" ] || install_here # an empty one is of before stamps named the clone
    .venv/bin/python -I scripts/settle.py
    stamped "$here"
    exit 0
fi
python=$(command -v python3.11 || true)
if [ -z "$python" ]; then
    echo "bootstrap: python3.11 is not on PATH; on Debian 12: apt-get install python3.11 python3.11-venv" >&2
    exit 1
fi
if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
    echo "bootstrap: Python's venv module is missing; on Debian: apt-get install python3-venv" >&2
    exit 1
fi
if [ "$free_mib" -lt 6144 ]; then
    echo "bootstrap: $free_mib MiB free here, 6144 MiB are needed (environment, downloads, outputs)" >&2
    exit 1
fi
# shellcheck disable=SC2086 # a list of files
pins() { cat $locks; }
# One package's lines of the locks.
pinned() { pins | awk -v "pin=$1==" '/^[^ ]/ {its = index($0, pin) == 1} its'; }
# A file whose sha256 is not in the lock is not installed, wherever it comes from.
# shellcheck disable=SC2086 # PIP_ARGS is a list of arguments
install_pinned() {
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir ${PIP_ARGS:-} --require-hashes "$@"
}
echo "bootstrap: installing $(pins | grep -c ==) pinned packages from $lock into .venv, about 0.9 GB of downloads."
[ -x .venv/bin/python ] || "$python" -m venv .venv
rm -f .venv/.installed-* # what is cut short is neither the old set nor the new one
torch=$(pinned torch)
if [ -n "$torch" ]; then
    index=${TORCH_INDEX:-$(pins | sed -n 's/^# torch comes from //p')}
    # Torch alone is looked for in torch's index. First among the local files that pip is configured with, if any.
    printf '%s\n' "$torch" | install_pinned --no-deps --no-index -r /dev/stdin 2>/dev/null ||
        printf '%s\n' "$torch" | install_pinned --no-deps --index-url "$index" -r /dev/stdin
fi
# What has no wheel is built by the setuptools of the lock, not by the newest in the index.
setuptools=$(pinned setuptools)
[ -z "$setuptools" ] || printf '%s\n' "$setuptools" | install_pinned --no-deps -r /dev/stdin
install_pinned --no-build-isolation --use-pep517 -r "$lock"
install_here
.venv/bin/python -I scripts/settle.py
stamped "$here"
