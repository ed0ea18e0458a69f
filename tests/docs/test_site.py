"""The documentation as a site: it builds without a warning, loads nothing from elsewhere, and no link ends at docs/."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.mkdocs_hooks import IMAGES, indented, rewritten, web_address

ROOT = Path(__file__).resolve().parents[2]
LOADED = re.compile(
    r"<(?:script|img|iframe|source|link rel=\"?(?:stylesheet|preload|icon))[^>]*(?:src|href)=\"?(https?:)?//"
)
ADDRESS = "https://git.example/cachezoo"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "CACHEZOO_REPOSITORY": ADDRESS},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr  # --quiet would hide warnings from --strict
    return folder


def test_every_page_is_built_and_loads_nothing_from_elsewhere(built):
    pages = {path.relative_to(built).as_posix() for path in built.rglob("*.html")}
    written = {
        path.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for path in (ROOT / "docs").rglob("*.md")
    }
    assert {name.replace("README", "index") for name in written} | {"404.html"} == pages
    for name in pages:
        assert not LOADED.search((built / name).read_text(encoding="utf-8")), name
    for style in built.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//", style.read_text(encoding="utf-8")), style


def test_links_out_of_docs_lead_to_the_repository_and_images_are_there(built):
    text = "\n".join(page.read_text(encoding="utf-8") for page in built.glob("*.html"))
    assert f"{ADDRESS}/blob/HEAD/lab/results/claims.md" in text
    shown = set(re.findall(rf"src=\"?({IMAGES}/[^\" >]+)", text))
    assert [name for name in shown if not (built / name).is_file()] == []


def test_a_link_is_turned_by_where_it_leads(caplog):
    code = "```\n[e](../conf)\n```\n"
    text = f"[a](../lab/results/claims.md#x) [b](size.md) [c](../conf/prices) ![d](../lab/results/hca.png)\n{code}"
    assert rewritten(text, "page.md", ADDRESS) == (
        f"[a]({ADDRESS}/blob/HEAD/lab/results/claims.md#x) [b](size.md) [c]({ADDRESS}/tree/HEAD/conf/prices) "
        f"![d]({IMAGES}/lab/results/hca.png)\n{code}"
    )
    assert rewritten("[a](../size.md) [b](../../LICENSE)", "adr/1.md", "") == "[a](../size.md) b (`LICENSE`)"
    assert rewritten("[conf/prices](../conf/prices)", "page.md", "") == "`conf/prices`"
    assert not caplog.records
    rewritten("[a](../nowhere.md)", "page.md", ADDRESS)
    assert "page.md: links to ../nowhere.md, which the repository does not have" in caplog.text


def test_lists_in_lists_move_in_and_fenced_code_stays():
    text = "- a\n  b\n  - c\n    d\n```\n  e\n```\n"
    assert indented(text) == "- a\n    b\n    - c\n        d\n```\n  e\n```\n"


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("git@git.example:team/cachezoo.git\n", "https://git.example/team/cachezoo"),
        ("ssh://git@git.example/team/cachezoo.git", "https://git.example/team/cachezoo"),
        ("https://user:secret@git.example:8443/team/cachezoo.git", "https://git.example:8443/team/cachezoo"),
        ("https://git.example/team/cachezoo/", "https://git.example/team/cachezoo"),
        ("/srv/git/cachezoo", ""), ("../cachezoo", ""), ("", ""),
    ],
)  # fmt: skip
def test_a_repository_has_an_address_without_secrets(remote, address):
    assert web_address(remote) == address
