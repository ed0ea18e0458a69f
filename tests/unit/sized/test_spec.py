"""The grammar of caches of objects: every text round-trips, and what is wrong is said in one line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.policies.components import Whole
from cachezoo.sized.spec import ADMISSION, EVICTION, Component, Spec, parse


@st.composite
def components(draw, table):
    one = table[draw(st.sampled_from(sorted(table)))]
    values = {}
    for parameter in one.parameters:
        low, high = max(parameter.low, -1e9), min(parameter.high, 1e9)
        if isinstance(parameter, Whole):
            value = draw(st.integers(int(low), int(high)))
        else:
            value = draw(st.floats(low, high))
        if value != parameter.default:
            values[parameter.name] = float(value)
    return Component(one.id, tuple(values.items()))


@given(eviction=components(EVICTION), admission=components(ADMISSION))
def test_a_text_reads_back(eviction, admission):
    spec = Spec(eviction, admission)
    assert parse(str(spec)) == spec
    assert parse(f" {str(spec).replace('+', ' + ')} ") == spec


def test_without_an_eviction_it_is_lru():
    assert parse("rejectx") == parse("rejectx+lru") == parse("rejectx(x=1) + lru")
    assert str(parse("acceptall+gdsf")) == "gdsf"
    assert str(parse("bysize(largest=4096)")) == "bysize(largest=4096)+lru"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gdfs", "gdfs is unknown, did you mean gdsf"),
        ("lru+next(n=8)", "next reads ahead by address, and objects have no neighbours"),
        ("lru+rejectx", r"write rejectx\+lru"),
        ("lru+fifo", "a cache has one eviction, not lru and fifo"),
        ("bysize(largest=0)", "largest = 0 is outside"),
        ("bysize(largest=1.5)", "no whole number"),
        ("coinflip(q=1)", "coinflip takes no q"),
        ("gdsf(1)", "1 stands where name=value should"),
        ("", r"policy \(empty\): a component is missing"),
        ("lru)(", "is no component"),
    ],
)
def test_what_names_no_cache_is_refused_with_the_reason(text, said):
    with pytest.raises(ConfigError, match=said) as refused:
        parse(text)
    assert "\n" not in str(refused.value)
