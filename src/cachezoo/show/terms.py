"""Words of a page that have a definition: shown on hover, and one link away by keyboard and touch."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markupsafe import Markup

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")


def anchor(term: str) -> str:
    """Where a term's definition stands on the page."""
    return "term-" + re.sub(r"[^a-z0-9]+", "-", term.lower()).strip("-")


class Marker:
    """Marks the first use of each term in a section; a key of several names, `promoted, champion`, marks each."""

    def __init__(self, terms: Mapping[str, str]) -> None:
        """Take the page's terms and their meanings."""
        self._keys = {name.strip().lower(): key for key in terms for name in key.split(",")}
        self._terms = terms
        self._seen: set[str] = set()
        names = "|".join(re.escape(name) for name in sorted(self._keys, key=lambda name: (-len(name), name)))
        self._pattern = re.compile(rf"(?<![\w.+-])({names})(s?)(?![\w+-]|\.\w)", re.IGNORECASE) if names else None

    def begin(self) -> str:
        """Begin a section: every term is marked again; returns an empty text, for templates."""
        self._seen.clear()
        return ""

    def __call__(self, text: str) -> "Markup":
        """A text as HTML, with the terms that this section has not yet marked."""
        from markupsafe import Markup

        if self._pattern is None:
            return _plain(text)
        parts, end = [], 0
        for found in self._pattern.finditer(text):
            key = self._keys[found[1].lower()]
            if key not in self._seen:
                self._seen.add(key)
                parts += [_plain(text[end : found.start()]), self._link(key, found[0])]
                end = found.end()
        return Markup("").join([*parts, _plain(text[end:])])

    def _link(self, key: str, shown: str) -> "Markup":
        from markupsafe import Markup

        return Markup('<a class="term" href="#{}" title="{}">{}</a>').format(anchor(key), self._terms[key], shown)


def _plain(text: str) -> "Markup":
    """A text without terms as HTML; a browser would break a line within an option's name, after its hyphens."""
    from markupsafe import Markup, escape

    return Markup(OPTION.sub(lambda found: f'<code class="option">{found[0]}</code>', escape(text)))
