"""How many words the documents have: `python -m tests.docs.words` prints them by page, and in all.

Prose counts: what people write and read. Blocks between `<!-- name -->` and `<!-- end of name -->` are made by scripts,
fenced code is typed and not read, and some pages are made whole; none of these count.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Pages that a command writes from the first line to the last.
MADE = ("docs/data-dictionary.md", "docs/licences.md", "docs/zoo.md")
# Pages of the repository that are not on the site.
BESIDES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
WHOLE = ("README.md",)  # counted with its blocks and its code, as it is all that some people see
SITE, ADR = 45_000, 330
LIMITS = {
    "README.md": 700, "CHANGELOG.md": 800, "CONTRIBUTING.md": 700, "docs/page-cache.md": 1200, "docs/bundles.md": 4000,
    "docs/results.md": 1200, "docs/releasing.md": 500,
}  # fmt: skip
# What plain English says otherwise. A line that needs one says so: <!-- allowed: stands -->
NOT_SAID = ("is told", "is asked", "stands", "hangs on", "beside", "what came of", "spoken")

BLOCK = re.compile(r"^<!-- (?P<name>\S+) -->\n.*?^<!-- end of (?P=name) -->$", re.DOTALL | re.MULTILINE)
FENCE = re.compile(r"^(?P<mark> *(?:```|~~~)).*?^(?P=mark) *$", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
ALLOWED = re.compile(r"<!-- allowed: (?P<phrase>[a-z ]+) -->")
CODE = re.compile(r"`[^`\n]*`")
TARGET = re.compile(r"\]\([^)]*\)")
PHRASE = re.compile(rf"\b(?:{'|'.join(map(re.escape, NOT_SAID))})\b", re.IGNORECASE)


def words(text: str) -> int:
    """Words of a text: what spaces part and has a letter or a digit."""
    return sum(any(letter.isalnum() for letter in word) for word in text.split())


def _kept_lines(pattern: re.Pattern[str], text: str) -> str:
    """A text without what a pattern finds, but with its line ends, so that lines keep their numbers."""
    return pattern.sub(lambda found: "\n" * found[0].count("\n"), text)


def prose(text: str) -> str:
    """A page without blocks that are made, fenced code and comments; every line keeps its number."""
    return _kept_lines(COMMENT, _kept_lines(FENCE, _kept_lines(BLOCK, text)))


def site() -> list[Path]:
    """The pages of the site."""
    return sorted((ROOT / "docs").rglob("*.md"))


def pages() -> list[Path]:
    """Every document that counts."""
    return [*(ROOT / name for name in BESIDES), *(page for page in site() if name_of(page) not in MADE)]


def name_of(page: Path) -> str:
    """A page's path from the root."""
    return page.relative_to(ROOT).as_posix()


def counts() -> dict[str, int]:
    """Words of prose by page."""
    texts = {name_of(page): page.read_text(encoding="utf-8") for page in pages()}
    return {name: words(text if name in WHOLE else prose(text)) for name, text in texts.items()}


def of_site(found: dict[str, int]) -> int:
    """Words of prose of the whole site."""
    return sum(number for name, number in found.items() if name not in BESIDES)


def limit(name: str) -> int | None:
    """How many words a page may have, if that is said."""
    return ADR if re.fullmatch(r"docs/adr/\d.*\.md", name) else LIMITS.get(name)


def report(found: dict[str, int]) -> str:
    """A line for each page, and one for the site."""
    lines = []
    for name, number in found.items():
        most = limit(name)
        lines.append(f"{number:8,}{f' of {most:,}' if most else '':9}  {name}")
    return "\n".join([*lines, f"{of_site(found):8,} of {SITE:,}  the site"])


def phrases(text: str) -> list[tuple[int, str]]:
    """Phrases that the documents do not use, with the numbers of their lines."""
    found = []
    for number, (raw, line) in enumerate(zip(text.splitlines(), prose(text).splitlines(), strict=True), 1):
        allowed = {match["phrase"] for match in ALLOWED.finditer(raw)}
        said = PHRASE.findall(TARGET.sub("]", CODE.sub("", line)))
        found += [(number, phrase.lower()) for phrase in said if phrase.lower() not in allowed]
    return found


if __name__ == "__main__":
    sys.stdout.write(f"{report(counts())}\n")
