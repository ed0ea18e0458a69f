"""The golden sets catch nearly all one-operator changes that decide otherwise on captured traces."""

import pytest

from tests.mutants.kept import DOCUMENT, counts, figures, section, survivors, table
from tests.mutants.mutants import Mutant
from tests.mutants.operators import DECIDING, all_changes, changes_of
from tests.mutants.score import scores, that_compile

LEAST = 0.98
SOURCE = """static int32_t more(int32_t count, bool all) {
    static const char *const text = "1 + 1"; /* 2 < 3 */
    if (count < LIMIT && !all)
        count++;
    free(text);
    return count;
}
"""


def _changed(source: str) -> set[str]:
    return {
        source[: one.place] + one.wrong + source[(one.place or 0) + len(one.right) :]
        for one in changes_of("one.c", source)
    }


def test_each_change_is_of_one_operator_constant_or_statement():
    changed = _changed(SOURCE)
    for right, wrong in (
        ("count < LIMIT", "count <= LIMIT"),
        ("count < LIMIT", "count > LIMIT"),
        ("LIMIT", "(LIMIT + 1)"),
        ("&&", "||"),
        ("!all", "all"),
        ("count++", "count--"),
        ("count++;", ";"),
        ("count++;", "{ count++; if (count > 255) count = 255; }"),
    ):
        assert SOURCE.replace(right, wrong) in changed
    assert len({one.name for one in changes_of("one.c", SOURCE)}) == len(list(changes_of("one.c", SOURCE)))
    assert not any("1 - 1" in text or "2 > 3" in text or "free" not in text for text in changed)


def test_a_change_that_is_no_c_is_left_out(tmp_path):
    source = "modes.c"
    one = Mutant("", source, "mode->kind == CZ_NO_PREFETCH ? 0 : per_block", "mode ? mode : ")
    other = Mutant("", source, "mode->kind == CZ_NO_PREFETCH ? 0 : per_block", "0")
    assert that_compile([one, other], tmp_path) == [other]


@pytest.mark.long
def test_what_decides_otherwise_on_captured_traces_is_caught(tmp_path):
    found = scores(tuple(DECIDING), tmp_path)
    shown = table({kind: counts(own) for kind, own in found.items()})
    assert [kind for kind, own in found.items() if own.share < LEAST] == [], shown
    listed = survivors()
    for kind, own in found.items():
        wrong, reasons = {one.name for one in own.wrong}, listed.get(kind, {})
        assert wrong - set(reasons) == set(), "python -m tests.mutants.score --write lists what survives"
        caught = {name for name, reason in reasons.items() if not reason.by_chance} - wrong
        assert caught == set(), "python -m tests.mutants.score --write takes out what is caught"


def test_each_wrong_change_that_survives_has_a_reason():
    kept = survivors()
    assert sorted(kept) == sorted(figures())
    for kind, reasons in kept.items():
        assert set(reasons) - {one.name for one in all_changes((kind,))} == set(), "no such change any more"
        assert [name for name, reason in reasons.items() if not reason.text] == []


def test_the_document_shows_the_figures_that_are_kept():
    assert section(figures()) in DOCUMENT.read_text(encoding="utf-8")
