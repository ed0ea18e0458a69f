import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.arrays import MOST_NUMBERED
from cachezoo.errors import ConfigError
from cachezoo.sizes import BINARY, PAGE_BYTES, Size, human, human_pages, size_ticks
from cachezoo.traces import table

N = 12_345


@pytest.mark.parametrize(
    ("text", "pages"),
    [
        ("64MiB", 16_384), ("1.5GiB", 393_216), ("4KiB", 1), ("8191B", 1), ("1TiB", 268_435_456), ("1MB", 244),
        ("1GB", 244_140), ("4.1KB", 1), ("1TB", 244_140_625), ("10%", 1_234), ("100%", N), ("0.001%", 1),
        ("12.5%", 1_543), ("4096p", 4_096), ("4096.0p", 4_096), (" 64 mib ", 16_384), ("7P", 7),
        (f"{MOST_NUMBERED}p", MOST_NUMBERED),
    ],
)  # fmt: skip
def test_a_size_is_whole_pages(text, pages):
    assert Size.parse(text).pages(N) == pages
    assert str(Size.parse(text)) == text.strip()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1024", "--size '1024': a bare number could be pages or bytes; write 1024p for pages of 4 KiB"),
        ("0.1", "write 10% or 0.1GiB"), ("2.5", "write 2.5GiB or 2.5%"),
        ("64M", "unknown unit 'M'; use one of B, KiB"),
        ("64 MiBs", "unknown unit 'MiBs'"),
        ("0%", "above 0"), ("0MiB", "above 0"), ("101%", "at most 100 %"), ("1.5p", "no parts of a page; write 2p"),
        ("ten", "write a size as 64MiB"), ("", "write a size as"),
        ("-3p", "write a size as"), ("1,5GiB", "write a size as"), ("²p", "write a size as"),
        ("1e3p", "write a size as"),
        ("nan%", "write a size as"), ("9" * 5000 + "p", "write a size as"), ("5%\n6%", "write a size as"),
    ],
)  # fmt: skip
def test_what_is_no_size_is_refused_with_the_fix(text, said):
    with pytest.raises(ConfigError) as refused:
        Size.parse(text)
    assert said in str(refused.value) and len(str(refused.value)) < 200 and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1KB", "less than a page; the least is 4 KiB"), ("4095B", "less than a page"),
        (f"{MOST_NUMBERED + 1}p", "no cache has so many pages; the most is 8 TiB"), ("9999TiB", "no cache has so"),
        ("9" * 20 + "TiB", "no cache has so"),
    ],
)  # fmt: skip
def test_less_than_a_page_and_more_pages_than_can_be_are_refused_of_pages(text, said):
    with pytest.raises(ConfigError, match=f"^--ram '{text}': {said}"):
        Size.parse(text, "--ram").pages(N)


def test_the_message_names_what_the_size_is_of():
    with pytest.raises(ConfigError, match="--ram '64': a bare number"):
        Size.parse("64", "--ram")


@given(share=st.floats(0.0001, 100), n=st.integers(1, 10**8))
def test_a_percentage_rounds_and_is_never_empty(share, n):
    text = f"{share:.4f}%"
    assert Size.parse(text).pages(n) == max(1, round(float(text[:-1]) / 100 * n)) <= max(1, n)


@given(st.integers(1, MOST_NUMBERED))
def test_pages_and_bytes_say_the_same(pages):
    assert Size.parse(f"{pages}p").pages(1) == Size.parse(f"{pages * PAGE_BYTES}B").pages(1) == pages


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0, "0 B"), (512, "512 B"), (4096, "4 KiB"), (1.5 * 2**30, "1.5 GiB"), (1023.96 * 1024, "1 MiB"),
        (1023.94 * 1024, "1,023.9 KiB"), (40_960_000, "39.1 MiB"), (2**40, "1 TiB"), (5000 * 2**40, "5,000 TiB"),
    ],
)  # fmt: skip
def test_sizes_for_people(n_bytes, text):
    assert human(n_bytes) == text


@given(st.integers(0, 2**50))
def test_what_is_shown_is_near(n_bytes):
    number, unit = human(n_bytes).split(" ")
    shown = float(number.replace(",", "")) * 1024 ** BINARY.index(unit)
    assert shown == pytest.approx(n_bytes, rel=0.06)


def test_pages_for_people():
    assert human_pages(10_000) == "39.1 MiB (10,000 p)"


def test_a_page_is_the_traces():
    assert PAGE_BYTES == table.PAGE_BYTES


@pytest.mark.parametrize("high", [2**20 * 1.2, 2**20 * 1.7, 2**21, 2**23, 2**33, 2**45])
def test_ticks_are_labelled_in_units(high):
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    axes.plot(np.geomspace(2**20, high, 5), np.arange(5))
    size_ticks(axes)
    low, top = axes.get_xlim()
    shown = [axes.xaxis.get_major_formatter()(place) for place in axes.xaxis.get_majorticklocs() if low <= place <= top]
    assert 2 <= len(shown) <= 9 and len(set(shown)) == len(shown)
    assert all(label.split(" ")[1] in BINARY for label in shown)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        ("1000", "write 1000p for pages of 4 KiB or 1000MiB"),
        ("64", "64MiB or 64%"),
        ("200.5", "write 200.5GiB"),
    ],
)
def test_what_is_suggested_for_a_bare_number_is_allowed(number, said):
    with pytest.raises(ConfigError) as caught:
        Size.parse(number)
    assert str(caught.value).endswith(said)
