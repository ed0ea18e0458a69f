"""What a transform leaves in a trace's metadata: its step, and the traces that it was made of."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from typing import Any

from cachezoo.traces.objects import Either
from cachezoo.traces.table import TraceMeta

STEPS = "transforms"
SOURCES = "sources"


def recorded(meta: TraceMeta, step: str, said: dict[str, Any]) -> TraceMeta:
    """The metadata with one more step in `extra["transforms"]`, a JSON list of {step: what was asked and found}."""
    steps = [*json.loads(meta.extra.get(STEPS, "[]")), {step: said}]
    return replace(meta, extra={**meta.extra, STEPS: json.dumps(steps, sort_keys=True)})


def source_names(trace: Either) -> list[str]:
    """The names that a trace's requests get in the column `source` of a mixture.

    Its id; where it is a mixture itself, the id and the inner source's name with a slash between.
    """
    own = trace.meta.trace_id
    return [own] if trace.source is None else [f"{own}/{name}" for name in trace.source.names]


def _sources(trace: Either) -> list[dict[str, Any]]:
    """Provenance of each source of a trace."""
    inner = [""] if trace.source is None else list(trace.source.names)
    known = {entry["source"]: entry for entry in json.loads(trace.meta.extra.get(SOURCES, "[]"))}
    names = source_names(trace)
    return [{**known.get(one, asdict(trace.meta)), "source": name} for one, name in zip(inner, names, strict=True)]


def _common(values: Sequence[str], otherwise: str) -> str:
    return values[0] if len(set(values)) == 1 else otherwise


def mixture_meta(traces: Sequence[Either], trace_id: str, step: str, said: dict[str, Any]) -> TraceMeta:
    """Provenance of a trace made of several.

    Category and format are the traces' own where all agree, else ``mixed``; `source_sha256` is the digest of theirs,
    `extra["sources"]` (JSON) lists the whole provenance of each.
    """
    metas = [trace.meta for trace in traces]
    meta = TraceMeta(
        trace_id=trace_id,
        category=_common([meta.category for meta in metas], "mixed"),
        source_format=_common([meta.source_format for meta in metas], "mixed"),
        source_sha256=sha256("".join(meta.source_sha256 for meta in metas).encode()).hexdigest(),
        licence="; ".join(dict.fromkeys(meta.licence for meta in metas)),
        extra={SOURCES: json.dumps([entry for trace in traces for entry in _sources(trace)], sort_keys=True)},
    )
    return recorded(meta, step, said)
