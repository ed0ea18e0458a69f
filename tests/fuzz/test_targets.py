"""Every reader is fuzzed, its valid inputs are valid, and a fixed set of damaged ones breaks no property."""

import os
from pathlib import Path
from random import Random

import pytest

from cachezoo.traces.formats import FORMATS
from cachezoo.traces.read import TraceFiles, read_either
from cachezoo.traces.recognise import choose
from cachezoo.traces.source import Source
from tests.fuzz.seeds import TRACES, trace_seeds
from tests.fuzz.target import attempt, inputs, warm
from tests.fuzz.targets import TARGETS
from tests.fuzz.trace_targets import ASKED
from tests.judges import remembering

REGRESSIONS = Path(__file__).parent / "regressions"
STORED = sorted(path for path in REGRESSIONS.glob("*/*") if path.is_file())
# Of one sequence, so that the many begin with the few; those take about a quarter of a minute for all targets.
INPUTS = (40, pytest.param(1000, marks=pytest.mark.long))
SEED = 1
WHOLE = 50  # one in so many of the mutants that are judged is of a whole bundle, the others have few golden rows
JUDGED = int(os.environ.get("CACHEZOO_JUDGED", "1000000"))


def test_every_format_has_seeds_and_a_target() -> None:
    assert set(TRACES) == set(FORMATS) - {"columns"}
    assert set(FORMATS) - set(ASKED) <= set(TARGETS) and {"columns-named", "binary_ids-u32"} <= set(TARGETS)


@pytest.mark.parametrize("fmt", sorted(set(FORMATS) - set(ASKED)))
def test_seeds_are_valid_traces_of_their_format(fmt: str, tmp_path: Path) -> None:
    path = tmp_path / "trace"
    for number, data in enumerate(trace_seeds(fmt)):
        path.write_bytes(data)
        if number == 0:
            assert choose(Source(path), "auto", {}).format.id == fmt
        assert len(read_either(TraceFiles([path], fmt))) > 0


def test_inputs_depend_on_the_seed_alone() -> None:
    for target in TARGETS.values():
        assert inputs(target, 5, 40) == inputs(target, 5, 40) != inputs(target, 6, 40), target.id


@pytest.mark.slow(seconds=60)
@pytest.mark.parametrize("count", INPUTS)
@pytest.mark.parametrize("name", TARGETS)
def test_damaged_inputs_break_no_property(name: str, count: int, tmp_path: Path) -> None:
    target = TARGETS[name]
    warm(target, tmp_path)
    found = {}
    for number, data in enumerate(inputs(target, SEED, count)):
        finding = attempt(target, data, tmp_path)
        if finding is not None:
            found[finding.key] = f"input {number}: {finding.said}"
    assert not found, "\n".join(found.values())


@pytest.mark.long
def test_both_readers_judge_sealed_bundles_alike(tmp_path: Path) -> None:
    """CACHEZOO_JUDGED mutants, none of them kept."""
    whole, short, rng = TARGETS["bundle-sealed"], TARGETS["bundle-judged"], Random(SEED)
    with remembering():
        for target in (whole, short):
            warm(target, tmp_path)
        for number in range(JUDGED):
            target = short if number % WHOLE else whole
            finding = attempt(target, target.mutate(rng.choice(target.seeds()), rng), tmp_path)
            assert finding is None, f"mutant {number}: {finding.said}"


def test_regressions_are_of_targets() -> None:
    assert {path.parent.name for path in STORED} <= set(TARGETS)


@pytest.mark.parametrize("path", STORED, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_was_found_once_stays_fixed(path: Path, tmp_path: Path) -> None:
    target = TARGETS[path.parent.name]
    warm(target, tmp_path)
    finding = attempt(target, path.read_bytes(), tmp_path)
    assert finding is None, finding.said
