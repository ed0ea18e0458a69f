"""What became of the changes of one operator, and what is kept of it.

Kept are figures, which docs/bundles.md shows, and the wrong changes that survive.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.mutants.mutants import Mutant
from tests.mutants.running import ROOT

FIGURES = Path(__file__).with_name("scores.yaml")
SURVIVORS = Path(__file__).with_name("survivors.yaml")
DOCUMENT = ROOT / "docs" / "bundles.md"
PART = re.compile(r"<!-- scores -->.*?<!-- end of scores -->", re.DOTALL)
HEAD = """\
# Wrong changes that no golden set catches, by kind, each with the reason why it is left. `by_chance`: what such a
# change does is undefined, or a matter of time, so another machine may catch it.
# `python -m tests.mutants.score --write` adds new ones without a reason and takes out those that are caught now.
"""

Figures = Mapping[str, Sequence[int]]
"""By kind: how many changes are caught, wrong, and equivalent."""


@dataclass(frozen=True)
class Score:
    """What became of a kind's mutants.

    Attributes:
        caught: by its golden sets.
        equivalent: not caught, and no captured trace tells them from the right runtime.
        wrong: not caught, by the traces that tell them apart.
    """

    caught: frozenset[Mutant]
    equivalent: frozenset[Mutant]
    wrong: Mapping[Mutant, tuple[str, ...]]

    @property
    def share(self) -> float:
        """The score."""
        return len(self.caught) / max(1, len(self.caught) + len(self.wrong))


@dataclass(frozen=True)
class Reason:
    """Why a wrong change is left.

    Attributes:
        text: in a sentence.
        by_chance: it may be caught elsewhere.
    """

    text: str = ""
    by_chance: bool = False


def counts(own: Score) -> list[int]:
    """Figures of a kind."""
    return [len(own.caught), len(own.wrong), len(own.equivalent)]


def figures() -> dict[str, list[int]]:
    """The figures that are kept."""
    kept: dict[str, list[int]] = yaml.safe_load(FIGURES.read_text(encoding="utf-8"))
    return kept


def survivors() -> dict[str, dict[str, Reason]]:
    """The wrong changes that are kept, by kind and name."""
    kept = yaml.safe_load(SURVIVORS.read_text(encoding="utf-8"))
    return {
        kind: {
            name: Reason(group["reason"], group.get("by_chance", False))
            for group in groups
            for name in group["changes"]
        }
        for kind, groups in kept.items()
    }


def table(kept: Figures) -> str:
    """The figures of each kind, with their scores."""
    rows = ["| kind | caught | wrong | equivalent | score |", "|---|---|---|---|---|"]
    for kind, (caught, wrong, equivalent) in kept.items():
        share = caught / max(1, caught + wrong)
        rows.append(f"| {kind} | {caught} | {wrong} | {equivalent} | {share:.2%} |")
    return "\n".join(rows)


def section(kept: Figures) -> str:
    """What the document shows."""
    return f"<!-- scores -->\n{table(kept)}\n<!-- end of scores -->"


def keep_figures(found: Mapping[str, Score]) -> None:
    """Keep the figures of some kinds, and show them in the document."""
    kept = figures() | {kind: counts(own) for kind, own in found.items()}
    FIGURES.write_text(yaml.safe_dump(kept, sort_keys=False, default_flow_style=None), encoding="utf-8")
    text = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(PART.sub(lambda _: section(kept), text), encoding="utf-8")


def keep_survivors(found: Mapping[str, Score]) -> None:
    """Keep the wrong changes of some kinds, with the reasons that are known."""
    kept = survivors()
    for kind, own in found.items():
        kept[kind] = {name: kept.get(kind, {}).get(name, Reason()) for name in sorted(one.name for one in own.wrong)}
    listed: dict[str, list[dict[str, object]]] = {}
    for kind, reasons in kept.items():
        listed[kind] = []
        for reason in dict.fromkeys(reasons.values()):
            by_chance = {"by_chance": True} if reason.by_chance else {}
            changes = [name for name, own in reasons.items() if own == reason]
            listed[kind].append({"reason": reason.text, **by_chance, "changes": changes})
    rows = yaml.safe_dump(listed, sort_keys=False, width=1000, allow_unicode=True)
    SURVIVORS.write_text(HEAD + rows, encoding="utf-8")
