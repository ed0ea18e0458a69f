"""Tables as Markdown, and the blocks of a page that are made from code and metrics.

A block lies between two lines, `<!-- name -->` and `<!-- end of name -->`; everything else on the page is written by
hand.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.errors import CachezooError

if TYPE_CHECKING:
    from rich.table import Table


def table(found: "Table") -> str:
    """The lines of a table made for the terminal, without its title and caption."""
    heads = [_cell(column.header) for column in found.columns]
    rules = ["---:" if column.justify == "right" else "---" for column in found.columns]
    rows = zip(*(map(_cell, column.cells) for column in found.columns), strict=True)
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, *rows)]
    lines.insert(1, f"|{'|'.join(rules)}|")
    return "\n".join(lines) + "\n"


def titled(found: "Table") -> str:
    """The lines of a table, its title above and its caption below, if it has them."""
    parts = [f"{_text(found.title)}:\n"] if found.title else []
    parts += [table(found), *([f"{_text(found.caption)}.\n"] if found.caption else [])]
    return "\n".join(parts)


def _cell(value: object) -> str:
    return _text(value).replace("|", r"\|")


def _text(value: object) -> str:
    """A cell, title or caption without styles, in one line."""
    from rich.text import Text

    text = value if isinstance(value, Text) else Text.from_markup(str(value))
    return text.plain.replace("\n", " ")


def between(text: str, name: str, inside: str, page: Path) -> str:
    """A page with another block.

    Args:
        text: of the page.
        name: of the block.
        inside: what the block says, with the end of its last line.
        page: named in the error.

    Raises:
        CachezooError: the page has no such block.
    """
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise CachezooError(f"{page}: has no lines {begin.strip()} and {end.strip()}; get it from Git")
    return f"{before}{begin}\n{inside}\n{end}{after}"
