"""FIOS's f_map learned: which combination of features to take, by what a drive's train cycle is (Sec. IV-C, eq. 1).

    .venv/bin/python lab/notes/fios_map.py [--figure lab/results/fios.json]

The paper's map from characteristics to features is a rule by hand. Here it is learned from the drives of FIOS's figure
(`make figures`): of each the characteristics of its train cycle, and the WAF of each combination on its test cycle,
over that without streams. Each drive is judged by what was learned without any drive of its category. Every learner may
also choose no features. Its settings are those of least cost if each training category is left out in turn. Rivals are
the one combination that is best on the same training drives, equal parts, and no streams. The interval of a saving
takes drives as draws; set-ups of one program are alike, so that it is too narrow if anything.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from cachezoo.arrays import F64, I64, Bool
from cachezoo.config.load import load_params
from cachezoo.contest.lead import Mean
from cachezoo.contest.verdict import LEAST_SAVING, verdict
from cachezoo.features.fios import BASE_ROWS, HIGH, LETTERS
from cachezoo.flash_drive.names import EQUAL, LEGACY
from cachezoo.seeds import derive_seed
from cachezoo.show import markdown
from cachezoo.show.formats import number
from cachezoo.show.output import drawn
from cachezoo.show.table import Cell, Column, Table, number_cell, share_cell
from cachezoo.zoo.streams.cluster import COMBINATIONS
from lab.fios.document import FILE, DriveCase, read_fios

OPTIONS = ("", *COMBINATIONS)  # no features, or a combination
BITS = np.array([[letter in option for letter in LETTERS] for option in OPTIONS], np.float64)
ROWS = np.array([[bit == "1" for bit in row] for _, row in BASE_ROWS])
ROW_LETTERS = np.array([letter for letter, _ in BASE_ROWS])
CONTEXT, SEEDS = "fios_map", 5
LOGARITHMS = ("reuse_ratio", "mean_write_kb", "written_gb_per_day")
LEAST = 0.01  # of what a logarithm is taken of
NEIGHBOURS = (1, 3, 5, 9, 99)
PENALTIES = (1.0, 10.0, 100.0, 1000.0)
LEAVES, TREES = (2, 4, 8), 100
QUANTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Drives:
    """What is known of n drives before the served cycle, and what each option costs on it."""

    group: I64  # [n] number of the category
    theta: F64  # [n, 5] in the order of `HIGH`, logarithms of what may be of any size
    costs: F64  # [n, options] WAF of the test cycle over that without streams
    validation: F64  # [n, options] the same of the validation cycle, which the windows were chosen on

    def rows(self, which: Bool) -> "Drives":
        """Some of them: bool[n]."""
        return Drives(self.group[which], self.theta[which], self.costs[which], self.validation[which])


Learner = Callable[[Drives, Drives, float, int], I64]
"""Training drives, drives to choose for, the setting, and a seed: int64[n] places in `OPTIONS`."""


def characteristics(case: DriveCase) -> list[float]:
    """A drive's row of `Drives.theta`; what is undefined is 0."""
    values = {name: float(case.theta[name] or 0.0) for name in HIGH}
    return [float(np.log2(max(value, LEAST))) if name in LOGARITHMS else value for name, value in values.items()]


def drives_of(cases: Sequence[DriveCase], groups: Sequence[str]) -> Drives:
    """The drives of a figure, and the category of each."""
    rows = [[case.row(option or LEGACY) for option in OPTIONS] for case in cases]
    validation = [[row.validation_waf or np.nan for row in own] for own in rows]
    return Drives(
        np.unique(np.array(list(groups)), return_inverse=True)[1],
        np.array([characteristics(case) for case in cases]),
        np.array([[row.of_legacy for row in own] for own in rows]),
        np.array([[waf / own[0] for waf in own] for own in validation]),
    )


def _scaled(train: Drives, test: Drives) -> tuple[F64, F64]:
    middle, spread = train.theta.mean(axis=0), train.theta.std(axis=0)
    spread[spread == 0] = 1
    return (train.theta - middle) / spread, (test.theta - middle) / spread


def fixed(train: Drives, test: Drives, _: float, __: int) -> I64:
    """The combination of least cost on the training drives, for all."""
    return np.full(len(test.theta), 1 + int(train.costs[:, 1:].mean(axis=0).argmin()))


def neighbours(train: Drives, test: Drives, count: float, _: int) -> I64:
    """The least mean cost over the nearest training drives."""
    known, asked = _scaled(train, test)
    far = ((asked[:, None] - known[None]) ** 2).sum(axis=2)
    near = np.argsort(far, axis=1, kind="stable")[:, : int(count)]
    found: I64 = train.costs[near].mean(axis=1).argmin(axis=1)
    return found


def ridge(train: Drives, test: Drives, penalty: float, _: int) -> I64:
    """The least cost by a line for each option, its slopes held back."""
    known, asked = _scaled(train, test)
    middle = train.costs.mean(axis=0)
    slopes = np.linalg.solve(known.T @ known + penalty * np.eye(known.shape[1]), known.T @ (train.costs - middle))
    found: I64 = (middle + asked @ slopes).argmin(axis=1)
    return found


def _by_rule(theta: F64, limits: Sequence[float]) -> I64:
    """FIOS's rule with other limits."""
    high: Bool = theta >= np.array(limits)
    met = np.asarray((high[:, None] >= ROWS[None]).all(axis=2))
    chosen = np.stack([met[:, ROW_LETTERS == letter].any(axis=1) for letter in LETTERS], axis=1)
    found: I64 = (chosen[:, None] == (BITS > 0)[None]).all(axis=2).argmax(axis=1)
    return found


def limits(train: Drives, test: Drives, _: float, __: int) -> I64:
    """FIOS's rule with the limits from which a value is high that cost least on the training drives."""
    each = [[-np.inf, *np.quantile(train.theta[:, k], QUANTILES), np.inf] for k in range(train.theta.shape[1])]
    place = np.arange(len(train.theta))
    best = min(product(*each), key=lambda own: float(train.costs[place, _by_rule(train.theta, own)].mean()))
    return _by_rule(test.theta, best)


def forest(train: Drives, test: Drives, leaf: float, seed: int) -> I64:
    """The least cost by extremely randomised trees over characteristics and the option's features."""
    from sklearn.ensemble import ExtraTreesRegressor

    def rows(theta: F64) -> F64:
        return np.hstack([np.repeat(theta, len(OPTIONS), axis=0), np.tile(BITS, (len(theta), 1))])

    trees = ExtraTreesRegressor(TREES, min_samples_leaf=int(leaf), random_state=seed, n_jobs=1)
    trees.fit(rows(train.theta), train.costs.ravel())
    found: I64 = trees.predict(rows(test.theta)).reshape(-1, len(OPTIONS)).argmin(axis=1)
    return found


def tried(train: Drives, test: Drives, part: float, _: int) -> I64:
    """The least of the training drives' mean cost and of what the option cost on validation, one of which is a run."""
    found: I64 = ((1 - part) * train.costs.mean(axis=0) + part * test.validation).argmin(axis=1)
    return found


LEARNERS: dict[str, tuple[Learner, tuple[float, ...]]] = {
    "one combination for all": (fixed, (0,)),
    "nearest drives": (neighbours, NEIGHBOURS),
    "a line an option": (ridge, PENALTIES),
    "FIOS's rule, limits learned": (limits, (0,)),
    "trees": (forest, LEAVES),
    "validation and the mean": (tried, (0.0, 0.25, 0.5, 0.75, 1.0)),
}
SEEDED = {"trees"}


def _cost(drives: Drives, chosen: I64) -> F64:
    found: F64 = drives.costs[np.arange(len(chosen)), chosen]
    return found


def setting_of(learner: Learner, settings: Sequence[float], train: Drives, seed: int) -> float:
    """The setting of least mean cost if each training category is left out in turn; the first of equals."""
    if len(settings) == 1:
        return settings[0]

    def cost(setting: float) -> float:
        chosen = _left_out(train, lambda known, asked: learner(known, asked, setting, seed))
        return float(_cost(train, chosen).mean())

    return min(settings, key=cost)


def _left_out(drives: Drives, choose: Callable[[Drives, Drives], I64]) -> I64:
    """The choice for each drive by what saw none of its category."""
    found = np.zeros(len(drives.theta), np.int64)
    for group in np.unique(drives.group):
        own = drives.group == group
        found[own] = choose(drives.rows(~own), drives.rows(own))
    return found


def chosen_by(name: str, drives: Drives, seed: int) -> I64:
    """The choice for each drive by a learner that saw no drive of its category."""
    learner, settings = LEARNERS[name]
    return _left_out(drives, lambda train, test: learner(train, test, setting_of(learner, settings, train, seed), seed))


def saved(costs: F64, rival: F64) -> Mean:
    """The mean share that is saved of a rival's cost; its variance takes drives as independent draws."""
    each = 1 - costs / rival
    return Mean(float(each.mean()), float(each.var(ddof=1)) / len(each), len(each) - 1.0)


def table(cases: Sequence[DriveCase], groups: Sequence[str], seed: int) -> Table:
    """A row a way to choose: its cost, and what it saves of the fixed combination's."""
    drives = drives_of(cases, groups)
    ways = {
        "no streams": [np.ones(len(cases))],
        "equal parts": [np.array([case.row(EQUAL).of_legacy for case in cases])],
        "FIOS's rule, on our reading": [np.array([case.own.of_legacy for case in cases])],
    }
    for name in LEARNERS:
        seeds = [derive_seed(seed, CONTEXT, str(k)) for k in range(SEEDS if name in SEEDED else 1)]
        ways[name] = [_cost(drives, chosen_by(name, drives, own)) for own in seeds]
    ways["best combination in hindsight"] = [drives.costs[:, 1:].min(axis=1)]
    rival = ways["one combination for all"][0]
    rows = []
    for name, costs in ways.items():
        mean = np.mean(costs, axis=0)
        lead = saved(mean, rival)
        each = [float(one.mean()) for one in costs]
        spread = "" if len(costs) == 1 else f"{min(each):.4f} to {max(each):.4f}"
        better = int((mean < rival - 1e-9).sum()), int((mean > rival + 1e-9).sum())
        said = "" if mean is rival or not (mean != rival).any() else verdict(lead, LEAST_SAVING)
        value = float(mean.mean())
        rows.append([
            Cell(name), Cell(number(value, 4), value, spread), number_cell(float(mean.max()), 3),
            share_cell(lead.value, lead.interval), Cell(f"{better[0]}, {better[1]}"), Cell(said),
        ])  # fmt: skip
    heads = ("mean", "worst drive", "saves of the fixed one's", "drives better, worse")
    columns = [Column("choice", numeric=False), *map(Column, heads), Column("verdict", numeric=False)]
    return Table(f"WAF over that without streams, {len(cases)} drives, each without its category", columns, rows)


def groups_of(cases: Sequence[DriveCase]) -> list[str]:
    """The category of each drive."""
    corpus = {key: category for category, rows in load_params().data.corpus.items() for key in rows}
    return [corpus.get(case.key, case.key) for case in cases]


def main() -> None:
    """Print the table, and what the fixed choice takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figure", type=Path, default=FILE)
    cases = read_fios(parser.parse_args().figure).heavy
    groups = groups_of(cases)
    print(markdown.titled(drawn(table(cases, groups, load_params().seed))))
    fixed_one = chosen_by("one combination for all", drives_of(cases, groups), 0)
    took = {group: OPTIONS[own] for group, own in zip(groups, fixed_one, strict=True)}
    print("One combination for all, by the category left out: " + ", ".join(f"{a} {b}" for a, b in took.items()))


if __name__ == "__main__":
    main()
