"""Pictures are the same bytes each time, as PNG and as SVG."""

from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from cachezoo.show.style import settings, write


def drawn(path):
    with settings():
        canvas = Figure(figsize=(3, 2))
        axes = canvas.subplots()
        axes.plot([1, 2, 3], [1, 4, 9], label="a < b & c")
        axes.legend()
        write(canvas, path.with_suffix(".tmp"), path)
    return path.with_suffix(".tmp").read_bytes()


@pytest.mark.parametrize("name, begins", [("a.png", b"\x89PNG"), ("a.svg", b"<?xml")])
def test_the_name_chooses_the_format(tmp_path, name, begins):
    first = drawn(tmp_path / name)
    assert first.startswith(begins)
    assert drawn(tmp_path / name) == first


def test_an_svg_says_nothing_of_when_and_with_what_it_was_made(tmp_path):
    text = drawn(tmp_path / "a.svg")
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    assert b"dc:date" not in text and b"Matplotlib v" not in text
