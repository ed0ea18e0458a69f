"""The text that names a hierarchy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.questions.tiers.hierarchy import Hierarchy, parse_by, parse_hierarchy

CACHES = ("lru", "hcalfu", "rejectx+lru", "rejectx(x=2)+hcalfu", "coinflip(p=0.3)+twoq(kin=0.5)", "lirs")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("hca", "hcalfu | tb=64K | lru"),
        ("  HCALFU|tb = 64 KiB|lru".lower().replace("kib", "KiB"), "hcalfu | tb=64K | lru"),
        ("arc|tb=64K|rejectx", "arc | tb=64K | rejectx+lru"),
        ("arc | tb=0 | lru", "arc | lru"),
        ("arc | tb=1048576B | lru", "arc | tb=1M | lru"),
        ("arc | tb=12K | lru", "arc | tb=12K | lru"),
        ("lru", "lru"),
        ("acceptall+hcalfu", "hcalfu"),
        ("rejectx + hcalfu", "rejectx+hcalfu"),
        ("promotion:lru|rejectx+fifo", "promotion: lru | rejectx+fifo"),
        ("inclusive : lru | lru", "inclusive: lru | lru"),
        ("follow(experts=lru|arc) | tb=4K | lirs", "follow(experts=lru|arc) | tb=4K | lirs"),
        ("bundle | bundle", "bundle+lru | bundle+lru"),
        ("bundle+hcalfu | tb=4K | bundle + twoq(kin=0.5)", "bundle+hcalfu | tb=4K | bundle+twoq(kin=0.5)"),
        ("l2arc", "l2arc"),
        ("l2arc( )", "l2arc"),
        ("l2arc(rate=8MiB, headroom=2, feed=200)", "l2arc"),
        ("l2arc(feed=1000,rate=512k)", "l2arc(rate=512K, feed=1000)"),
        ("l2arc(headroom=2.5, rate=1234567)", "l2arc(rate=1234567, headroom=2.5)"),
    ],
)
def test_a_text_has_one_canonical_form(text, canonical):
    found = parse_hierarchy(text)
    assert str(found) == canonical
    assert parse_hierarchy(canonical) == found
    assert hash(found) == hash(parse_hierarchy(canonical))


def test_a_comma_in_brackets_separates_no_hierarchies():
    found = parse_by("l2arc(rate=4M, headroom=3), lru | lru,lru | lru")
    assert list(map(str, found)) == ["l2arc(rate=4M, headroom=3)", "lru | lru"]


def test_the_parts_are_read():
    assert parse_hierarchy("hca") == Hierarchy("exclusive", "hcalfu", 65536, "lru")
    assert parse_hierarchy("arc").kind == "ram"
    assert not parse_hierarchy("arc").has_ssd
    assert parse_hierarchy("promotion: arc | lru").kind == "promotion"
    assert parse_hierarchy("bundle | lru").is_decided and parse_hierarchy("lru | bundle").is_decided
    assert not (parse_hierarchy("hca").is_decided or parse_hierarchy("l2arc").is_decided)
    assert parse_hierarchy("l2arc(rate=1M)").options == {"rate": 1 << 20, "headroom": 2, "feed": 200}
    parts = parse_hierarchy("lru | rejectx(x=2)+hcalfu").ssd_composition()
    assert (parts.eviction.id, parts.admission.id, dict(parts.admission_values)) == ("hcalfu", "rejectx", {"x": 2})


@given(kind=st.sampled_from(["", "promotion: ", "inclusive: "]), ram=st.sampled_from(CACHES),
       ssd=st.sampled_from(CACHES), pages=st.integers(0, 300))  # fmt: skip
def test_what_is_written_is_read_back(kind, ram, ssd, pages):
    buffer = f"tb={4 * pages}K | " if pages and not kind else ""
    found = parse_hierarchy(f"{kind}{ram} | {buffer}{ssd}")
    assert parse_hierarchy(str(found)) == found
    assert found.buffer_bytes == (4096 * pages if buffer else 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "hierarchy (empty): write RAM | SSD"),
        ("lru |", "hierarchy lru |: SSD is empty; write a cache such as lru"),
        ("| lru", "RAM is empty; write a cache such as lru"),
        ("lru | nolru", "SSD: policy nolru: nolru is unknown"),
        ("lru | tb=5K | lru", "tb = 5K: a buffer holds whole pages of 4 KiB, at most 1 GiB; write 0, 16K, 64K or 1M"),
        ("lru | tb=2G | lru", "tb = 2G: a buffer holds whole pages of 4 KiB, at most 1 GiB"),
        ("lru | tb=64Q | lru", "tb = '64Q' is no size; write it as 64K or 1M (powers of 1024)"),
        ("lru | 64K | lru", "64K stands where the transient buffer should; write tb=64K"),
        ("lru | tb=4K", "SSD: policy tb=4K: tb=4K is no component"),
        ("lru | tb=4K | lru | lru", "4 tiers; write RAM | SSD"),
        ("promotion: lru | tb=4K | lru", "3 tiers of promotion; write RAM | SSD"),
        ("inclusive: lru", "1 tier of inclusive; write RAM | SSD"),
        ("promotoin: lru | lru", "promotoin stands before a colon, did you mean promotion?"),
        ("a: b: c", "a stands before a colon; kinds named so: promotion, inclusive"),
        ("belady | lru", "RAM: belady is a bound, which no tier can be; name a cache"),
        ("belady", "RAM: belady is a bound, which no tier can be; name a cache"),
        ("lru+next | lru", "RAM: lru+next prefetches, which hierarchies do not; leave +next out"),
        ("lru | follow(experts=lru|arc)", "SSD: follow(experts=lru|arc) follows several caches"),
        ("lru | hca", "SSD: hca is a whole hierarchy; it stands alone"),
        ("l2arc | lru", "RAM: l2arc is a whole hierarchy; it stands alone"),
        ("hca(reset=1)", "RAM: hca is a whole hierarchy; it stands alone"),
        ("lru | rejectx+bundle+lru", "SSD: policy rejectx+bundle+lru: bundle is unknown"),
        ("lru | bundle+rejectx+lru", "SSD: a cache has one admission, not bundle and rejectx; name one"),
        ("bundle+follow | lru", "RAM: follow takes no admission: each of its experts has its own; leave bundle out"),
        ("l2arc(x=2)", "x=2 is no value of l2arc; it takes rate, headroom, feed"),
        ("l2arc(2)", "2 is no value of l2arc; it takes rate, headroom, feed"),
        ("l2arc(feed=1, feed=2)", "feed=2 is given twice"),
        ("l2arc(feed=often)", "l2arc: feed = often is no number"),
        ("l2arc(feed=nan)", "l2arc: feed = nan is no number"),
        ("l2arc(rate=fast)", "rate = 'fast' is no size; write it as 64K or 1M"),
        ("l2arc(rate=4K)", "l2arc: rate=4K is less than a page in each 200 ms; raise rate, or feed more rarely"),
    ],
)
def test_bad_texts_are_refused_in_one_line(text, message):
    with pytest.raises(ConfigError) as found:
        parse_hierarchy(text)
    assert message in str(found.value)
    assert "\n" not in str(found.value)
    assert str(found.value).startswith(f"hierarchy {text or '(empty)'}")


WORDS = ("lru", "hcalfu", "bundle", "rejectx(x=2)", "hca", "l2arc", "promotion", "tb=", "64K", "1e9", "follow",
         "belady", "|", ":", "+", "(", ")", ",", "=", " ", "-", "é", "\t", "rate", "next")  # fmt: skip


@given(words=st.lists(st.sampled_from(WORDS), max_size=12))
def test_any_text_is_a_hierarchy_or_refused_in_one_line(words):
    try:
        found = parse_hierarchy("".join(words))
    except ConfigError as error:
        assert "\n" not in str(error)
        return
    assert parse_hierarchy(str(found)) == found
