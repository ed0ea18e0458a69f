"""Golden sets catch wrong runtimes: each mutant of the reference fails at least one set, and the reference none."""

import re

import pytest

from tests.mutants.mutants import MUTANTS
from tests.mutants.table import DOCUMENT, ROOT, caught_of

ROW = re.compile(r"^\| (.+?) \| (.+?) \|$", re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("kind", MUTANTS)
def test_each_mutant_fails_a_set(kind, tmp_path):
    caught = caught_of(kind, tmp_path, "first")
    assert caught[""] == [], "the reference does not reproduce its own sets without numba"
    assert list(caught) == ["", *(mutant.name for mutant in MUTANTS[kind])]
    assert [name for name, sets in caught.items() if name and not sets] == []
    table = DOCUMENT.read_text(encoding="utf-8").partition(f"<!-- mutants of {kind} -->")[2]
    rows = dict(ROW.findall(table.partition("<!-- end -->")[0]))
    listed = {name: (sets[0].partition(":")[0], rows[name]) for name, sets in caught.items() if name}
    wrong = [name for name, (one, cell) in listed.items() if f"`{one}`" not in cell and " more" not in cell]
    assert wrong == [], "python -m tests.mutants.table writes the document"


def test_a_mutant_has_one_name_and_stands_in_the_document():
    text = DOCUMENT.read_text(encoding="utf-8")
    for mutants in MUTANTS.values():
        names = [mutant.name for mutant in mutants]
        assert sorted(set(names)) == sorted(names)
        assert [name for name in names if f"| {name} |" not in text] == []


def test_each_changed_text_stands_once():
    for mutants in MUTANTS.values():
        for mutant in mutants:
            source = (ROOT / "src" / mutant.module.replace(".", "/")).with_suffix(".py").read_text(encoding="utf-8")
            assert source.count(mutant.right) == 1, mutant.name
            assert mutant.right != mutant.wrong
