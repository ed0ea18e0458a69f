"""The page: header, index, sections and words, from a template; no script, and nothing from outside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cachezoo.show.plots import INPUTS
from cachezoo.show.section import Drawing, Section
from cachezoo.show.terms import Marker, anchor

TEMPLATE = "page.html.j2"
WORDS = "words"  # anchor of the definitions


@dataclass(frozen=True)
class Page:
    """A page as `render` is given it.

    Attributes:
        title: what the page answers; of the window, and the page's heading.
        lead: one or two sentences, the answer.
        facts: (name, value), shown below the title.
        sections: in order; each stands in the index. A section that is folded has its body folded away, and a part
            that is folded likewise.
        terms: definitions by term (`promoted, champion` for two names of one thing); the first use of each in a
            section's texts, titles of tables and columns leads to it and shows it on hover.
        inputs: digest of what the page was made from, kept in a meta element; empty for none.
    """

    title: str
    lead: Sequence[str]
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]
    terms: Mapping[str, str] = field(default_factory=dict)
    inputs: str = ""


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
