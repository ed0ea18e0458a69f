"""Matplotlib's figures as inline SVG whose bytes depend on the figure alone."""

import hashlib
import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cachezoo.show.style import BLACK
from cachezoo.sizes import size_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Text stays text: it can be searched and copied, and takes the page's colour. Verdana is as wide as DejaVu Sans, for
# which matplotlib laid the figure out.
SETTINGS: dict[Any, Any] = {"svg.hashsalt": "cachezoo", "svg.fonttype": "none", "font.family": "DejaVu Sans"}
FONTS = "'DejaVu Sans', Verdana, sans-serif"
NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}
# Ink and lines follow the page, so that a figure can be read on a dark one.
FOLLOWING = {"#000000": "currentColor", BLACK.lower(): "currentColor", "#e3e3e3": "var(--grid)"}
FEW_SIZES = 3
PX = 4 / 3  # of CSS in a point
# A figure shrinks on a phone until its smallest text, exponents left out, has the least size; beyond that its box
# scrolls. Where there is room it grows a little.
LEAST_PT, EXPONENT_PT, GROWN = 9.0, 8.0, 1.25
FONT = re.compile(r"font-size: ([0-9.]+)px")


def few_sizes(axes: "Axes") -> None:
    """A logarithmic axis of bytes with so few labels that a narrow panel holds them."""
    from matplotlib.ticker import LogLocator

    size_ticks(axes)
    locator = axes.xaxis.get_major_locator()
    if isinstance(locator, LogLocator):  # sizes less than an octave apart have few labels as it is
        locator.set_params(numticks=FEW_SIZES)


def svg(figure: "Figure | Sequence[Figure]") -> str:
    """A figure, or several that a narrow page has one below another, as `<svg>` elements for `section.Drawing`.

    They have no script, no metadata, and nothing from outside.

    Args:
        figure: laid out in inches; its background is left out, so that the page's shows.

    Returns:
        The elements; ids in each begin with a digest of the drawing, so that two on a page do not meet.
    """
    return "\n".join(_svg(one) for one in ([*figure] if isinstance(figure, Sequence) else [figure]))


def _svg(figure: "Figure") -> str:
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context(SETTINGS):
        figure.savefig(buffer, format="svg", metadata=NO_METADATA, transparent=True)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<style type=.*?</style>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    text = text.replace("xlink:href", "href").replace("'DejaVu Sans'", FONTS)
    for colour, follows in FOLLOWING.items():
        text = re.sub(rf"(?<=: ){colour}(?=[;\"])", follows, text)
    return _sized(_own_ids(text)).strip()


def _own_ids(text: str) -> str:
    """Ids that something refers to, with a prefix of this drawing; the others are left out."""
    used = set(re.findall(r"""(?:url\(|href=")#([^")]+)""", text))
    prefix = f"d{hashlib.sha256(text.encode()).hexdigest()[:10]}-"
    text = re.sub(r' id="([^"]*)"', lambda found: f' id="{prefix}{found[1]}"' if found[1] in used else "", text)
    return re.sub(r"""((?:url\(|href=")#)([^")]+)""", rf"\g<1>{prefix}\g<2>", text)


def _sized(text: str) -> str:
    """The outermost element with its size in pixels of CSS, and without declarations that HTML does not need."""
    head, rest = text[: text.index(">")], text[text.index(">") :]
    width, height, box = (re.search(rf'{name}="([^"]+)"', head) for name in (" width", " height", "viewBox"))
    if width is None or height is None or box is None:
        raise AssertionError("matplotlib wrote an <svg> without size")
    across, down = (round(float(side[1].removesuffix("pt")) * PX) for side in (width, height))
    sizes = [size for size in map(float, FONT.findall(rest)) if size >= EXPONENT_PT]
    least = min(across, round(across * LEAST_PT / min(sizes, default=LEAST_PT)))
    style = f"min-width:{least}px;max-width:{round(GROWN * across)}px"
    return f'<svg viewBox="{box[1]}" width="{across}" height="{down}" style="{style}"{rest}'
