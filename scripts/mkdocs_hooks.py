"""What mkdocs.yml asks of the pages: links that leave docs/ lead to the repository, and its images come along.

On GitHub, `../lab/results/claims.md` is a file of the repository; a site of docs/ alone has none. The repository's
address is CACHEZOO_REPOSITORY, else the one that GitHub's runner names, else that of the Git remote `origin`. Where
none of them is an address on the web, such links become plain text. A target that is not there is a warning, which
`mkdocs build --strict` refuses.
"""

import logging
import os
import re
import subprocess
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any
from urllib.parse import urlsplit

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
ADDRESS = "CACHEZOO_REPOSITORY"
IMAGES = "repository"  # the site's folder with images from elsewhere
LINK = re.compile(
    r"(?P<mark>!?)\[(?P<text>(?:[^\[\]]|!\[[^\]]*\]\([^)]*\))*)\]"
    r"\((?P<target>\.\.?/[^)#\s]*)(?P<anchor>#[^)\s]*)?\)"
)
INSIDE = re.compile(r"^(?: {2,3}|( {4,7}))(?=\S)", re.MULTILINE)
FENCE = re.compile(r"^ *(```|~~~)")
log = logging.getLogger("mkdocs.plugins.cachezoo")


def web_address(remote: str) -> str:
    """The page of a repository on the web, without a user or a password; empty where a remote has none."""
    remote = re.sub(r"^(?:ssh://)?git@([^:/]+)[:/]", r"https://\1/", remote.strip())
    parts = urlsplit(remote)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return ""
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}".removesuffix("/").removesuffix(".git")


def repository() -> str:
    """The repository's address on the web, or nothing."""
    if ADDRESS in os.environ:
        return web_address(os.environ[ADDRESS])
    if "GITHUB_REPOSITORY" in os.environ:
        return f"{os.environ.get('GITHUB_SERVER_URL', 'https://github.com')}/{os.environ['GITHUB_REPOSITORY']}"
    command = ["git", "-C", str(ROOT), "remote", "get-url", "origin"]
    return web_address(subprocess.run(command, check=False, capture_output=True, text=True).stdout)


def leaving(page: str, target: str) -> str | None:
    """Where a link leads in the repository; None if it stays in docs/.

    Args:
        page: its path in docs/.
        target: of the link, relative to the page.
    """
    path = normpath(f"docs/{PurePosixPath(page).parent}/{target}")
    return None if path == "docs" or path.startswith("docs/") else path


def rewritten(text: str, page: str, address: str) -> str:
    """A page's text with its links out of docs/ turned.

    Args:
        text: of the page, in Markdown.
        page: its path in docs/.
        address: of the repository on the web, or nothing.
    """

    def turned(found: re.Match[str]) -> str:
        path = leaving(page, found["target"])
        if path is None:
            return found[0]
        if path.startswith("..") or not (ROOT / path).exists():
            log.warning("%s: links to %s, which the repository does not have", page, found["target"])
        if found["mark"]:
            return f"![{found['text']}]({relpath(f'{IMAGES}/{path}', str(PurePosixPath(page).parent))})"
        if not address:
            return f"`{path}`" if found["text"].strip("`") in path else f"{found['text']} (`{path}`)"
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"[{found['text']}]({address}/{kind}/HEAD/{path}{found['anchor'] or ''})"

    return "".join(_outside_fences(text, lambda part: LINK.sub(turned, part)))


def indented(text: str) -> str:
    """A page's text with the insides of lists moved in by four spaces, as this Markdown wants; GitHub takes two."""

    def moved(part: str) -> str:
        return INSIDE.sub(lambda found: " " * (8 if found[1] else 4), part)

    return "".join(_outside_fences(text, moved))


def _outside_fences(text: str, change: Any) -> list[str]:  # noqa: ANN401 - a function
    """The parts of a text, those outside fenced code changed."""
    parts: list[str] = []
    plain: list[str] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        mark = FENCE.match(line)
        if not fence and not mark:
            plain.append(line)
            continue
        if not fence and mark:
            parts.append(change("".join(plain)))
            plain, fence = [], mark[1]
        elif mark and line.strip() == fence:
            fence = ""
        parts.append(line)
    return [*parts, change("".join(plain))]


def on_config(config: Any) -> Any:  # noqa: ANN401 - mkdocs' own type
    """Every page has a link to the repository, if that has an address."""
    config.repo_url = repository() or None
    return config


def on_files(files: Any, config: Any) -> Any:  # noqa: ANN401
    """Images that pages show from elsewhere in the repository come along."""
    for page in files.documentation_pages():
        for found in LINK.finditer(page.content_string):
            path = leaving(page.src_uri, found["target"])
            name = f"{IMAGES}/{path}"
            if found["mark"] and path and (ROOT / path).is_file() and files.get_file_from_path(name) is None:
                files.append(File.generated(config, name, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:  # noqa: ANN401
    """A page as the site has it."""
    return indented(rewritten(markdown, page.file.src_uri, config.repo_url or ""))
