"""Figures of a manifest's `measured` by one set of names, for MLflow, docs/zoo.md and `cachezoo zoo` alike."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from cachezoo import paths
from cachezoo.errors import ConfigError
from cachezoo.yaml_file import read_yaml
from cachezoo.zoo.registry import SYSTEMS

UNSEEN = "unseen"
# Of a model of all categories: its median at home is its headline, as a mean over programs that it never saw is none.
MEDIANS = {"home_gap_closed": "gap_closed", "program_gap_closed": f"{UNSEEN}/gap_closed"}
PER_TRACE = ("hit_ratio", "gap_closed", "gap_points")


def unseen_traces(root: Path) -> frozenset[str]:
    """Test traces of programs that no train trace came from, as params.yaml names them; none without one.

    Raises:
        CachezooError: params.yaml is damaged.
    """
    if not (root / paths.PARAMS).exists():
        return frozenset()
    found = read_yaml(root / paths.PARAMS)
    data = found.get("data") if isinstance(found, dict) else None
    traces = data.get("traces") if isinstance(data, dict) else None
    if not isinstance(traces, dict):
        raise ConfigError(f"{root / paths.PARAMS}: holds no data.traces; run `dvc repro compose`")
    return frozenset(key for key, entry in traces.items() if entry.get("unseen"))


def headline(section: Mapping[str, Any], kind: str, unseen: Collection[str] = ()) -> tuple[str, float] | None:
    """Name and value of the first headline of a model's kind; None where it was not measured.

    Args:
        section: the manifest's `measured`.
        kind: of the model.
        unseen: test traces of programs that no train trace came from.
    """
    names = SYSTEMS[kind].headline
    found = figures(section, names, unseen)
    return (names[0], found[names[0]]) if names[0] in found else None


def figures(
    section: Mapping[str, Any], headline: Collection[str], unseen: Collection[str] = ()
) -> dict[str, float]:  # fmt: skip
    """Flat figures of a manifest's `measured`: the same name for the same thing in every kind.

    Headlines keep their bare name (`hit_ratio`, `gap_closed` …): the mean over the test traces at home, those of
    programs that train traces came from. The rest has a prefix: `unseen/` the mean of a headline over the other test
    traces, `TRACE/` one trace's, `test/` other means over those at home, `flash/` other figures of the flash cache,
    `validation/`. An interval becomes NAME_low and NAME_high.

    Args:
        section: the manifest's.
        headline: of the model's system.
        unseen: test traces of programs that no train trace came from.
    """
    evaluated = section["evaluated"]
    validation = {**section["training"], **_scalars(evaluated.get("validation", {}))}
    flat = _prefixed("validation", {**_scalars(evaluated), **validation})
    test = evaluated.get("test", {})
    medians = {to: test[name] for name, to in MEDIANS.items() if name in test}
    # A mean over home and away is no headline: such a model has medians instead.
    bare = [name for name in headline if not (medians and name in PER_TRACE)]
    flat.update(_over_traces(test, "test", bare, unseen))
    flat.update(_over_traces(evaluated.get("flash", {}), "flash", headline, unseen))
    flat.update(medians)
    return {name: float(value) for name, value in flat.items() if value is not None}


def _prefixed(prefix: str, values: Mapping[str, Any], bare: Collection[str] = ()) -> dict[str, Any]:
    return {name if name in bare else f"{prefix}/{name}": value for name, value in values.items()}


def _scalars(values: Mapping[str, Any]) -> dict[str, float]:
    """Numbers and intervals of a mapping; texts, truth values and nested parts are left out."""
    out: dict[str, float] = {}
    for name, value in values.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            out[name] = value
        elif isinstance(value, list) and len(value) == 2 and all(isinstance(end, int | float) for end in value):
            stem = name.removesuffix("_interval")
            out[f"{stem}_low"], out[f"{stem}_high"] = value
    return out


def _over_traces(
    values: Mapping[str, Any], prefix: str, bare: Collection[str], unseen: Collection[str]
) -> dict[str, float]:  # fmt: skip
    """Figures given flat, or by trace: then the mean over those at home, that over the unseen, and each trace's own."""
    by_trace = {name: _scalars(part) for name, part in values.items() if isinstance(part, Mapping)}
    home = [part for trace, part in by_trace.items() if trace not in unseen]
    out = _prefixed(prefix, {**_scalars(values), **_means(home)}, bare)
    away = _means([part for trace, part in by_trace.items() if trace in unseen])
    out.update({f"{UNSEEN}/{name}": value for name, value in away.items() if name in bare})
    for trace, part in by_trace.items():
        out.update(_prefixed(trace, part))
    return out


def _means(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Of each figure, over the parts that have it."""
    found = {name: [part[name] for part in parts if name in part] for part in parts for name in part}
    return {name: sum(values) / len(values) for name, values in sorted(found.items())}
