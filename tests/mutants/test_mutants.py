"""Golden sets catch wrong runtimes: each mutant of libcachezoo fails at least one set, and the right one none."""

import re

import pytest

from tests.mutants.mutants import MUTANTS, Mutant
from tests.mutants.switched import LIBRARY, switched
from tests.mutants.table import TABLES, caught, document

SOURCE = """#include "one.h"
#define FACTOR 2

static int twice(int value, const int *other) {
    return FACTOR * value + *other;
}
"""


@pytest.mark.slow(seconds=60)
def test_each_wrong_runtime_fails_a_set_and_the_tables_say_which(tmp_path):
    found = caught(tmp_path)
    assert {kind: by_name[""] for kind, by_name in found.items()} == {kind: [] for kind in MUTANTS}
    assert [
        (kind, name) for kind, by_name in found.items() for name, sets in by_name.items() if name and not sets
    ] == []
    said = document(found) == TABLES.read_text(encoding="utf-8")
    assert said, "python -m tests.mutants.table writes the tables"


def test_a_mutant_has_one_name():
    for mutants in MUTANTS.values():
        names = [mutant.name for mutant in mutants]
        assert sorted(set(names)) == sorted(names)


def test_each_mutant_is_compiled_in():
    everywhere = {mutant for mutants in MUTANTS.values() for mutant in mutants}
    for name in {mutant.source for mutant in everywhere}:
        own = list(enumerate((mutant for mutant in everywhere if mutant.source == name), 1))
        text = switched((LIBRARY / "src" / name).read_text(encoding="utf-8"), own)
        assert sorted(map(int, re.findall(r"(?:\(cz_mutant == |case )(\d+)\b", text))) == [number for number, _ in own]
    assert [mutant.name for mutant in everywhere if mutant.right == mutant.wrong] == []


def test_a_function_has_a_changed_copy_and_a_value_two():
    changes = [
        (7, Mutant("", "", "FACTOR * value", "value")),
        (8, Mutant("", "", "#define FACTOR 2", "#define FACTOR 3")),
    ]
    assert (
        switched(SOURCE, changes)
        == """extern int cz_mutant;
#include "one.h"
#define FACTOR (cz_mutant == 8 ? 3 : 2)

static int twice__7(int value, const int *other);
static int twice(int value, const int *other) {
    switch (cz_mutant) {
    case 7: return twice__7(value, other);
    }
    return FACTOR * value + *other;
}

#line 1 "7"
static int twice__7(int value, const int *other) {
    return value + *other;
}
#line 1 "right"
"""
    )


@pytest.mark.parametrize("text", ["FACTOR", "three", "#include"])
def test_a_text_that_stands_twice_or_nowhere_or_in_no_function_is_refused(text):
    with pytest.raises(AssertionError):
        switched(SOURCE, [(1, Mutant("", "", text, "1"))])
