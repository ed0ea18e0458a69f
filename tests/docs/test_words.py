"""The documents are short, and plain English."""

import pytest

from tests.docs.words import LIMITS, SITE, counts, limit, name_of, of_site, pages, phrases, prose, report, words


def test_no_page_is_longer_than_it_may_be(record_property):
    found = counts()
    record_property("words", report(found))
    assert set(LIMITS) <= set(found)
    long = {name: number for name, number in found.items() if (most := limit(name)) and number > most}
    assert not long, long
    assert of_site(found) <= SITE


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_a_page_is_plain_english(page):
    found = [f"{name_of(page)}:{line}: {phrase}" for line, phrase in phrases(page.read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)


def test_what_scripts_make_and_code_are_no_prose():
    made = "<!-- made -->\nnot these\n<!-- end of made -->\n"
    text = f"# Two words\n\n{made}\n```sh\nnor these\n```\nAnd `three` words & end.\n"
    assert words(prose(text)) == 6
    assert prose(text).count("\n") == text.count("\n")


def test_a_phrase_is_found_with_its_line_and_allowed_where_the_line_says_so():
    text = "It\nstands here.\n```\nbeside\n```\n`beside` [x](beside.md) besides understands\n" \
           "He is told, beside. <!-- allowed: beside -->\n"  # fmt: skip
    assert phrases(text) == [(2, "stands"), (7, "is told")]
