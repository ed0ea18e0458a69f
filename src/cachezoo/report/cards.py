"""Model cards as HTML: Markdown with everything that is no Markdown escaped."""

from cachezoo.models.measured import Model
from cachezoo.report.tables import card_anchor
from cachezoo.show.section import Section

DEEPER = 3  # a card's `#` is the page's fourth level


def card_html(markdown: str) -> str:
    """HTML of a card: headings, paragraphs, lists, tables and code; HTML, links and images in it are shown as text."""
    from markdown_it import MarkdownIt

    off = ["image", "link", "autolink", "reference", "html_block", "html_inline"]
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable(off)
    tokens = parser.parse(markdown)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1:]) + DEEPER)}"
    html: str = parser.renderer.render(tokens, parser.options, {})
    return html.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")


def card_section(model: Model) -> Section:
    """A model's card, or why it has none."""
    anchor, state = card_anchor(model.id), "may be champion" if model.promoted else "no champion"
    if model.card is not None:
        return Section(anchor, f"{model.id}: {state}", html=card_html(model.card), folded=True)
    why = model.refused or model.reason
    said = f"No bundle: {why}." if model.refused else f"It has not been exported. {why}."
    return Section(anchor, f"{model.id}: {'refused' if model.refused else 'no bundle'}", [said], folded=True)
