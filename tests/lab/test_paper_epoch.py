"""Batches of an epoch, and a step that can be timed."""

from dataclasses import replace

from lab.notes.paper_epoch import batches_an_epoch, drawn, microseconds_a_decision, seconds_a_batch
from tests.rcrnn_data import FIT

SMALL = replace(
    FIT,
    label=FIT.label.model_copy(update={"capacities": [0.1, 0.2]}),
    model=FIT.model.model_copy(update={"units": 4, "feedback": True}),
)


def test_batches_are_of_every_trace_at_every_capacity() -> None:
    # 3 + 1 sequences of 100 at two capacities, in batches of 8; one request more begins another sequence.
    assert FIT.model.sequence == 100 and FIT.fit.batch == 8
    assert batches_an_epoch([300, 5], SMALL) == 1 and batches_an_epoch([301, 5], SMALL) == 2


def test_a_step_trains_on_inputs_of_the_model_s_width() -> None:
    sequences = drawn(4, SMALL, 1)
    assert (
        sequences.inputs.shape == (4, 100, len(SMALL.model.inputs) + 4) and sequences.begins.tolist()[1:] == [False] * 3
    )
    assert isinstance(seconds_a_batch(SMALL, 2), float)
    assert microseconds_a_decision(SMALL, 1) > 0
