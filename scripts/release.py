"""`make release`: packs every bundle, then walks the list of what a release takes, and says what to do next.

    python -m scripts.release [--key private.pem]

It asks nothing and makes no commit or tag. Each step is a line that begins with `ok` or `not ok`. The last line has the
command for the first that is not ok. The status is 0 where all are.
"""

import argparse
import hashlib
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PASSED = Path(".pytest_cache/v/cachezoo/passed")  # tests/passed.py writes it
LANE = "not long"  # of `make test`
SUMS, ARCHIVES = "SHA256SUMS", "release"
# Where a version is written, and what it looks like there.
PLACES = {
    "pyproject.toml": r'^version = "(.+)"$',
    "src/cachezoo/__init__.py": r'^__version__ = "(.+)"$',
    "CITATION.cff": r"^version: (.+)$",
}


@dataclass(frozen=True)
class Step:
    """A step of a release.

    Attributes:
        name: what is looked at.
        found: what it is like.
        todo: what to do if it is not well; nothing where it is.
    """

    name: str
    found: str
    todo: str = ""

    def __str__(self) -> str:
        return f"{'not ok' if self.todo else 'ok':8}{self.name:12}{self.found}"


def git(root: Path, *words: str) -> str:
    """What Git answers; nothing where it refuses."""
    return subprocess.run(["git", "-C", root, *words], check=False, capture_output=True, text=True).stdout.rstrip()


def version(root: Path) -> Step:
    """One version in every place."""
    found = {}
    for name, pattern in PLACES.items():
        match = re.search(pattern, (root / name).read_text(encoding="utf-8"), re.MULTILINE)
        found[name] = match[1] if match else "none"
    if len(set(found.values())) == 1:
        return Step("version", f"{number(root)}, in {', '.join(PLACES)}")
    said = ", ".join(f"{name} has {value}" for name, value in found.items())
    return Step("version", said, "write one version into all of them")


def number(root: Path) -> str:
    """The version that is released."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def changelog(root: Path) -> Step:
    """The changelog says what is new, with a date, and nothing waits under Unreleased."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    parts = {part.split("\n", 1)[0]: part.partition("\n")[2].strip() for part in text.split("\n## ")[1:]}
    head = next((head for head in parts if head.split(" ")[0] == number(root)), None)
    if head is None or not parts[head]:
        return Step("changelog", f"has nothing under {number(root)}", f"edit CHANGELOG.md: ## {number(root)} - DATE")
    if not re.fullmatch(r"\S+ - \d{4}-\d\d-\d\d", head):
        return Step("changelog", f"{head} has no date", f"edit CHANGELOG.md: ## {number(root)} - DATE")
    if parts.get("Unreleased"):
        return Step("changelog", "has lines under Unreleased", f"edit CHANGELOG.md: move them to {number(root)}")
    return Step("changelog", f"has {head}")


def bundles(root: Path, key: str | None) -> Step:
    """Every bundle is packed, and docs/zoo.md lists them."""
    own = ["--key", key] if key else []
    command = ["models", "bundle", "release", ARCHIVES, "-o", "docs/zoo.md", *own]
    program = [sys.executable, "-c", "import sys; from cachezoo.cli import main; sys.argv[0] = 'cachezoo'; main()"]
    done = subprocess.run([*program, *command], cwd=root, check=False, capture_output=True, text=True)
    lines = (done.stderr if done.returncode else done.stdout).strip().splitlines() or ["no answer"]
    if done.returncode:
        return Step("bundles", lines[-1], "make repro")
    signed = "signed" if key else "not signed: KEY=private.pem signs"
    return Step("bundles", f"{len(list((root / ARCHIVES).glob('*.zip')))} archives in {ARCHIVES}/, {signed}")


def sums(root: Path) -> Step:
    """Every archive is as its checksum says, and none is without."""
    folder = root / ARCHIVES
    if not (folder / SUMS).is_file():
        return Step("sums", f"no {ARCHIVES}/{SUMS}", "make repro")
    said = dict(reversed(line.split("  ", 1)) for line in (folder / SUMS).read_text(encoding="utf-8").splitlines())
    there = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.zip")}
    wrong = sorted(name for name in {*there, *said} if name.endswith(".zip") and there.get(name) != said.get(name))
    if wrong:
        return Step("sums", f"{wrong[0]} is not as {SUMS} says", f"rm -r {ARCHIVES}; make release")
    return Step("sums", f"{len(there)} archives are as {SUMS} says")


def clean(root: Path) -> Step:
    """Everything is committed."""
    changed = git(root, "status", "--porcelain").splitlines()
    if changed:
        return Step("git", f"{len(changed)} files are not committed, first {changed[0][3:]}", "git add -p; git commit")
    return Step("git", f"clean, at {git(root, 'rev-parse', '--short', 'HEAD')}")


def tests(root: Path) -> Step:
    """`make test` has passed for this commit."""
    try:
        found = json.loads((root / PASSED).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Step("tests", "no whole run has passed here", "make test")
    if found != {"commit": git(root, "rev-parse", "HEAD"), "lane": LANE}:
        return Step("tests", f"the last whole run that passed was of {found['commit'][:9]}", "make test")
    return Step("tests", "make test has passed for this commit")


def tag(root: Path) -> Step:
    """The version is a tag of this commit."""
    name = f"v{number(root)}"
    commit = git(root, "rev-parse", "-q", "--verify", f"refs/tags/{name}^{{commit}}")
    if not commit:
        return Step("tag", f"no {name}", shlex.join(["git", "tag", "-a", name, "-m", f"cachezoo {number(root)}"]))
    if commit != git(root, "rev-parse", "HEAD"):
        return Step("tag", f"{name} is another commit", "raise the version: a tag that was given away stays")
    return Step("tag", f"{name} is this commit")


def steps(root: Path, key: str | None) -> Iterator[Step]:
    """The steps, in the order in which they are made well."""
    yield bundles(root, key)
    every: tuple[Callable[[Path], Step], ...] = (sums, version, changelog, clean, tests, tag)
    for step in every:
        yield step(root)


def main() -> int:
    """Walk the list."""
    parser = argparse.ArgumentParser(
        prog="python -m scripts.release", description="What a release takes, step by step."
    )
    parser.add_argument("--key", help="a private key of Ed25519, which signs the bundles")
    todo = ""
    for step in steps(ROOT, parser.parse_args().key):
        sys.stdout.write(f"{step}\n")
        todo = todo or step.todo
    name = f"v{number(ROOT)}"
    sys.stdout.write(f"next: {todo or f'git push origin {name}; give release/ away with it'}\n")
    return int(bool(todo))


if __name__ == "__main__":
    raise SystemExit(main())
