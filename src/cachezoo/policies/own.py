"""One's own parts of a cache: a Python class, function or forest, named `module:name` where a part of the zoo stands.

`mymodule:MRU` is looked for in the working folder and where Python finds modules, `./mine.py:MRU` in that file. An
eviction is a class of `(capacity)` with `hit(page)`, `miss(page)` and `evict() -> page`; an admission is one with
`admit(page) -> bool`, or decides for all requests at once: a function of their inputs, or a forest with `predict`.
docs/python.md has examples. What is in memory alone is named by `named`, for this process.
"""

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from cachezoo.arrays import Bool
from cachezoo.errors import CachezooError, ConfigError
from cachezoo.features.sequence import COMMON_NAMES, Memory, raw_columns
from cachezoo.kernels.outcome import NONE
from cachezoo.policies.admissions import ACCEPT_ALL, by_decision
from cachezoo.policies.components import Admission, Composition, Eviction, Values
from cachezoo.policies.engine import simulate
from cachezoo.policies.evictions.classics import LRU
from cachezoo.policies.grammar import split
from cachezoo.policies.registry import ONE, OWN, Policy
from cachezoo.policies.registry import composed as policy_from
from cachezoo.policies.spec import EVICTION, FORM, Component, Spec, parse
from cachezoo.policies.stream import Stream
from cachezoo.serving.requests import batch_of
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import Trace

if TYPE_CHECKING:
    import pandas as pd

HERE = "own"
EVICTION_STEPS = ("hit", "miss", "evict")
ADMIT, PREDICT = "admit", "predict"
THRESHOLD = 0.5
# What the inputs of a request remember, as the zoo's page-cache models take them.
MEMORY = Memory(memory_accesses=1 << 20, window_accesses=1 << 16, region_bytes=1 << 20, region_bits=16, clip=6.0)
RAW = ("time_us", "offset", "bytes")
INPUTS = (*COMMON_NAMES, *RAW)
Bind = Callable[[Trace, PageAccesses], Composition]
_NAMED: dict[str, Any] = {}


def named(part: Any) -> str:  # noqa: ANN401 - a class, function or forest
    """A text that names a part in memory, in this process alone."""
    name = str(getattr(part, "__name__", type(part).__name__)).strip("<>")
    known = next((key for key, own in _NAMED.items() if own is part), None)
    if known is None:
        known = next(free for free in (name, *(f"{name}_{k}" for k in count(2))) if free not in _NAMED)
        _NAMED[known] = part
    return f"{HERE}{OWN}{known}"


def loaded(text: str) -> Any:  # noqa: ANN401 - a class, function or forest
    """What `module:name`, `file.py:name` or the text of `named` names.

    Raises:
        ConfigError: there is no such module, it cannot be imported, or it has nothing of that name.
    """
    place, _, name = text.rpartition(OWN)
    if place == HERE and name in _NAMED:
        return _NAMED[name]
    try:
        module = _module(place)
    except Exception as error:
        raise ConfigError(f"policy {text}: {place} cannot be imported: {type(error).__name__}: {error}") from error
    if not hasattr(module, name):
        has = ", ".join(key for key, own in vars(module).items() if isinstance(own, type) and not key.startswith("_"))
        raise ConfigError(f"policy {text}: {place} has no {name or 'name'}; its classes are {has or 'none'}")
    return getattr(module, name)


def _module(place: str) -> Any:  # noqa: ANN401 - a module
    if not place.endswith(".py"):
        here = os.getcwd()
        sys.path.insert(0, here)
        try:
            return importlib.import_module(place)
        finally:
            sys.path.remove(here)
    path = Path(place).resolve()
    if not path.is_file():
        raise FileNotFoundError("no such file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Kept:
    """The state of a part that is a class: its object, and of an eviction the pages that the cache holds."""

    def __init__(self, name: str, part: Any, capacity: int) -> None:  # noqa: ANN401 - an object of theirs
        self.name, self.part, self.capacity, self.pages = name, part, capacity, set[int]()


def has(state: Kept, page: int) -> bool:
    """Step of an eviction: is the page in the cache?"""
    return int(page) in state.pages


def touch(state: Kept, page: int, i: int) -> None:
    """Step of an eviction: a hit."""
    state.part.hit(int(page))


def insert(state: Kept, page: int, i: int) -> int:
    """Step of an eviction: a miss that enters, in place of the page that `evict` names where the cache is full.

    Raises:
        ConfigError: it names a page that the cache does not hold.
    """
    victim = NONE
    if len(state.pages) >= state.capacity:
        victim = state.part.evict()
        if victim not in state.pages:
            raise ConfigError(f"{state.name}: evict() gave {victim!r}, which the cache does not hold; give one it does")
        state.pages.remove(victim)
    state.pages.add(int(page))
    state.part.miss(int(page))
    return victim


def admit(state: Kept, page: int, i: int) -> bool:
    """Step of an admission: may the page enter?"""
    return bool(state.part.admit(int(page)))


def saw(state: Kept, page: int, i: int) -> None:
    """Step of an admission: a hit, which it is told where it has a method for it."""
    if hasattr(state.part, "hit"):
        state.part.hit(int(page))


def _made(part: Any, name: str) -> Callable[[Stream, int, Values], Kept]:  # noqa: ANN401 - a class of theirs
    return lambda _stream, capacity, _values: Kept(name, part(int(capacity)), int(capacity))


def inputs(trace: Trace, pages: PageAccesses) -> "pd.DataFrame":
    """What is known of each request as it comes, a row each: the zoo's inputs, and time, offset and bytes.

    Their formulas are in `cachezoo.features.sequence`; `size` is the logarithm of the `bytes`.
    """
    import pandas as pd

    common = raw_columns(batch_of(trace), pages, [], MEMORY).common
    table = {name: common[:, k] for k, name in enumerate(COMMON_NAMES)}
    return pd.DataFrame(table | {"time_us": trace.time_us, "offset": trace.offset, "bytes": trace.size})


def decided(part: Any, name: str, trace: Trace, pages: PageAccesses) -> Bool:  # noqa: ANN401 - theirs
    """bool[n]: which requests may enter, by a function of their inputs or a forest; a score from 0.5 on enters.

    Raises:
        ConfigError: a forest of other inputs, or another number of decisions than requests.
    """
    frame = inputs(trace, pages)
    if hasattr(part, PREDICT):
        asks: Any = getattr(part, "feature_name", None) or getattr(part, "feature_names_in_", INPUTS)
        wanted = [str(column) for column in (asks() if callable(asks) else asks)]
        unknown = [column for column in wanted if column not in INPUTS]
        if unknown:
            raise ConfigError(f"{name}: its inputs {', '.join(unknown[:4])} are unknown; known are {', '.join(INPUTS)}")
        found = np.asarray(part.predict(frame[wanted]))
    else:
        found = np.asarray(part(frame))
    if found.shape != (len(trace),):
        raise ConfigError(f"{name}: decisions of shape {found.shape} for {len(trace)} requests; give one for each")
    decisions: Bool = found if found.dtype == np.bool_ else found >= THRESHOLD
    return decisions


def policy_of(text: str) -> Policy:
    """A cache with parts of one's own; what their code raises is told in a line.

    Raises:
        ConfigError: as `composed`.
    """
    spec, parts, bind = composed(text)
    name = str(spec)

    def made(own: Composition) -> Policy:
        plain = policy_from(name, "composed", own.eviction.title, own, spec)
        # Kernels of the zoo beside a class of theirs are compiled; a class itself is not called before it runs.
        trial = replace(own, admission=ACCEPT_ALL, admission_values={})
        return replace(
            plain,
            simulate=lambda stream, capacity: guarded(lambda: plain.simulate(stream, capacity), name),
            hits=lambda page_ids, n_pages, capacity: guarded(lambda: plain.hits(page_ids, n_pages, capacity), name),
            trial=lambda: None if own.eviction.has is has else simulate(trial, ONE, 1),
        )

    if bind is None:
        return made(parts)

    def refuse(*_: object) -> NoReturn:
        raise ConfigError(f"policy {name}: it decides by the requests of a trace; simulate and compare run it")

    bound = bind
    return replace(made(parts), simulate=refuse, hits=refuse, bind=lambda trace, pages: made(bound(trace, pages)))


def composed(text: str) -> tuple[Spec, Composition, Bind | None]:
    """A cache with own parts: its text's spec, its composition, and how it is bound to a trace, where it has to be.

    Raises:
        ConfigError: a part that there is not, or is none; two of a kind; a bound, follower or virtual I/O cache beside.
    """
    pieces = [piece.strip() for piece in split(text, "+")]
    others = ["".join(piece.split()) for piece in pieces if OWN not in piece]
    spec = parse("+".join(others)) if others else Spec(Component(LRU.id))
    names_eviction = any(piece.partition("(")[0] in EVICTION for piece in others)
    composition, bind = spec.composition(), None
    for piece in (piece for piece in pieces if OWN in piece):
        part = loaded(piece)
        if all(hasattr(part, step) for step in EVICTION_STEPS):
            if names_eviction:
                raise ConfigError(f"policy {text}: a cache has one eviction; a policy is {FORM}")
            names_eviction, title = True, _title(part)
            composition = replace(
                composition, eviction=Eviction(piece, title, _made(part, piece), has, touch, insert), eviction_values={}
            )
            spec = replace(spec, eviction=Component(piece))
        elif hasattr(part, ADMIT) or hasattr(part, PREDICT) or (callable(part) and not isinstance(part, type)):
            if composition.admission is not ACCEPT_ALL or bind is not None:
                raise ConfigError(f"policy {text}: a cache has one admission; a policy is {FORM}")
            spec = replace(spec, admission=Component(piece))
            if hasattr(part, ADMIT):
                own = Admission(piece, _title(part), _made(part, piece), admit, saw)
                composition = replace(composition, admission=own, admission_values={})
            else:
                bind = _binding(part, piece)
        else:
            steps = f"an eviction has {', '.join(EVICTION_STEPS)}; an admission {ADMIT}, {PREDICT}, or is a function"
            raise ConfigError(f"policy {text}: {piece} is no part of a cache: {steps}")
    if bind is None:
        return spec, composition, None
    inner, base = bind, composition
    return spec, base, lambda trace, pages: replace(base, admission=inner(trace, pages).admission)


def _binding(part: Any, name: str) -> Bind:  # noqa: ANN401 - theirs
    def bound(trace: Trace, pages: PageAccesses) -> Composition:
        return Composition(LRU, by_decision(guarded(lambda: decided(part, name, trace, pages), name), name))

    return bound


def _title(part: Any) -> str:  # noqa: ANN401 - theirs
    return next(iter(str(part.__doc__ or "").strip().splitlines()), "one's own")


def guarded(run: Callable[[], Any], name: str) -> Any:  # noqa: ANN401 - what runs
    """What `run` gives.

    Raises:
        ConfigError: their code raised something; it is the cause.
    """
    try:
        return run()
    except CachezooError:
        raise
    except Exception as error:
        at = error.__traceback__
        while at is not None and at.tb_next is not None:
            at = at.tb_next
        where = "" if at is None else f" in {Path(at.tb_frame.f_code.co_filename).name}, line {at.tb_lineno}"
        raise ConfigError(f"policy {name}: {type(error).__name__}{where}: {error}") from error
