import html
import re
from collections import Counter

import pytest
from matplotlib.figure import Figure as Canvas

from cachezoo.show.drawing import svg
from cachezoo.show.formats import NONE
from cachezoo.show.page import Marker, Page, anchor, render
from cachezoo.show.section import Choice, Drawing, Figure, Section
from cachezoo.show.style import GREY, panels, settings
from cachezoo.show.table import Cell, Column, Table
from tests.html_page import FETCHED, HtmlPage

TERMS = {"hit ratio": "Found & <served>.", "promoted, champion": "It won.", "SSD": "A fast disk."}


def canvas(values: tuple[float, ...] = (1.0, 3.0, 2.0), image: bool = False) -> Canvas:
    with settings():
        figure, axes = panels(1, 2, 2.5)
        axes[0][0].plot(values, "o-", label="hits")
        axes[0][0].legend()
        axes[0][1].bar([0, 1, 2], values, color=GREY)
        if image:
            axes[0][1].imshow([[0.0, 1.0], [0.5, 0.2]])
        axes[0][0].set(xlabel="size, GiB", title="hits & <sizes>")
    return figure


def table() -> Table:
    measured, none = Cell("12 %", 0.12345, "[1, 2]", tone="good"), Cell(NONE)
    columns = [Column("policy", numeric=False), Column("hit ratio", "of accesses")]
    rows = [[Cell("lru", code=True), measured], [Cell("a.b", link="#x"), none]]
    return Table("Hit ratio of each policy", columns, rows)


def page() -> Page:
    fold = Section("inner", "Inner <b>", ["A champion's hit ratios."], parts=[Section("deep", "Deep", folded=True)])
    choices = [
        Choice("Page cache", "caching.web.lstm", "Deploy", "good", ["More SSD hits."], "import x\nx < y", "#inner"),
        Choice("Flash cache", "arc", "Don't", "bad"),
    ]
    drawings = [Drawing(svg(canvas()), "Hits over size.", "One drawing."), Drawing(svg(canvas((1, 2, 9))), "b", "two")]
    sections = [
        Section("x", "First", ["The hit ratio, and again the hit ratio: 3 < 4."], [table()], drawings, choices=choices),
        Section("y", "Second", ["Hit Ratio of an unpromoted model, promoted."], figures=[Figure("a b.png", "alt", "c")],
                html="<p>own</p>", parts=[fold], folded=True),
    ]  # fmt: skip
    facts = [("seed", "4"), ("size", "1 GiB & more")]
    return Page("What <now>?", ["Run it. The SSD lasts."], facts, sections, TERMS, "ab1")


@pytest.fixture(scope="module")
def text() -> str:
    return render(page())


@pytest.fixture(scope="module")
def read(text: str) -> HtmlPage:
    return HtmlPage(text)


def test_every_link_leads_somewhere_and_no_id_is_there_twice(read: HtmlPage) -> None:
    assert [name for name, count in Counter(read.ids).items() if count > 1] == []
    assert all(link.startswith("#") and link[1:] in read.ids for link in read.links)
    drawn = {given["href"][1:] for tag, given in read.given if tag == "use"}
    assert drawn and drawn <= set(read.ids)


def test_nothing_is_fetched_and_nothing_runs(text: str, read: HtmlPage) -> None:
    assert FETCHED.findall(text) == [] and "http" not in text
    assert not {"script", "link", "iframe", "object", "base", "form"} & set(read.tags)
    assert [name for _, given in read.given for name in given if name.startswith("on")] == []


@pytest.mark.parametrize("bad", ['<img src="//x/y">', "<a href='https://x'>", "@import 'x'", "b{a:url(x.png)}"])
def test_the_check_of_what_is_fetched_can_fail(bad: str) -> None:
    assert FETCHED.search(bad)


def test_texts_are_escaped(text: str, read: HtmlPage) -> None:
    assert "<title>What &lt;now&gt;?</title>" in text and "1 GiB &amp; more" in text and "x &lt; y" in text
    assert "3 < 4." in read.said and read.tags["served"] == 0 and "<p>own</p>" in text


def test_the_first_use_of_a_term_in_a_section_is_defined(text: str) -> None:
    marked = re.findall(r'<a class="term" href="#([^"]+)" title="([^"]+)">([^<]+)</a>', text)
    said = [(one, shown) for one, _, shown in marked]
    assert said == [
        ("term-ssd", "SSD"), ("term-hit-ratio", "hit ratio"), ("term-ssd", "SSD"),
        ("term-hit-ratio", "Hit Ratio"), ("term-promoted-champion", "promoted"),
    ]  # fmt: skip
    assert {html.unescape(meaning) for _, meaning, _ in marked} == set(TERMS.values())
    assert all(f'<dt id="{anchor(term)}"><dfn>{term}</dfn>' in text for term in TERMS)


@pytest.mark.parametrize("text", ["ssd+lirs", "next.SSD", "SSD.next", "pre-SSD", "SSDx", "SSD-like"])
def test_a_term_within_another_name_is_left_alone(text: str) -> None:
    assert Marker(TERMS)(text) == text and "<a" in Marker(TERMS)(f"{text}. SSD.")


def test_an_option_stays_on_one_line() -> None:
    said = Marker({})("Times are a model's; --device takes yours, --skip-bad-rows N -- not --.")
    assert said.count('<code class="option">') == 2
    assert '<code class="option">--device</code> takes' in said
    assert '<code class="option">--skip-bad-rows</code> N' in said
    assert '<code class="option">--by</code>' in Marker(TERMS)("An SSD: --by SSD")


def test_the_index_names_every_section(text: str) -> None:
    nav = text[text.index("<nav") : text.index("</nav>")]
    assert re.findall(r'href="#(\w+)">([^<]+)<', nav) == [("x", "First"), ("y", "Second"), ("words", "Words")]


def test_folds_close_what_is_folded(text: str) -> None:
    assert '<section id="y">\n<details>\n<summary><h2>Second</h2></summary>' in text
    assert '<details id="inner" open>\n<summary>Inner &lt;b&gt;</summary>' in text and '<details id="deep">' in text


def test_readers_that_do_not_see_are_told(read: HtmlPage) -> None:
    heads = [given.get("scope") for tag, given in read.given if tag == "th"]
    assert heads == ["col", "col", "row", "row"] and read.tags["caption"] == 1
    assert [given["alt"] for given in read.images] == ["alt"]
    told = [given["aria-label"] for _, given in read.given if given.get("role") == "img"]
    assert told == ["Hits over size.", "b"]
    boxes = [given for _, given in read.given if given.get("class") == "wide"]
    assert boxes and all(box["tabindex"] == "0" and box["aria-label"] for box in boxes)  # scrolled by keys


def test_a_cell_keeps_all_its_digits(read: HtmlPage) -> None:
    assert read.shown("Hit ratio of each policy", "lru") == [(0.12345, "12 %")]


def test_a_page_without_terms_facts_or_inputs_has_none() -> None:
    bare = render(Page("t", [], [], [Section("a", "A")]))
    read = HtmlPage(bare)
    assert "words" not in read.ids and read.tags["dl"] == 0 and "cachezoo-inputs" not in bare
    assert '<meta name="cachezoo-inputs" content="ab1">' in render(page())


def test_same_figure_same_bytes_whatever_a_matplotlibrc_says(monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib as mpl

    once = svg(canvas(image=True))
    monkeypatch.setitem(mpl.rcParams, "svg.fonttype", "path")
    monkeypatch.setitem(mpl.rcParams, "svg.hashsalt", "another")
    assert svg(canvas(image=True)) == once != svg(canvas((5.0, 1.0, 2.0), image=True))


def test_a_drawing_has_text_in_the_colour_of_the_page() -> None:
    drawn = svg(canvas())
    sides = 'width="864" height="240" style="min-width:864px;max-width:1080px"'
    assert drawn.startswith(f'<svg viewBox="0 0 648 180" {sides}')
    assert ">hits &amp; &lt;sizes&gt;</text>" in drawn and ">size, GiB</text>" in drawn
    assert "currentColor" in drawn and "var(--grid)" in drawn and "#000000" not in drawn and "#8c8c8c" in drawn
    for left_out in ("<?xml", "<!DOCTYPE", "<metadata", "<style", "<!--", "xlink", "xmlns", "date"):
        assert left_out not in drawn, left_out
    small = Canvas(figsize=(3, 2))
    small.text(0.5, 0.5, "of size", fontsize=12)
    assert 'width="288" height="192" style="min-width:216px;max-width:360px"' in svg(small)
    both = svg([small, Canvas(figsize=(6, 2))])
    assert both.count("<svg ") == 2
    assert Drawing(svg(small), "", "").fits and not Drawing(both, "", "").fits


def colours(css: str, block: str) -> dict[str, str]:
    return dict(re.findall(r"--(\w+): (#\w+)", css[css.index(block) :][: css[css.index(block) :].index("}")]))


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("block", [":root {", "@media (prefers-color-scheme: dark)", "@media print"])
def test_every_text_has_the_contrast_of_wcag_aa(text: str, block: str) -> None:
    css = text[text.index("<style>") : text.index("</style>")]
    found = colours(css, block)
    for ink in ("ink", "soft", "link", "good", "unsure", "bad"):
        for ground in ("paper", "panel"):
            light, dark = sorted((luminance(found[ink]), luminance(found[ground])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, ground)
