"""The model card: what a bundle is, in words and tables, from its manifest alone."""

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cachezoo import paths
from cachezoo.bundles.measured import promotion
from cachezoo.bundles.released import load
from cachezoo.contest.verdict import LEAST_SAVING, Worth, worth
from cachezoo.show.formats import percent
from cachezoo.zoo.base import Card
from cachezoo.zoo.registry import UNTRAINED, bundling_of

if TYPE_CHECKING:
    from rich.console import Group

FLASH_KIND = "admission"  # no page cache: hits in one would mean nothing
CAPACITIES = {"capacity_pages": "pages of 4 KiB", "capacity_segments": "segments, see geometry in model.json"}
CAPACITY = 16_384  # in snippets
SHOWN = 8  # train traces named; a card lists all of them below
# What a snippet in C uses, by the words that show it does, and its declaration.
DECLARED = {"&ticket": "cz_ticket ticket; cz_decision decision;", "&served": "cz_cache *cache; cz_access served;"}
REQUEST = """\
cz_request request = {.time_us = 0, .offset = 0, .size = 4096, .op = CZ_READ, .name_space = CZ_UNKNOWN,
                      .user = CZ_UNKNOWN, .flags = CZ_UNKNOWN};   /* microseconds, bytes */
request.volume = cz_intern(stream, CZ_VOLUME, "sda");"""

PARTS = {
    "validation": "Evaluated on validation",
    "test": "Evaluated on test",
    "flash": "In a flash cache on test, the others kept to the same write rate (disk-head seconds per second)",
}
COLUMNS = (
    "hit_ratio", "gap_closed", "ssd_writes_per_100_io", "mean_response_us", "accuracy", "vote_accuracy",
    "in_force_accuracy", "waf",
)  # fmt: skip
# Means over groups of test streams, and what these are.
LEADS = {
    "home_lead_points": "later days of what it was trained on",
    "setup_lead_points": "other set-ups of programs that it was trained on",
    "program_lead_points": "programs that it was not trained on",
}
OPERATOR = "What an operator would run is the way to run a classic that was best on the stream's first half."
RIVAL_COLUMNS = (
    "capacity_fraction", "hit_ratio", "rival", "rival_hit_ratio", "lead_points", "best_classic_hit_ratio",
    "optimum_hit_ratio", "gap_closed", "above_floor",
)  # fmt: skip


def model_card(manifest: Mapping[str, Any]) -> str:
    """Markdown text of `card.md`.

    Args:
        manifest: everything but `files`.
    """
    words = bundling_of(manifest["kind"]).words(manifest["policy"])
    return "\n".join(
        [
            f"# {manifest['id']} {manifest['version']}",
            "",
            words.what,
            "",
            *_facts(manifest),
            *_whom(manifest),
            *_limits(manifest),
            *_loading(manifest, words),
            *(_results_of_none(manifest) if _untrained(manifest) else [*_training(manifest), *_results(manifest)]),
        ]
    )


def _untrained(manifest: Mapping[str, Any]) -> bool:
    """Nothing was learned, so there are no traces and no figures."""
    return manifest["kind"] in UNTRAINED


def _results_of_none(manifest: Mapping[str, Any]) -> list[str]:
    """How to find out what a rule does that nobody has measured."""
    return [
        "## How well",
        "",
        f"Nothing was measured for this bundle. On a trace of yours, `cachezoo compare TRACE --policy "
        f"'{manifest['policy']['text']}'` says what it hits beside others, and `cachezoo recommend TRACE` which rule "
        "is best.",
        "",
    ]


def _table(header: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(cells) + " |" for cells in (header, *rows)]
    return [lines[0], "|" + "---|" * len(header), *lines[1:], ""]


def _number(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "-" if value is None else str(value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _loading(manifest: Mapping[str, Any], words: Card) -> list[str]:
    where = paths.bundle(manifest["id"])
    capacity = ", capacity=capacity_pages" if "capacity_pages" in words.runtime else ""
    return [
        "## How to load it",
        "",
        f"The paths are those of a clone, `{where}`; an archive (.zip) is opened by its own.",
        "",
        "In a cache, with libcachezoo (`make runtime`, `make wheel`), one request at a time:",
        "",
        "```python",
        "from cachezoo import runtime   # Python 3.9 or later, no numpy",
        *_sizes(words.runtime),
        *_opens_admission(manifest, 'runtime.open("{}")', words.runtime),
        f'model = runtime.open("{where}"{capacity})   # checks every file',
        'time_us, op, offset, size, volume = 0, "read", 0, 4096, "sda"   # a request: microseconds, bytes',
        words.runtime + "```",
        "",
        "Or in a function of C; link with -lcachezoo. Every call returns CZ_OK, or leaves a line in `error.text`:",
        "",
        "```c",
        "#include <cachezoo.h>",
        "",
        *_native(manifest, words.native),
        "```",
        "",
        "In Python with the whole package, many requests at once; one value a request, here of two:",
        "",
        "```python",
        "import numpy as np",
        "from cachezoo.bundles import load",
        "time_us, op = np.array([0, 900]), np.array([0, 1], np.uint8)   # microseconds; 0 read, 1 write",
        "offset, size = np.array([0, 4096]), np.array([4096, 8192])   # bytes",
        'volume, namespace, user, flags = ["sda"] * 2, [""] * 2, ["nginx"] * 2, ["R", "WS"]   # names',
        *_sizes(words.ask),
        *_opens_admission(manifest, 'load("{}").serving()', words.ask),
        "```",
        "",
        "```python",
        "from cachezoo.bundles import Coded, RequestBatch, load",
        f'model = load("{where}").serving()   # checked before use, fresh state',
        words.ask + "```",
        "",
        f"`.venv/bin/cachezoo models bundle verify {where}` checks every file and recomputes the golden rows.",
        "",
    ]


def _sizes(lines: str) -> list[str]:
    """The capacities that a snippet uses, with a value."""
    return [f"{name} = {CAPACITY:_}   # {unit}" for name, unit in _capacities(lines).items()]


def _capacities(lines: str) -> dict[str, str]:
    """The capacities that a snippet names, with their units."""
    return {name: unit for name, unit in CAPACITIES.items() if name in lines}


def _native(manifest: Mapping[str, Any], lines: str) -> list[str]:
    """The snippet in C: declarations, the bundle and its stream, the kind's own lines."""
    sizes = _capacities(lines)
    options = ".capacity = capacity_pages" if "capacity_pages" in sizes else "0"
    declared = [text for word, text in DECLARED.items() if word in lines]
    remembers = re.search(r"\bstream\b", lines) is not None  # else the bundle is used without a state
    code = [
        "cz_error error; cz_bundle *bundle;" + (" cz_stream *stream;" if remembers else ""),
        *declared,
        *(f"int64_t {name} = {CAPACITY};   /* {unit} */" for name, unit in sizes.items()),
        f'cz_open("{paths.bundle(manifest["id"])}", CZ_FP32, &bundle, &error);   /* checks every file */',
    ]
    if remembers:
        code += [f"cz_stream_new(bundle, &(cz_stream_options){{{options}}}, &stream, &error);", REQUEST]
    if "admission" in lines:
        first = paths.bundle(manifest["policy"]["admission"])
        code += [
            "cz_bundle *rule; cz_stream *admission;",
            f'cz_open("{first}", CZ_FP32, &rule, &error);',
            "cz_stream_new(rule, &(cz_stream_options){0}, &admission, &error);",
            'cz_intern(admission, CZ_VOLUME, "sda");   /* both streams are told names in one order */',
        ]
    return [*code, *lines.splitlines()]


def _opens_admission(manifest: Mapping[str, Any], opened: str, lines: str) -> list[str]:
    """The line that opens the admission that a snippet uses."""
    if "admission." not in lines:
        return []
    return [f"admission = {opened.format(paths.bundle(manifest['policy']['admission']))}"]


def state_of(cost: Mapping[str, Any]) -> str:
    """What a runtime has to keep, in words."""
    each = cost["state_bytes_per_key"]
    per_key = f" and {each} for each {cost['state_key']} remembered" if each else ""
    return f"{cost['state_bytes']} bytes{per_key}"


def _facts(manifest: Mapping[str, Any]) -> list[str]:
    cost, golden = manifest["cost"], manifest["golden"]
    arch = ", ".join(f"{name} {value}" for name, value in sorted(manifest["arch"].items()))
    features = ", ".join(feature["name"] for feature in manifest["features"])
    rows = [
        ["kind", manifest["kind"]],
        ["category", manifest["category"] or "all"],
        ["rule", f"`{manifest['policy']['text']}`"] if _untrained(manifest) else ["shape", arch],
        ["inputs", f"{len(manifest['features'])}: {features}"],
        [
            "one inference",
            f"{cost['macs']} multiply-accumulates, at most {cost['comparisons']} comparisons",
        ],
        [
            "size",
            f"{cost['parameters']} numbers, {cost['model_bytes']} bytes, state {state_of(cost)}",
        ],
        ["profile", manifest["profile"]],
        ["golden rows", f"{golden['rows']} ({branches_of(golden)})"],
    ]
    return _table(["", ""], rows)


def _training(manifest: Mapping[str, Any]) -> list[str]:
    traces = manifest["provenance"]["traces"]
    rows = [[trace["trace"], trace["role"], trace["licence"], trace["sha256"][:12]] for trace in traces]
    libraries = ", ".join(f"{name} {version}" for name, version in sorted(manifest["provenance"]["libraries"].items()))
    table = _table(["trace", "role", "licence", "sha256"], rows)
    return ["## Trained on", "", *table, f"With {libraries}.", ""]


def _results(manifest: Mapping[str, Any]) -> list[str]:
    measured = manifest["measured"]
    good, why = promotion(measured)
    lines = ["## How well", "", f"{'May be champion' if good else 'No champion'}: {why}.", ""]
    lines += _rivals(manifest)
    in_flash = manifest["kind"] == FLASH_KIND
    for trace, policies in sorted(measured["baselines"].items()) if not in_flash else ():
        if _holds_rivals(policies):
            continue
        shown = [name for name in COLUMNS if any(row.get(name) is not None for row in policies)]
        rows = [[str(row.get("policy")), *(_number(row.get(name)) for name in shown)] for row in policies]
        lines += [f"All policies on the test trace {trace}:", "", *_table(["policy", *shown], rows)]
    lines += _figures("On validation, when it was trained", measured["training"])
    for part, title in PARTS.items():
        if part == "test" and in_flash:
            continue
        figures = measured["evaluated"].get(part, {})
        lines += _figures(title, figures) if figures != measured["training"] else []
    return lines


def _cell(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else _number(value)


def _holds_rivals(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a trace's rows are of the model alone, at several capacities, each with its rival in it."""
    return bool(rows) and all("rival" in row for row in rows)


def _rivals(manifest: Mapping[str, Any]) -> list[str]:
    """One table of all test traces, for a model whose rows hold their rivals: at the capacity of its verdict."""
    at = manifest["calibration"].get("capacity")
    rows = [
        (trace, row)
        for trace, own in sorted(manifest["measured"]["baselines"].items())
        for row in own
        if _holds_rivals(own) and row["capacity_fraction"] == at
    ]
    found = [[trace, *(_cell(row[name]) for name in RIVAL_COLUMNS)] for trace, row in rows]
    title = "On each test stream's second half, and the way to run a classic that was best on the first:"
    return [title, "", *_table(["trace", *RIVAL_COLUMNS], found)] if found else []


def _figures(title: str, figures: Mapping[str, Any]) -> list[str]:
    rows = [[name, _number(value)] for name, value in sorted(_flat(figures).items())]
    return [f"{title}:", "", *_table(["figure", "value"], rows)] if rows else []


def _flat(figures: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in figures.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{prefix}{name}."))
        elif isinstance(value, list):
            flat[prefix + name] = "[" + ", ".join(_number(item) for item in value) + "]"
        else:
            flat[prefix + name] = value
    return flat


def _whom(manifest: Mapping[str, Any]) -> list[str]:
    """Where a model leads what an operator would run; nothing where it is not promoted, or no such lead is known."""
    points = [f"- {_lead(words, value)}" for words, value in _leads(manifest) if value > 0]
    good = bool(points) and promotion(manifest["measured"])[0]
    return ["## Whom it is for", "", *points, "", OPERATOR, ""] if good else []


def _leads(manifest: Mapping[str, Any]) -> list[tuple[str, float]]:
    """What each group of test streams is, and the mean lead there, in points of hit ratio."""
    test = manifest["measured"]["evaluated"].get("test", {}) if manifest["kind"] != FLASH_KIND else {}
    return [(words, test[name]) for name, words in LEADS.items() if test.get(name) is not None]


def _lead(words: str, value: float) -> str:
    return f"{words}: it leads what an operator would run there by {_number(value)} points of hit ratio in the mean."


def _limits(manifest: Mapping[str, Any]) -> list[str]:
    words = bundling_of(manifest["kind"]).words(manifest["policy"])
    points = [f"- Not for {words.avoid}."]
    if manifest["kind"] == FLASH_KIND:
        points.append(
            f"- Not for other workloads than {manifest['category']}: `.venv/bin/cachezoo models bundle drift "
            f"{paths.bundle(manifest['id'])} TRACE` says how far yours is from what it learned from; if an input has "
            "drifted, don't use it."
        )
        points.append(
            "- Not before your own trace has said that a model pays: `.venv/bin/cachezoo recommend --only flash TRACE "
            "--try` trains on its first day and judges by the rest."
        )
    good, why = promotion(manifest["measured"])
    if _untrained(manifest):
        points.append(f"- {words.safer} is the safer choice.")
    elif not good:
        points.append(f"- {words.safer} is the safer choice here: {why}.")
    points += [f"- Don't use it on {_lead(words, value)}" for words, value in _leads(manifest) if value <= 0]
    points += _not_shown(manifest)
    wanted, passed = bundling_of(manifest["kind"]).kind.load().wanted, manifest["golden"]["branches"]
    unseen = [name for name in wanted if not passed[name]]
    if unseen:
        names = ", ".join(unseen)
        points.append(f"- Its golden rows never pass {names}: they do not show that a runtime does that right.")
    if manifest["calibration"].get("unreached"):
        points.append("- Its threshold does not meet the write budget it was calibrated for; see `calibration`.")
    if manifest["calibration"].get("calibrated_on", "validation") != "validation":
        points.append(f"- Its threshold was set on {manifest['calibration']['calibrated_on']} traces.")
    return ["## When not to use it", "", *points, "", "## Limits", "", *_known(manifest), ""]


def _not_shown(manifest: Mapping[str, Any]) -> list[str]:
    """Test traces on which no gain is shown: in the cache that the model is for."""
    evaluated = manifest["measured"]["evaluated"]
    flash = evaluated.get("flash", {})
    what, key = ("saving of disk-head time", "best_mean_dt_saved") if flash else ("gain in hits", "gap_closed")
    points = []
    for trace, row in sorted((flash or evaluated.get("test", {})).items()):
        ends = row.get(f"{key}_interval") if isinstance(row, Mapping) else None
        if ends is not None and ends[0] <= 0:
            against = "best policy without a model" if flash else "best classic"
            shown = f"{_number(row[key])} [{_number(ends[0])}, {_number(ends[1])}]"
            nothing = flash and worth(row[key], (ends[0], ends[1]), LEAST_SAVING) == Worth.NO
            pays = "it does not pay: " if nothing else ""
            points.append(f"- On the test trace {trace} {pays}no {what} on the {against} is shown: {shown}.")
    return points


def _known(manifest: Mapping[str, Any]) -> list[str]:
    """What the figures are of: programs, cache, device times, trainings."""
    if _untrained(manifest):
        return [
            "- Its golden rows are generated: they show that a runtime follows the rule, not that the rule is good."
        ]
    calibration, provenance = manifest["calibration"], manifest["provenance"]
    trained = [trace["trace"] for trace in provenance["traces"] if trace["role"] == "train"]
    shown = ", ".join(trained[:SHOWN]) + (f" and {len(trained) - SHOWN} more" if len(trained) > SHOWN else "")
    points = [f"- It has learned from {shown} alone. Other programs may do worse: compare on a trace of your own."]
    if calibration.get("capacity") is not None:
        size = _number(100 * calibration["capacity"])
        points.append(
            f"- Chosen and judged with a page cache of {size} % of a trace's pages; {_other_sizes(calibration)}"
        )
    fraction = manifest["policy"].get("cache_fraction")
    if fraction is not None:
        share = _number(100 * fraction)
        points.append(
            f"- Calibrated for a flash cache of {share} % of the working set: the distinct segments of a trace."
        )
    if calibration.get("budget") is not None:
        share = _number(100 * calibration["budget"])
        points.append(f"- Its threshold is set for {share} % of the flash writes of a cache that admits everything.")
    seeds = ", ".join(f"{name} {seed}" for name, seed in sorted(provenance["seeds"].items()))
    many = len(provenance["seeds"])
    points.append(f"- {many} {'training' if many == 1 else 'trainings'}, by seed: {seeds}.")
    return points


def _other_sizes(calibration: Mapping[str, Any]) -> str:
    """What is known of a page cache of another size."""
    shares = [100 * row["capacity"] for row in calibration.get("by_capacity", ()) if "capacity" in row]
    if not shares:
        return "other sizes are open."
    low, high = _number(min(shares)), _number(max(shares))
    return (
        f"its thresholds are for {low} to {high} %. **Warning**: in a smaller or larger cache the nearest one decides, "
        "and how well is not known."
    )


def inspect(path: str | os.PathLike[str]) -> dict[str, Any]:
    """A bundle's manifest, its digests, and whether it may be champion.

    Args:
        path: a bundle's folder or .zip; it is checked first.

    Raises:
        BundleError: the bundle is damaged or unknown.
    """
    bundle = load(path)
    good, why = promotion(bundle.manifest["measured"])
    return {
        "digest": bundle.digest,
        "model_digest": bundle.model_digest,
        "profile": bundle.profile,
        "conformance": dict(bundle.conformance),
        "promotable": good,
        "why": why,
        "manifest": bundle.manifest,
    }


def branches_of(golden: Mapping[str, Any]) -> str:
    """How many golden rows pass each branch, in words."""
    return ", ".join(f"{name} {count}" for name, count in sorted(golden["branches"].items()))


def _shares(counts: Sequence[int]) -> str:
    """Counts as shares, those of 0 left out."""
    total = max(sum(counts), 1)
    return ", ".join(f"{place}: {percent(count / total)}" for place, count in enumerate(counts) if count) or "none"


def render(report: dict[str, Any]) -> "Group":
    """Tables of `inspect`'s report for a rich console."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    manifest = report["manifest"]
    facts = Table(title=f"{manifest['id']} {manifest['version']}", title_justify="left", show_header=False)
    cost, synthetic = manifest["cost"], manifest["golden"]["synthetic"]
    rows = {
        "digest": report["digest"],
        "model digest": report["model_digest"],
        "kind": manifest["kind"],
        "category": manifest["category"] or "all",
        "PROTOCOL": manifest["PROTOCOL"],
        "profile": report["profile"],
        "conformance": ", ".join(f"{name} {share}" for name, share in report["conformance"].items()),
        "champion": f"{'may be' if report['promotable'] else 'no'}: {report['why']}",
        "inference": f"{cost['macs']} multiply-accumulates, at most {cost['comparisons']} comparisons",
        "state": state_of(cost),
        "golden rows": f"{manifest['golden']['rows']}, by branch: {branches_of(manifest['golden'])}",
        "synthetic sets": ", ".join(f"{one['name']} {one['rows']}" for one in synthetic) or "none",
        "trained on": ", ".join(f"{t['trace']} ({t['role']})" for t in manifest["provenance"]["traces"]),
    }
    if manifest["kind"] == "streams":
        how = f"{cost['parameters'] // 2} ranges of chunks of 32 KiB"
        if manifest["policy"]["type"] == "lifetime_placement":
            parts, classes = len(manifest["policy"]["part_starts"]) + 1, len(manifest["policy"]["life_cuts"]) + 1
            how = f"{classes} classes of predicted lifetime, the longest-lived in {parts} parts by address"
        rows["streams"] = f"{manifest['arch']['streams']}, {how}"
        rows["training's writes by stream"] = _shares(manifest["calibration"]["writes_by_stream"])
    for name, value in rows.items():
        facts.add_row(name, Text(str(value)))
    # A forest takes its inputs as they are: mean 0 and scale 1 in every row would say nothing.
    numbers = ("mean", "scale") if any((one["mean"], one["scale"]) != (0, 1) for one in manifest["features"]) else ()
    features = Table("feature", "formula", "unit", *numbers, title="features", title_justify="left")
    for feature in manifest["features"]:
        scaled = (f"{feature[name]:.6g}" for name in numbers)
        features.add_row(feature["name"], feature["formula"], feature["unit"], *scaled)
    files = Table("file", "bytes", "sha256", title="files", title_justify="left")
    for entry in manifest["files"]:
        files.add_row(entry["path"], str(entry["size"]), entry["sha256"])
    return Group(facts, features, files)
