import pytest

from cachezoo.errors import ConfigError
from cachezoo.questions.page.rcrnn import Rcrnn, parse, rcrnn_of


@pytest.mark.parametrize(
    ("text", "expected", "canonical"),
    [
        ("rcrnn", Rcrnn(), "rcrnn"),
        (" rcrnn ( category = auto ) ", Rcrnn(), "rcrnn"),
        ("rcrnn()", Rcrnn(), "rcrnn"),
        ("rcrnn(category=web)", Rcrnn("web"), "rcrnn(category=web)"),
        ("rcrnn( vote_every_s = 60, category=auto)", Rcrnn(None, 60), "rcrnn(vote_every_s=60)"),
        ("rcrnn(vote_every_s=0)", Rcrnn(None, 0), "rcrnn(vote_every_s=0)"),
        ("rcrnn(vote_every_s=-1)", Rcrnn(), "rcrnn"),
    ],
)
def test_a_text_says_whose_model_decides(text, expected, canonical):
    found = parse(text)
    assert found == expected and str(found) == canonical and parse(canonical) == found


def test_other_policies_are_not_its_own():
    ids = ["lru", "rcrnn", "rejectx+arc", "follow(experts=lru|arc)", "own:rcrnn", "rcrnn2", "rcrnn(category=web)"]
    assert rcrnn_of(ids) == {"rcrnn": Rcrnn(), "rcrnn(category=web)": Rcrnn("web")}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rcrnn+next", "policy rcrnn+next: rcrnn has an admission and queues of its own; name it alone"),
        ("rcrnn(web)", "web stands where name=value should; it takes category"),
        ("rcrnn(categry=web)", "takes no categry, did you mean category?; it takes category"),
        ("rcrnn(category=web, category=mail)", "category is given twice"),
        ("rcrnn(vote_every_s=0.5)", "vote_every_s = 0.5"),
        ("rcrnn(vote_every_s=1048577)", "vote_every_s = 1.04858e+06 is outside [-1, 1.04858e+06]; seconds from the"),
        ("rcrnn(category=web, vote_every_s=60)", "vote_every_s is for category=auto; the model of web needs no votes"),
        ("rcrnn(category=)", "category = nothing is unknown; use auto"),
    ],
)
def test_what_it_does_not_take_is_refused(text, said):
    with pytest.raises(ConfigError) as error:
        parse(text)
    assert said in str(error.value) and "\n" not in str(error.value)
