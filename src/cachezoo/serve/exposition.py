"""Metrics as text: OpenMetrics 1.0, and the older Prometheus format 0.0.4 that node_exporter's textfiles are in."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
Labels = Mapping[str, str]


@dataclass
class Family:
    """A metric family.

    Attributes:
        name: without the suffix of a sample; it ends with the unit, if there is one.
        kind: counter, gauge, info or histogram.
        help: a sentence.
        unit: seconds, bytes, ratio or none.
        samples: suffix (``_total``, ``_bucket`` …), labels, value.
    """

    name: str
    kind: str
    help: str
    unit: str = ""
    samples: list[tuple[str, Labels, float]] = field(default_factory=list)

    def add(self, value: float | None, **labels: str) -> Family:
        """A sample of a counter, gauge or info; None adds nothing."""
        if value is not None:
            self.samples.append(({"counter": "_total", "info": "_info"}.get(self.kind, ""), labels, value))
        return self

    def histogram(self, bounds: Sequence[float], buckets: Sequence[int], total: float, **labels: str) -> Family:
        """A histogram.

        Args:
            bounds: upper ends of the buckets but the last, which has none; ascending.
            buckets: counts up to each bound, and of all.
            total: sum of what was observed.
            labels: of it.
        """
        for bound, count in zip([*bounds, math.inf], buckets):
            self.samples.append(("_bucket", {**labels, "le": number(float(bound))}, count))
        self.samples += [("_count", labels, buckets[-1]), ("_sum", labels, float(total))]
        return self


def number(value: float) -> str:
    """A value as both formats have it; bounds of buckets are written as floats."""
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return "NaN" if math.isnan(value) else repr(value)


def _escaped(text: str, quotes: bool) -> str:
    text = text.encode(errors="replace").decode()  # a path may be no UTF-8
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if quotes else text


def _sample(name: str, labels: Labels, value: float) -> str:
    inside = ",".join(f'{key}="{_escaped(text, True)}"' for key, text in labels.items())
    return f"{name}{{{inside}}} {number(value)}" if inside else f"{name} {number(value)}"


def openmetrics(families: Sequence[Family]) -> str:
    """The text of OpenMetrics 1.0 (section "Text format"), with its end mark."""
    lines = []
    for one in families:
        lines.append(f"# TYPE {one.name} {one.kind}")
        if one.unit:
            lines.append(f"# UNIT {one.name} {one.unit}")
        lines.append(f"# HELP {one.name} {_escaped(one.help, True)}")
        lines += [_sample(one.name + suffix, labels, value) for suffix, labels, value in one.samples]
    return "\n".join([*lines, "# EOF\n"])


def prometheus(families: Sequence[Family]) -> str:
    """The text of Prometheus, which has no infos or units, and counters by the names of their samples."""
    lines = []
    for one in families:
        name = one.name + {"counter": "_total", "info": "_info"}.get(one.kind, "")
        lines.append(f"# HELP {name} {_escaped(one.help, False)}")
        lines.append(f"# TYPE {name} {'gauge' if one.kind == 'info' else one.kind}")
        lines += [_sample(one.name + suffix, labels, value) for suffix, labels, value in one.samples]
    return "\n".join([*lines, ""])
