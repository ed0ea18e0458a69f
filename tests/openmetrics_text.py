"""A naive reader of OpenMetrics 1.0 text that refuses what the specification does not allow; for tests."""

import math
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (\S+)")
SUFFIXES = {
    "counter": {"_total", "_created"},
    "gauge": {""},
    "info": {"_info"},
    "histogram": {"_bucket", "_count", "_sum", "_created"},
}


def labels_of(text):
    """Labels by name, in their order."""
    found, at = {}, 0
    while text and at < len(text):
        match = LABEL.match(text, at)
        assert match, f"no labels: {text!r} from {at}"
        assert match[1] not in found, f"a label twice: {text!r}"
        found[match[1]] = re.sub(r"\\(.)", lambda one: "\n" if one[1] == "n" else one[1], match[2])
        at = match.end()
        assert at == len(text) or (text[at] == "," and at + 1 < len(text)), f"no comma: {text!r}"
        at += 1
    return found


def value_of(text):
    return {"+Inf": math.inf, "-Inf": -math.inf, "NaN": math.nan}[text] if text[-1] in "fN" else float(text)


def read(text):
    """Families by name: kind, unit, help, and samples as (suffix, labels, value)."""
    assert text.endswith("\n# EOF\n") or text == "# EOF\n"
    families, current = {}, None
    for line in text[: -len("# EOF\n")].splitlines():
        assert line.strip() == line and line, f"blanks: {line!r}"
        if line.startswith("# "):
            _, word, name, *rest = line.split(" ", 3)
            assert re.fullmatch(NAME, name) and word in ("TYPE", "UNIT", "HELP")
            if name != current:
                assert name not in families, f"{name} is interleaved"
                families[name] = {"kind": None, "unit": "", "help": None, "samples": []}
                current = name
            key = {"TYPE": "kind", "UNIT": "unit", "HELP": "help"}[word]
            assert not families[name][key], f"{word} twice"
            assert not families[name]["samples"], f"{word} after samples"
            families[name][key] = rest[0]
            continue
        match = SAMPLE.fullmatch(line)
        assert match, f"no sample: {line!r}"
        family = families[current]
        assert match[1].startswith(current), f"{match[1]} is not of {current}"
        suffix = match[1][len(current) :]
        assert suffix in SUFFIXES[family["kind"]], f"{match[1]} of a {family['kind']}"
        family["samples"].append((suffix, labels_of(match[2] or ""), value_of(match[3])))
    for name, family in families.items():
        check(name, family)
    return families


def check(name, family):
    """What holds of a whole family."""
    if family["unit"]:
        assert name.endswith(f"_{family['unit']}"), f"{name} does not end with its unit"
    seen = [(suffix, tuple(sorted(labels.items()))) for suffix, labels, _ in family["samples"]]
    assert len(seen) == len(set(seen)), f"{name}: a sample twice"
    if family["kind"] == "counter":
        assert all(value >= 0 for _, _, value in family["samples"])
    if family["kind"] == "info":
        assert all(value == 1 for _, _, value in family["samples"])
    if family["kind"] == "histogram":
        groups = {}
        for suffix, labels, value in family["samples"]:
            own = tuple(sorted((key, text) for key, text in labels.items() if key != "le"))
            groups.setdefault(own, {}).setdefault(suffix, []).append((labels.get("le"), value))
        for group in groups.values():
            bounds = [value_of(le) for le, _ in group["_bucket"]]
            counts = [value for _, value in group["_bucket"]]
            assert bounds == sorted(set(bounds)) and bounds[-1] == math.inf
            assert counts == sorted(counts) and counts[-1] == group["_count"][0][1]
