"""A client of git repositories: commits, checkouts, logs, blames, searches, clones, repacking."""

import os
import random
import shutil
import subprocess
from pathlib import Path

from tools.capture.clients.common import main
from tools.capture.clients.messages import message, word
from tools.capture.clients.trees import TreeClient, call

FOLDER_FILES = 30
SETTINGS = {
    "gc.auto": "0",
    "maintenance.auto": "false",
    "advice.detachedHead": "false",
    "pack.threads": "1",
    "pack.windowMemory": "4m",
    "core.deltaBaseCacheLimit": "4m",
    "core.packedGitWindowSize": "1m",
    "core.packedGitLimit": "8m",
    "grep.threads": "1",
    "index.threads": "1",
}
BACK = 20
LOGGED = 30
EPOCH = 1_000_000_000


def environment() -> dict[str, str]:
    """Git without the user's settings, with an identity of its own."""
    person = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    own = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat"}
    return {**os.environ, **person, **own}


def path_of(file: int) -> str:
    """The path of a file in its repository."""
    return f"d{file // FOLDER_FILES:03d}/f{file:05d}.txt"


def make(folder: Path, draw: random.Random, sizes: list[int], commits: int, batch: int) -> None:
    """Make a repository with a history, by git's fast-import, and check its files out.

    Args:
        folder: of the repository.
        draw: of what changes.
        sizes: bytes of its files.
        commits: after the first.
        batch: files that a commit changes.
    """
    folder.mkdir(parents=True)
    command = ["git", "-C", str(folder)]
    subprocess.run([*command, "init", "-q", "-b", "main"], env=environment(), check=True)
    for name, value in SETTINGS.items():
        subprocess.run([*command, "config", name, value], env=environment(), check=True)
    with subprocess.Popen([*command, "fast-import", "--quiet"], stdin=subprocess.PIPE, env=environment()) as importing:
        stream = importing.stdin
        assert stream is not None
        for commit in range(commits + 1):
            files = range(len(sizes)) if commit == 0 else sorted({draw.randrange(len(sizes)) for _ in range(batch)})
            stream.write(f"commit refs/heads/main\ncommitter a <a@b> {EPOCH + commit} +0000\ndata 1\nx\n".encode())
            for file in files:
                text = message(draw, commit, sizes[file])
                stream.write(f"M 644 inline {path_of(file)}\ndata {len(text)}\n".encode() + text + b"\n")
    if importing.returncode:
        raise subprocess.CalledProcessError(importing.returncode, "git fast-import")
    subprocess.run([*command, "reset", "-q", "--hard", "main"], env=environment(), check=True)


class Git(TreeClient):
    """Each operation is a command or two of git in one repository."""

    def _git(self, folder: Path, *arguments: str, accepted: tuple[int, ...] = (0,)) -> None:
        # A command that was cut off with its phase leaves its lock.
        (folder / ".git/index.lock").unlink(missing_ok=True)
        call(["git", "-C", str(folder), *arguments], environment(), accepted)

    def commits(self) -> None:
        """Change some files and commit them."""
        with self.tree() as folder:
            self._git(folder, "checkout", "-q", "-f", "main")
            for file in self.files():
                (folder / path_of(file)).write_bytes(message(self.random, 0, self.size()))
            self._git(folder, "commit", "-q", "-a", "-m", "x", accepted=(0, 1))

    def checkouts(self) -> None:
        """Check an older commit out, and the newest again."""
        with self.tree() as folder:
            back = 1 + self.random.randrange(min(BACK, self.plan["commits"]))
            self._git(folder, "checkout", "-q", "-f", f"main~{back}")
            self._git(folder, "checkout", "-q", "-f", "main")

    def logs(self) -> None:
        """Show the newest commits with their changes."""
        with self.tree() as folder:
            self._git(folder, "log", "-p", f"-{LOGGED}", "main")

    def blames(self) -> None:
        """Show where the lines of a file come from."""
        with self.tree() as folder:
            self._git(folder, "blame", "main", "--", path_of(self.files()[0]))

    def greps(self) -> None:
        """Look for a word in all files that are checked out."""
        with self.tree() as folder:
            self._git(folder, "grep", "-q", "-F", f"no {word(self.random.randrange(1000))} none", accepted=(0, 1))

    def clones(self) -> None:
        """Clone a repository with its objects, and throw the copy away."""
        with self.tree() as folder:
            shutil.rmtree(self.scratch, ignore_errors=True)
            call(["git", "clone", "-q", "--no-hardlinks", str(folder), str(self.scratch)], environment())

    def repacks(self) -> None:
        """Pack all objects anew."""
        with self.tree() as folder:
            self._git(folder, "repack", "-q", "-a", "-d")


if __name__ == "__main__":
    main(Git)
