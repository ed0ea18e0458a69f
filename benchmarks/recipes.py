"""Recipes of the caching LSTM compared over several seeds, on blocks of validation that never judge.

For each recipe (changes of `fit.caching`) and seed one network is fitted and its best candidate's page hit ratio on the
choosing blocks kept; nothing else may choose a recipe. For the recipe of params.yaml, which stands first, the verdict
on the judging blocks and the hit ratios on the test traces are kept as well: how far the seed moves them.

A training that is done is not done again: its figures lie in the output folder, by category, all that they hang on, and
seed.
"""

import argparse
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from rich.table import Table

from cachezoo import paths
from cachezoo.config.load import load_params
from cachezoo.console import out
from cachezoo.io import read_json, write_json
from cachezoo.kernels.outcome import HIT
from cachezoo.models.trained import TrainedModel
from cachezoo.systems.caching import fit, judge
from cachezoo.systems.caching.evaluate import evaluate_caching
from cachezoo.systems.caching.infer import one_teacher
from cachezoo.traces.pages import capacity_pages
from cachezoo.traces.store import read_pages, read_trace
from cachezoo.traces.warmup import auto_warmup
from cachezoo.training.fitted import write_judged_lstm, write_lstm

KEPT = "as in params.yaml"


@dataclass(frozen=True)
class Case:
    """A category with its traces read once."""

    category: str
    fitting: fit.Settings
    judging: judge.Settings
    train: list[fit.FitTrace]
    validation: list[fit.FitTrace]
    tests: list[str]
    inputs: dict[str, str]

    @classmethod
    def of(cls, category: str) -> "Case":
        """From params.yaml and the outputs of the stages."""
        params = load_params(Path("params.yaml"))
        fitting, judging = fit.Settings.of(params, category), judge.Settings.of(params, category)
        (train, first), (validation, second) = (
            fit.read_fit_traces(category, fitting.roles[role], fitting.label) for role in ("train", "validation")
        )
        return cls(category, fitting, judging, train, validation, fitting.roles["test"], {**first, **second})

    def digest(self, changes: Mapping[str, Any]) -> str:
        """A name for what a training hangs on: settings, changes, inputs and sources."""
        said = [repr(self.fitting), repr(self.judging), repr(sorted(changes.items())), self.inputs]
        said += [path.read_text(encoding="utf-8") for path in sorted(Path("src/cachezoo").rglob("*.py"))]
        return hashlib.sha256(repr(said).encode()).hexdigest()[:16]

    def run(self, changes: Mapping[str, Any], seed: int, folder: Path) -> dict[str, Any]:
        """The figures of one training; the fitted and judged model goes to `folder`."""
        options = type(self.fitting.fit).model_validate({**self.fitting.fit.model_dump(), **changes})
        settings = replace(self.fitting, fit=options, seed=self.fitting.seed + seed)
        fitted, weights, curves = fit.fit_prepared(self.category, self.train, self.validation, settings, {})
        verdict, teacher = judge.judge(fitted, weights, [own.part for own in self.validation], True, self.judging)
        found: dict[str, Any] = {"choosing": max(row["hit_ratio"] for row in verdict.calibration["candidates"])}
        if changes:
            return found
        kept = one_teacher(weights, fitted.learned["teachers"].index(teacher))
        write_lstm(folder / "fitted", fitted, weights, curves)
        write_judged_lstm(folder / "trained", folder / "fitted", TrainedModel.of(fitted, verdict, {}), kept)
        shown = ("hit_ratio", "best_classic_hit_ratio", "chosen_classic_hit_ratio", "difference_low", "difference_high")
        found |= {name: verdict.validation[name] for name in shown}
        found |= {"promoted": verdict.beats_baseline, "test": {key: self.test(folder, key) for key in self.tests}}
        return found

    def test(self, folder: Path, key: str) -> float:
        """The model's page hit ratio on a test trace, as the stage evaluate counts it."""
        path = paths.requests(self.category, key)
        trace, pages = read_trace(path), read_pages(path)
        capacity = capacity_pages(self.judging.manager.capacity, pages.n_pages)
        run = evaluate_caching(folder / "trained", trace, pages, capacity)
        return float((run.outcomes.outcome[auto_warmup(pages, capacity) :] == HIT).mean())


def main() -> None:
    """Run what is not done yet and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("category")
    parser.add_argument("recipes", nargs="*", help="changes of fit.caching, as 'batch: 32, max_epochs: 4'")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(".tmp/recipes"))
    asked = parser.parse_args()
    if asked.seeds < 2:
        parser.error("--seeds: a spread takes two at least")
    case = Case.of(asked.category)
    rows = []
    for text in (KEPT, *asked.recipes):
        changes = {} if text == KEPT else yaml.safe_load("{" + text + "}")
        runs = []
        for seed in range(asked.seeds):
            folder = asked.out / asked.category / case.digest(changes) / str(seed)
            if not (folder / "figures.json").exists():
                folder.mkdir(parents=True, exist_ok=True)
                write_json(folder / "figures.json", case.run(changes, seed, folder))
            runs.append(read_json(folder / "figures.json"))
        rows.append([text, *_spread([run["choosing"] for run in runs])])
        if not changes:
            kept = runs
    title = f"{asked.category}: page hit ratio on the choosing blocks of validation, {asked.seeds} seeds"
    _print(title, ["recipe", "mean", "standard deviation", "each"], rows)
    shown = [[key, *_spread([run["test"][key] for run in kept])] for key in case.tests]
    won = sum(run["promoted"] for run in kept)
    shown.insert(0, [f"judging blocks of validation ({won} promoted)", *_spread([run["hit_ratio"] for run in kept])])
    _print(f"{asked.category}: page hit ratio of the recipe {KEPT}", ["", "mean", "standard deviation", "each"], shown)


def _print(title: str, heads: list[str], rows: list[list[str]]) -> None:
    table = Table(*heads, title=title)
    for row in rows:
        table.add_row(*row)
    out().print(table)


def _spread(values: list[float]) -> list[str]:
    return [f"{np.mean(values):.4f}", f"{np.std(values, ddof=1):.4f}", " ".join(f"{value:.4f}" for value in values)]


if __name__ == "__main__":
    main()
