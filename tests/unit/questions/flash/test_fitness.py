"""Whether a model pays: the words and figures of the protocol's result."""

from dataclasses import replace

import numpy as np
import pytest

from cachezoo.contest.verdict import Worth
from cachezoo.errors import TraceError
from cachezoo.questions.flash.fitness import steps_of, try_model
from cachezoo.questions.flash.options import BLOCKS, POLICIES, FlashOptions, WriteRate
from cachezoo.questions.flash.protocol import first_day, fit_and_judge
from cachezoo.sizes import Size
from tests.baleen_data import make_trace

RATE = WriteRate("25%", None, 0.25)
OPTIONS = FlashOptions([Size.parse("5%"), Size.parse("10%")], [RATE], POLICIES)
TRACE = make_trace(16_000, 5)
SEEDS = (3, 4)


@pytest.fixture(scope="module")
def trial():
    steps = []
    found = try_model(TRACE, BLOCKS, OPTIONS, SEEDS, lambda done, note="": steps.append(done))
    assert steps == list(range(2 * steps_of(SEEDS)))
    return found


def test_it_is_the_protocol_at_each_size(trial):
    assert [one.size for one in trial.found] == ["5%", "10%"]
    own = fit_and_judge(first_day(TRACE), BLOCKS, replace(OPTIONS, sizes=OPTIONS.sizes[1:]), RATE, SEEDS)
    last = trial.found[1]
    assert last.saved.value == own.saved().value and last.capacity_bytes == own.capacity * 4096
    assert min(last.by_seed) <= last.saved.value <= max(last.by_seed)
    theirs = own.kept[own.best].curve.mean()
    assert last.by_seed == pytest.approx([1 - one.trained.curve.mean() / theirs for one in own.trainings])


def test_rows_are_means_of_the_trainings(trial):
    for one in trial.found:
        named = {row["policy"]: row for row in one.rows()}
        assert {"baleen", one.judged.best, "opt"} <= set(named)
        assert named["baleen"]["disks_busy"] == pytest.approx(
            np.mean([own.trained.row.read_dt.mean for own in one.judged.trainings])
        )
        theirs = one.judged.kept[one.judged.best].row
        assert named[one.judged.best]["written_share"] == theirs.written_share and theirs.set_by == "kept"
        values = one.values()
        assert values["verdict"] in list(Worth) and values["rows"] == one.rows()


def test_the_sentence_says_train_it_or_run_the_rival(trial, monkeypatch):
    one = trial.found[0]
    for worth, words in ((Worth.YES, "Train it."), (Worth.NO, "does not pay here: run "), (Worth.UNSURE, "yet: run ")):
        monkeypatch.setattr(type(one), "worth", worth)
        assert words in one.says() and ("run " + one.rival in one.says()) == (worth != Worth.YES)
        assert "by seed" in one.says() and "where 25% was set" in one.says()
    assert [line.split(" ")[0] for line in trial.answers()] == ["5%", "10%"]


def test_where_there_is_nothing_to_learn_it_does_not_pay_and_the_rival_s_figures_are_there():
    once = make_trace(2000, 5)
    once = replace(once, offset=np.arange(len(once), dtype=np.int64) * BLOCKS.block_bytes)  # no block is read again
    found = try_model(once, BLOCKS, replace(OPTIONS, sizes=OPTIONS.sizes[:1]), SEEDS)
    (own,) = found.found
    assert own.worth == Worth.NO and own.saved is None and own.judged.trainings == ()
    assert (
        own.says().startswith(f"It does not pay here: run {own.rival} (a mounted cache ")
        and "nothing to learn" in own.says()
    )
    values = own.values()
    assert [values[name] for name in ("saved", "saved_interval", "peak_saved", "gap_closed", "written_share")] == 5 * [
        None
    ]
    assert [row["policy"] for row in own.rows()] == [*own.judged.kept, "opt"]
    assert found.answers() == [own.says()] and "trainings" not in found.notes()[0]


def test_a_trace_too_short_for_a_first_day_is_refused():
    with pytest.raises(TraceError, match="too few reads"):
        try_model(make_trace(6, 5), BLOCKS, OPTIONS, SEEDS)
