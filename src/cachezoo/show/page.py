"""The page: header, index, sections and words, from a template; no script, and nothing from outside.

Words that have a definition show it on hover, and one link away by keyboard and touch.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cachezoo.show.plots import INPUTS
from cachezoo.show.section import Drawing, Section

if TYPE_CHECKING:
    from markupsafe import Markup


TEMPLATE = "page.html.j2"
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
WORDS = "words"  # anchor of the definitions


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


@dataclass(frozen=True)
class Page:
    """A page as `render` is given it."""

    title: str  # what the page answers; of the window, and the page's heading
    lead: Sequence[str]  # one or two sentences, the answer
    facts: Sequence[tuple[str, str]]  # (name, value), shown below the title
    # in order; each stands in the index. A section that is folded has its body folded away, and a part that is folded
    # likewise
    sections: Sequence[Section]
    # definitions by term (`promoted, champion` for two names of one thing); the first use of each in a section's texts,
    # titles of tables and columns leads to it and shows it on hover
    terms: Mapping[str, str] = field(default_factory=dict)
    inputs: str = ""  # digest of what the page was made from, kept in a meta element; empty for none


def render(page: Page) -> str:
    """The page's HTML; besides the files of its `Figure`s it refers to nothing.

    Every text is escaped, but `Section.html` and `Drawing.svg`, which this package makes itself.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("cachezoo.show", "."), autoescape=True,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.tests["drawing"] = lambda figure: isinstance(figure, Drawing)
    marker = Marker(page.terms)
    return environment.get_template(TEMPLATE).render(page=page, mark=marker, anchor=anchor, inputs=INPUTS, words=WORDS)
