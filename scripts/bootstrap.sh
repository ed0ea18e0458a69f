#!/bin/sh
# Create .venv in the clone and install a pinned set: bootstrap.sh requirements.lock|requirements-dev.lock
# Repeatable: does nothing when the lock that is installed has not changed. PIP_ARGS passes through to pip.
set -eu
cd "$(dirname "$0")/.."
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
lock=$1
stamp=.venv/.installed-$(cat "$lock" pyproject.toml | sha256sum | cut -c1-16)
[ -e "$stamp" ] && exit 0

python=$(command -v python3.11 || true)
if [ -z "$python" ]; then
    echo "bootstrap: python3.11 is not on PATH; on Debian 12: apt-get install python3.11 python3.11-venv" >&2
    exit 1
fi
if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
    echo "bootstrap: Python's venv module is missing; on Debian: apt-get install python3-venv" >&2
    exit 1
fi
free_mib=$(df -Pm . | awk 'NR == 2 {print $4}')
if [ "$free_mib" -lt 6144 ]; then
    echo "bootstrap: $free_mib MiB free here, 6144 MiB are needed (environment, downloads, outputs)" >&2
    exit 1
fi
echo "bootstrap: installing $(grep -c == "$lock") pinned packages from $lock into .venv."
echo "bootstrap: about 0.9 GB of downloads with a CPU build of PyTorch; the index's default build brings several GB of CUDA."
echo "bootstrap: for a CPU build: make PIP_ARGS='--extra-index-url https://download.pytorch.org/whl/cpu' ..."
[ -x .venv/bin/python ] || "$python" -m venv .venv
# shellcheck disable=SC2086 # PIP_ARGS is a list of arguments
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir ${PIP_ARGS:-} -r "$lock"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
# DVC's own caches stay inside the clone; its option wants an absolute path, so it is written here and not committed.
printf '[core]\n    site_cache_dir = %s/.cache/dvc\n' "$PWD" > .dvc/config.local
rm -f .venv/.installed-*
touch "$stamp"
