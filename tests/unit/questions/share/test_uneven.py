"""Applications that end early, or of which little counts, are told."""

import numpy as np

from cachezoo.questions.share.counting import counting
from cachezoo.questions.share.mix import Application, mix_pages
from cachezoo.questions.share.uneven import uneven


def mix(*lengths):
    return mix_pages(
        [Application(f"a{k}", np.arange(length, dtype=np.int32), length) for k, length in enumerate(lengths)]
    )


def said(*lengths, warmup="0"):
    own = mix(*lengths)
    return uneven(own, counting(own, warmup))


def test_the_one_that_is_left_has_the_cache_to_itself():
    assert said(100, 1900, warmup="100") == [
        "a0 ends at 10 % of the run; after that a1 has the cache to itself; 50 of the 100 references of a0 count"
    ]


def test_several_that_go_on():
    assert said(50, 500, 500)[0].startswith("a0 ends at 14 % of the run; after that the 2 that go on have the cache; ")


def test_few_count_of_one_that_goes_on_for_long():
    assert said(600, 700, warmup="500,0") == ["only 100 of the 600 references of a0 count"]


def test_of_many_the_first_to_end():
    lines = said(40, 30, 20, 10, 50, 2000)
    assert [line.split()[0] for line in lines] == ["a3", "a2", "a1", "2"]
    assert lines[-1] == "2 more applications end early too, or few of their references count"


def test_nothing_of_like_ones():
    assert said(500, 600, warmup="100") == []
