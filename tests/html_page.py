"""A page of HTML as a test reads it: what is on it, and whether it is well formed."""

import re
from collections import Counter
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "img", "wbr", "link", "br", "hr", "input"}
# An address in an attribute that a browser fetches, or a style sheet's.
FETCHED = re.compile(
    r"""(?:src|srcset|href|data|poster|action)\s*=\s*["']?\s*(?:https?:)?//|url\(\s*["']?(?!#)|@import"""
)


class HtmlPage(HTMLParser):
    """Ids, links, images, labels and table cells of a page; fails where tags do not close in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.images: list[dict[str, str]] = []
        self.tags: Counter[str] = Counter()
        self.given: list[tuple[str, dict[str, str]]] = []  # every tag with its attributes
        self.cells: list[list[Any]] = []  # [caption, row's name, value, text]
        self.said = ""
        self._open: list[str] = []
        self._caption = self._name = ""
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._opened(tag, given)
        if tag not in VOID:
            self._open.append(tag)
        if tag == "caption":
            self._caption = ""
        if tag in ("td", "th"):
            self._name = "" if tag == "th" else self._name
            self.cells.append([self._caption, self._name, given.get("data-value"), ""])

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._opened(tag, {name: value or "" for name, value in attrs})

    def _opened(self, tag: str, given: dict[str, str]) -> None:
        self.tags[tag] += 1
        self.given.append((tag, given))
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if tag == "a" else []
        self.images += [given] if tag == "img" else []
        if tag == "a":
            assert "a" not in self._open, f"a link in a link: {given['href']}"

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self._open:
            return
        self.said += data
        if "caption" in self._open:
            self._caption += data
        if "th" in self._open and "small" not in self._open:
            self._name += data
        if self.cells and ("td" in self._open or "th" in self._open) and "small" not in self._open:
            self.cells[-1][3] += data

    def shown(self, caption: str, name: str) -> list[tuple[float, str]]:
        """Values and texts of a table's row."""
        cells = [cell[2:] for cell in self.cells if cell[0].startswith(caption) and cell[1] == name]
        return [(float(value), text.strip()) for value, text in cells if value is not None]
