"""Recomputes golden sets by a runtime with one changed text: `worker.py kind bundle out.json all|first`.

`first` ends a runtime at the first set that it does not reproduce, the shortest sets first.

Each runtime is a fork of a process that has not imported it yet. All run without numba, whose compiled kernels would
hide a change for seconds.
"""

import importlib.machinery
import importlib.metadata
import json
import os
import pickle
import signal
import sys
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
import onnxruntime  # noqa: F401 - loaded once for all forks

from tests.mutants.mutants import MUTANTS, Mutant
from tests.mutants.sets import completed

LONGEST_S = 60  # a runtime that does not end is caught, too
TOLERANCE = 1e-5


class _Changed(importlib.machinery.SourceFileLoader):
    """Compiles a module from its source with one text changed."""

    mutant: Mutant

    def get_code(self, fullname: str) -> CodeType:
        source = Path(self.path).read_text(encoding="utf-8")
        count = source.count(self.mutant.right)
        if count != 1:
            message = f"{self.path}: {self.mutant.name}: {self.mutant.right!r} stands there {count} times, not once"
            raise AssertionError(message)
        return compile(source.replace(self.mutant.right, self.mutant.wrong), self.path, "exec", dont_inherit=True)


class _Finder:
    """Finds the one module that is changed."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """The spec of the changed module, None of any other."""
        if fullname != self._mutant.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        assert spec is not None and spec.origin is not None, fullname
        loader = _Changed(fullname, spec.origin)
        loader.mutant = self._mutant
        spec.loader = loader
        return spec


def _without_numba() -> None:
    version = importlib.metadata.version

    def absent(name: str) -> str:
        if name == "numba":
            raise importlib.metadata.PackageNotFoundError(name)
        return version(name)

    importlib.metadata.version = absent


def _runtime(bundle: str) -> tuple[Any, dict[str, Any], Any]:
    """The kind, its manifest, and what serves a changed one."""
    from cachezoo.bundles.reader import load
    from cachezoo.systems.registry import bundling_of

    loaded = load(bundle)
    kind: Any = bundling_of(loaded.kind).kind.load()
    engine = loaded.engine
    return kind, completed(loaded.kind, loaded.manifest), lambda manifest: kind.serve(manifest, engine)


def _reference(bundle: str) -> list[tuple[Any, Any, Any, Any]]:
    """The sets, with the features, outputs and decisions that the reference gives."""
    kind, manifest, serve = _runtime(bundle)
    found = []
    for one in kind.synthetic(manifest, serve):
        made = kind.recompute_synthetic(manifest, serve, one)
        found.append((one, made.features, made.outputs, made.decisions))
    return found


def _pickled(sets: list[tuple[Any, Any, Any, Any]]) -> tuple[int, bytes]:
    """How many sets, and the sets, the shortest first."""
    return len(sets), pickle.dumps(sorted(sets, key=lambda one: len(one[0].requests)))


def _differs(want: Any, have: Any, tolerance: float) -> bool:
    return want.shape != have.shape or not bool((np.abs(want.astype(float) - have.astype(float)) <= tolerance).all())


def _caught_by(bundle: str, sets: bytes, most: int) -> list[str]:
    """Names of the sets that a runtime does not reproduce, `most` of them, with what differs first."""
    kind, manifest, serve = _runtime(bundle)
    found = []
    for one, features, outputs, decisions in pickle.loads(sets):
        if len(found) == most:
            break
        try:
            made = kind.recompute_synthetic(manifest, serve, one)
        except Exception as error:  # noqa: BLE001 - a wrong runtime may fail in any way
            found.append(f"{one.name}: {type(error).__name__}")
            continue
        if _differs(features, made.features, 0.0):
            found.append(f"{one.name}: features")
        elif _differs(outputs, made.outputs, TOLERANCE):
            found.append(f"{one.name}: outputs")
        elif _differs(decisions, made.decisions, 0.0):
            found.append(f"{one.name}: decisions")
    return found


def _forked(act: Any) -> Any:
    """What `act` returns, in a process of its own; a text where it does not end in time."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reads)
        signal.alarm(LONGEST_S)
        try:
            answer = pickle.dumps((True, act()))
        except BaseException as error:  # noqa: BLE001 - the parent raises it
            answer = pickle.dumps((False, f"{type(error).__name__}: {error}"))
        with os.fdopen(writes, "wb") as pipe:
            pipe.write(answer)
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    if not answer:
        return ["does not end"]
    fine, value = pickle.loads(answer)
    if not fine:
        raise RuntimeError(value)
    return value


def _as_mutant(mutant: Mutant, bundle: str, sets: bytes, most: int) -> list[str]:
    sys.meta_path.insert(0, _Finder(mutant))  # type: ignore[arg-type]
    return _caught_by(bundle, sets, most)


def main(kind: str, bundle: str, out: str, how: str) -> None:
    """Write, by mutant, the sets that catch it, and by "" those that the reference itself does not reproduce."""
    _without_numba()
    count, sets = _forked(lambda: _pickled(_reference(bundle)))  # this process does not look into them: see above
    caught = {"": _forked(lambda: _caught_by(bundle, sets, count))}
    most = 1 if how == "first" else count
    for mutant in MUTANTS[kind]:
        caught[mutant.name] = _forked(lambda mutant=mutant: _as_mutant(mutant, bundle, sets, most))
    Path(out).write_text(json.dumps(caught, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
