"""The synthetic golden sets of every kind: they pass every branch, are small, and are the same every time."""

from collections import Counter

import numpy as np
import pytest

from cachezoo.bundles.golden import golden_files
from cachezoo.bundles.reader import load
from cachezoo.serving.synthetic import GIVEN
from cachezoo.zoo.registry import bundling_of
from tests.mutants.sets import KINDS, POLICY, completed, stored

MOST_ROWS, MOST_BYTES = 1700, 550_000


def _made(kind):
    """The kind, its completed manifest, its sets, and what the reference makes of each."""
    bundle = load(stored(kind))
    own, manifest = bundling_of(bundle.kind).kind.load(), completed(kind, bundle.manifest)

    def serve(values):
        return own.serve(values, bundle.engine)

    sets = own.synthetic(manifest, serve)
    return own, manifest, sets, [own.recompute_synthetic(manifest, serve, one) for one in sets]


@pytest.mark.parametrize("kind", (*KINDS, POLICY))
def test_the_sets_pass_every_branch_are_small_and_the_same_every_time(kind):
    own, manifest, sets, made = _made(kind)
    passed = Counter()
    for one, found in zip(sets, made, strict=True):
        assert all(type(count) is int and count >= 0 for count in found.branches.values())
        passed.update(found.branches)
        assert found.decisions.shape[1] == len(own.synthetic_decisions(one.context))
        assert found.outputs.shape[1] == len(own.outputs(manifest))
        assert found.features.shape[1] == len(manifest["features"])
        assert (one.context.get("outputs") == GIVEN) == (one.given is not None)
        assert one.given is None or np.array_equal(found.outputs, one.given)
    assert [name for name in own.synthetic_wanted(manifest) if not passed[name]] == []
    assert sum(len(one.requests) for one in sets) <= MOST_ROWS
    files = [golden_files(one.requests, found, one.name) for one, found in zip(sets, made, strict=True)]
    assert sum(len(data) for each in files for data in each.values()) <= MOST_BYTES
    assert len({one.name for one in sets}) == len(sets)
    _, _, again, made_again = _made(kind)
    rules = [[(one.name, dict(one.changes), dict(one.context)) for one in each] for each in (sets, again)]
    assert rules[0] == rules[1]
    assert files == [golden_files(one.requests, found, one.name) for one, found in zip(again, made_again, strict=True)]
