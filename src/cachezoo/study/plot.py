"""A study, a search or a comparison of two studies as a plot."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cachezoo.io import atomic_file
from cachezoo.show import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINE, LEAST = 0.2, 1.1  # inches: a line of a setting's name, and the frame of a panel with its title and axis
LABEL, AXIS = 30, 46  # letters in a line of a setting's name, of an axis
SLICES, SLICE, TRACE = 3, 2.4, 2.6  # panels of a search in a row, and heights
TRIAL, BEST = 16, 60


def draw_study(found: Mapping[str, Any], path: Path) -> None:
    """Draw each setting's seeds, mean and interval, a panel for each category; above them a search's trials."""
    with style.settings():
        if "search" in found:
            canvas = _search_canvas(found)
        else:
            categories = found["categories"]
            heights = [_height([wrapped(row["setting"]) for row in rows]) for rows in categories.values()]
            canvas, axes = style.panels(len(heights), 1, sum(heights), heights)
            number = found["seeds"]
            shown = (
                f"{number} seeds, their mean and its 90 % interval" if number > 1 else "one seed, which has no interval"
            )
            for panel, (category, rows) in zip(axes[:, 0], categories.items(), strict=True):
                _settings(panel, rows, "choosing")
                panel.set_title(f"{category}: {shown}", loc="left")
                panel.set_xlabel(_figure(found, "choosing"))
        with atomic_file(path) as temporary:
            style.write(canvas, temporary, path)


def draw_comparison(found: Mapping[str, Any], path: Path) -> None:
    """Draw the differences of the figure that chooses with their intervals, a panel for each category."""
    with style.settings():
        categories = found["categories"]
        names = {category: [wrapped(row["setting"]) for row in own["settings"]] for category, own in categories.items()}
        heights = [_height(own) for own in names.values()]
        canvas, axes = style.panels(len(heights), 1, sum(heights), heights)
        for panel, (category, own) in zip(axes[:, 0], categories.items(), strict=True):
            for place, row in enumerate(own["settings"]):
                one = row["figures"]["choosing"]
                if one["mean"] is not None:
                    colour = style.BLUE if one["apart"] else style.GREY
                    panel.plot([one["low"], one["high"]], [place, place], color=colour, linewidth=2)
                    panel.plot(one["mean"], place, "D", color=colour, markersize=5)
            panel.axvline(0.0, color=style.BLACK, linewidth=0.8)
            _say_equal(panel, [row["figures"]["choosing"] for row in own["settings"]])
            _lines(panel, names[category])
            less = "less" if found["lower_is_better"]["choosing"] else "more"
            panel.set_title(f"{category}: {found['files'][1]} less {found['files'][0]}", loc="left")
            panel.set_xlabel(f"{found['figures']['choosing']} ({less} is better; 90 % interval)")
        with atomic_file(path) as temporary:
            style.write(canvas, temporary, path)


def _say_equal(panel: "Axes", figures: Sequence[Mapping[str, Any]]) -> None:
    """Where no setting differs at all, say it instead of numbers about 0, whose size would be matplotlib's choice."""
    known = [one for one in figures if one["mean"] is not None]
    if any(one[name] for one in known for name in ("mean", "low", "high")):
        return
    panel.set_xticks([0.0], ["0"])
    said = "no difference in any seed" if known else "too few seeds to compare"
    panel.text(0.02, 0.5, said, transform=panel.transAxes, va="center")


def wrapped(setting: str) -> str:
    """A setting's name in short lines, of each key its last part."""
    parts = (word.partition("=") for word in setting.split())
    words = [f"{key.split('.')[-1]}={value}" if equals else key for key, equals, value in parts]
    return "\n".join(textwrap.wrap(" ".join(words), LABEL))


def _height(labels: Sequence[str]) -> float:
    """Inches of a panel with some settings' names."""
    return LEAST + LINE * sum(label.count("\n") + 2 for label in labels)


def _figure(found: Mapping[str, Any], name: str) -> str:
    lower = found["lower_is_better" if name == "choosing" else "judging_lower_is_better"]
    return "\n".join(textwrap.wrap(f"{found[name]} ({'less' if lower else 'more'} is better)", AXIS))


def _lines(panel: "Axes", labels: Sequence[str]) -> None:
    """A line for each setting, the first on top."""
    panel.set_yticks(range(len(labels)), labels)
    panel.set_ylim(len(labels) - 0.5, -0.5)
    panel.grid(axis="y", visible=False)


def _settings(panel: "Axes", rows: Sequence[Mapping[str, Any]], name: str) -> None:
    """Points of the seeds, a diamond at the mean, a bar for its interval; params.yaml's in another colour."""
    for place, row in enumerate(rows):
        own, colour = row[name], style.VERMILION if row["is_params_yaml"] else style.BLUE
        if own["mean"] is None:
            continue
        panel.plot(own["each"], [place] * len(own["each"]), "o", color=colour, alpha=0.45, markersize=4)
        if own["low"] is not None:
            panel.plot([own["low"], own["high"]], [place, place], color=colour, linewidth=2)
        panel.plot(own["mean"], place, "D", color=colour, markersize=6)
    _lines(panel, [wrapped(row["setting"]) for row in rows])


def _search_canvas(found: Mapping[str, Any]) -> Any:  # noqa: ANN401 - matplotlib's figure
    """Trials in their order; each key against the figure; and the final figures, what chose and what judges."""
    from matplotlib.figure import Figure

    search = found["search"]
    (rows,) = found["categories"].values()
    slices = -(-len(search["axes"]) // SLICES)
    heights = [TRACE, *[SLICE] * slices, _height([wrapped(row["setting"]) for row in rows])]
    canvas = Figure(figsize=(style.WIDTH, sum(heights)), layout="constrained")
    parts: Any = canvas.subfigures(len(heights), 1, height_ratios=heights)
    _trials(parts[0].subplots(), found)
    for number in range(slices):
        axes = search["axes"][number * SLICES :][:SLICES]
        panels = parts[1 + number].subplots(1, SLICES, squeeze=False, sharey=True)[0]
        panels[0].set_ylabel("mean of a trial\n(a later one is lighter)")
        for panel, axis in zip(panels, axes, strict=False):
            _slice(panel, found, axis)
        for panel in panels[len(axes) :]:
            panel.set_visible(False)
    finals = parts[-1].subplots(1, 2, squeeze=False, sharey=True)[0]
    for panel, name in zip(finals, ("choosing", "judging"), strict=True):
        _settings(panel, rows, name)
        panel.set_xlabel(_figure(found, name))
        panel.locator_params(axis="x", nbins=5)
    finals[0].set_title(f"what chose: {found['seeds']} fresh seeds", loc="left")
    finals[1].set_title("what judges: the same seeds", loc="left")
    return canvas


def _trials(panel: "Axes", found: Mapping[str, Any]) -> None:
    """Each trial's seeds and mean, and the best mean so far."""
    search, best, steps = found["search"], None, []
    for trial in search["trials"]:
        seen = [value for value in trial["each"] if value is not None]
        panel.plot([trial["number"]] * len(seen), seen, "o", color=style.LIGHT, markersize=3, zorder=1)
        if trial["mean"] is None:
            continue
        ahead = best is None or (trial["mean"] < best if found["lower_is_better"] else trial["mean"] > best)
        best = trial["mean"] if ahead else best
        steps.append((trial["number"], best))
    able = [trial for trial in search["trials"] if trial["mean"] is not None]
    panel.scatter([t["number"] for t in able], [t["mean"] for t in able], s=TRIAL, color=style.BLUE, zorder=3)
    panel.step(*zip(*steps, strict=True), where="post", color=style.AMBER, linewidth=1.2, label="best so far")
    chosen = next(trial for trial in search["trials"] if trial["number"] == search["chosen"])
    panel.scatter(
        [chosen["number"]], [chosen["mean"]], s=BEST, facecolors="none", edgecolors=style.VERMILION, zorder=4,
        label="chosen, by all its seeds",
    )  # fmt: skip
    (category,) = found["categories"]
    title = f"{category}: {len(search['trials'])} trials of {search['trial_seeds']} seeds (grey) and their means"
    panel.set_title(title, loc="left")
    panel.set_xlabel("trial")
    panel.set_ylabel("\n".join(textwrap.wrap(_figure(found, "choosing"), LABEL)))
    panel.locator_params(axis="x", integer=True)
    panel.legend(loc="best")


def _slice(panel: "Axes", found: Mapping[str, Any], axis: Mapping[str, Any]) -> None:
    """The mean of every trial against its value of one key."""
    from matplotlib.ticker import NullFormatter

    search = found["search"]
    able = [trial for trial in search["trials"] if trial["mean"] is not None]
    values = [trial["set"][axis["key"]] for trial in able]
    if "values" in axis:
        places: list[float] = [axis["values"].index(value) for value in values]
        panel.set_xticks(range(len(axis["values"])), [value[:12] for value in axis["values"]])
        panel.margins(x=0.15)
    else:
        places = [float(value) for value in values]
        if axis["log"]:
            panel.set_xscale("log")
            # The whole range, so that its powers of ten are enough to read it by where it has any.
            panel.set_xlim(0.9 * axis["low"], 1.1 * axis["high"])
            if axis["high"] >= 10 * axis["low"]:
                panel.xaxis.set_minor_formatter(NullFormatter())
        else:
            panel.locator_params(axis="x", nbins=5, integer=isinstance(axis["low"], int))
    numbers = [trial["number"] for trial in able]
    panel.scatter(places, [trial["mean"] for trial in able], s=TRIAL, c=numbers, cmap="viridis")
    chosen = next(k for k, trial in enumerate(able) if trial["number"] == search["chosen"])
    panel.scatter(
        places[chosen : chosen + 1], [able[chosen]["mean"]], s=BEST, facecolors="none", edgecolors=style.VERMILION
    )
    panel.set_xlabel("\n".join(textwrap.wrap(axis["key"].replace(".", ". "), LABEL)).replace(". ", "."))
