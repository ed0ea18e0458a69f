"""Tables as Markdown, and the blocks of a page."""

from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

from cachezoo.errors import CachezooError
from cachezoo.show.markdown import between, table, titled

PAGE = Path("docs/page.md")


def made(caption=None):
    found = Table(title="a title", caption=caption)
    found.add_column("name")
    found.add_column("share\n(of all)", justify="right")
    found.add_row("lirs | lfu", Text("[1, 2]"))
    found.add_row("[bold]two[/bold]", "3 %")
    return found


def test_cells_are_one_line_and_end_no_column():
    assert table(made()) == ("| name | share (of all) |\n|---|---:|\n| lirs \\| lfu | [1, 2] |\n| two | 3 % |\n")


def test_a_title_is_above_and_a_caption_below():
    assert titled(made()) == f"a title:\n\n{table(made())}"
    assert titled(made("what it is")) == f"a title:\n\n{table(made())}\nwhat it is.\n"


def test_a_block_is_replaced_and_the_rest_of_the_page_is_not():
    text = "before\n<!-- one -->\nold\n<!-- end of one -->\n<!-- two -->\n<!-- end of two -->\nafter"
    found = between(text, "one", "new\n", PAGE)
    assert found == "before\n<!-- one -->\n\nnew\n\n<!-- end of one -->\n<!-- two -->\n<!-- end of two -->\nafter"
    assert between(found, "one", "new\n", PAGE) == found


@pytest.mark.parametrize("text", ["no marks", "<!-- one -->\n", "<!-- end of one -->\n", "<!-- one --> inside a line"])
def test_a_page_without_the_block_is_named(text):
    with pytest.raises(CachezooError, match=r"docs/page\.md: has no lines <!-- one --> and <!-- end of one -->"):
        between(text, "one", "new\n", PAGE)
