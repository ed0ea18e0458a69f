"""The paths of this clone, in what lies outside Git: `settle.py`, run by scripts/bootstrap.sh with .venv's Python.

An environment knows the folder it was made in: its programs begin with the path of its Python, its editable install
names the sources. After the clone was moved or copied both are those of the old place, whose code would run. DVC's
local settings name the folder of its own caches. Folders that stages write are made, empty.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

ENVIRONMENT, LOCAL = Path(".venv"), Path(".dvc/config.local")
SHEBANG_BYTES = 127  # longer ones, and those with a space, no kernel takes; pip then lets a shell find Python
PYTHON = rb"(?P<place>/[^\n\"]*?)/\.venv/bin/(?P<name>python[0-9.]*)"
PLAIN = re.compile(rb"#!" + PYTHON + rb"[ \t]*\n")
BY_SHELL = re.compile(rb"#!/bin/sh\n'''exec' \"?" + PYTHON + rb"\"? \"\$0\" \"\$@\"\n' '''\n")
SOURCES = Path("data/sources")
SITE = re.compile(r"^(\s*site_cache_dir\s*=).*$", re.MULTILINE)


def place(environment: Path) -> Path | None:
    """The clone that an environment was made in or settled to; None where it does not say.

    Args:
        environment: the folder of a virtual environment.
    """
    try:
        found = PLAIN.match(text := (environment / "bin/pip").read_bytes()) or BY_SHELL.match(text)
    except OSError:
        return None
    return Path(os.fsdecode(found["place"])) if found else None


def _write(path: Path, data: bytes) -> None:
    """Write a file anew: of a clone copied with hard links the old file is the other clone's too."""
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    if path.exists():
        os.chmod(temporary, path.stat().st_mode)
    os.replace(temporary, path)


def _head(python: bytes) -> bytes:
    """The first lines of a program that this Python runs."""
    line = b"#!" + python + b"\n"
    if len(line) <= SHEBANG_BYTES and b" " not in line:
        return line
    return b"#!/bin/sh\n'''exec' \"" + python + b'" "$0" "$@"\n\' \'\'\'\n'


def settle_environment(environment: Path, old: Path, new: Path) -> None:
    """Let an environment's programs, and what a shell sources, name another clone.

    Args:
        environment: the folder of the virtual environment.
        old: the clone whose paths they have.
        new: the clone that they are to have.
    """
    inside = [os.fsencode(clone / ".venv") for clone in (old, new)]
    for path in [environment / "pyvenv.cfg", *sorted((environment / "bin").iterdir())]:
        if path.is_symlink() or not path.is_file():
            continue
        before = path.read_bytes()
        found = PLAIN.match(before) or BY_SHELL.match(before)
        if found and os.fsdecode(found["place"]) == str(old):
            after = _head(inside[1] + b"/bin/" + found["name"]) + before[found.end() :]
        elif path.name == "pyvenv.cfg" or path.name.lower().startswith("activate"):
            after = before.replace(*inside)
        else:
            continue
        if after != before:
            _write(path, after)


def settle_dvc(local: Path, cache: Path) -> None:
    """Keep DVC's own caches inside the clone; its option wants an absolute path, so it cannot be committed.

    Args:
        local: DVC's local settings; others that stand there stay.
        cache: folder of its caches.
    """
    before = local.read_text(encoding="utf-8") if local.exists() else ""
    line = f"site_cache_dir = {cache}"
    if SITE.search(before):
        after = SITE.sub(lambda found: f"{found[1]} {cache}", before)
    elif "[core]\n" in before:
        after = before.replace("[core]\n", f"[core]\n    {line}\n", 1)
    else:
        after = f"{before}[core]\n    {line}\n"
    if after != before:
        local.parent.mkdir(exist_ok=True)
        _write(local, after.encode())


def make_outputs(root: Path) -> None:
    """Make the folders that stages write, empty but for the lists of sources.

    `dvc repro --dry` and `dvc status` fall over an input that is not there, as in a clone where nothing has run.

    Args:
        root: the clone; one without dvc.yaml has no stages.
    """
    if not (root / "dvc.yaml").exists():
        return
    import yaml

    for stage in yaml.safe_load((root / "dvc.yaml").read_text(encoding="utf-8"))["stages"].values():
        for out in stage["outs"]:
            name = out if isinstance(out, str) else next(iter(out))
            if not Path(name).suffix:
                (root / name).mkdir(parents=True, exist_ok=True)
    if not any((root / SOURCES).iterdir()):
        sys.path.insert(0, str(root / "src"))
        from cachezoo.closure import write_sources

        write_sources(root, root / SOURCES)


def main(words: list[str]) -> int:
    """`settle.py`: settle all of it. `settle.py place`: print where the environment is settled, if not here."""
    here, there = Path.cwd().resolve(), place(ENVIRONMENT)
    moved = there is not None and there.resolve() != here
    if words == ["place"]:
        if there is not None and moved:
            sys.stdout.write(f"{there}\n")
        return 0
    if there is not None and moved:
        settle_environment(ENVIRONMENT, there, here)
    settle_dvc(LOCAL, here / ".cache/dvc")
    make_outputs(here)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
