"""Links of the documents that are not on the site, and pages that code names, are there; `make site` sees to docs/."""

import re
import subprocess
from pathlib import Path

import pytest
from pymdownx.slugs import slugify

from tests.docs.words import CODE, FENCE

ROOT = Path(__file__).resolve().parents[2]
TARGET = re.compile(r"\]\((?!https?:|mailto:)(?P<path>[^)#\s]*)(?:#(?P<anchor>[^)\s]*))?\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
SLUG = slugify(case="lower")


# What names pages, but for what was written once and is kept as it was.
NAMING = (
    "src", "scripts", "lab", "runtimes", "tools", "conf", "pipelines", "benchmarks", "notebooks", "tests", "Makefile",
)  # fmt: skip
KEPT = ("tests/golden/", "tests/docs/", "lab/results/")
NAMED = re.compile(r"docs/(?:[\w-]+/)?[\w-]+\.md(?:#[\w-]+)?")
# No pages, but what outputs and tests say.
TEXTS = {"docs/baleen.md", "docs/virtual-model.md", "docs/page.md"}


def files(*patterns: str) -> list[str]:
    """Files of the repository; nothing without Git."""
    command = ["git", "-C", ROOT, "ls-files", "--", *patterns]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return [name for name in listed.splitlines() if (ROOT / name).is_file()]


def documents() -> list[str]:
    return [name for name in files("*.md") if not name.startswith(("docs/", "tests/"))] or ["README.md"]


def anchors(page: Path) -> set[str]:
    """Names of a page's headings, as GitHub gives them; those of equal words have a number."""
    found: set[str] = set()
    for heading in HEADING.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        name = slug = SLUG(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading), "-")
        count = 0
        while name in found:
            count += 1
            name = f"{slug}-{count}"
        found.add(name)
    return found


@pytest.mark.parametrize("name", documents())
def test_links_lead_somewhere(name):
    page = ROOT / name
    lost = []
    for found in TARGET.finditer(CODE.sub("", FENCE.sub("", page.read_text(encoding="utf-8")))):
        target = (page.parent / found["path"]).resolve() if found["path"] else page
        there = target.exists() and (
            not found["anchor"] or target.suffix != ".md" or found["anchor"] in anchors(target)
        )
        lost += [] if there else [found[0][2:-1]]
    assert not lost


def test_pages_that_code_names_are_there():
    lost = []
    for name in files(*NAMING):
        if name.startswith(KEPT) or (ROOT / name).suffix in (".parquet", ".png", ".json", ".bin"):
            continue
        for said in NAMED.findall((ROOT / name).read_text(encoding="utf-8", errors="replace")):
            page, _, anchor = said.partition("#")
            there = (ROOT / page).is_file() and (not anchor or anchor in anchors(ROOT / page))
            lost += [] if there or said in TEXTS else [f"{name}: {said}"]
    assert not lost, "\n".join(lost)
