"""Captures by recipes, as root: `python -m tools.capture RECIPE...`, see docs/traces.md."""

import argparse
import dataclasses
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from cachezoo.cli.common import fail, print_values
from cachezoo.console import progress
from cachezoo.errors import CachezooError, ConfigError, InterruptedCaptureError, interrupts_as_such, os_message
from cachezoo.io import check_file
from tools.capture.corpus import CORPUS, TRACES, corpus_recipe, missing
from tools.capture.recipe import RECIPES, Recipe, load_recipe, parse_recipe
from tools.capture.run import Report, capture, drive_of


def options(words: Sequence[str]) -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tools.capture", description=__doc__)
    names = "a recipe below tools/capture/recipes, or its file; corpus: all of the corpus that have no trace yet"
    parser.add_argument("recipes", metavar="RECIPE", nargs="+", help=names)
    parser.add_argument("-o", "--output", type=Path, help="the trace; those of the corpus have their places")
    parser.add_argument("--seed", type=int, help="instead of the recipe's")
    parser.add_argument("--seconds", type=int, help="of load, instead of the recipe's days")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser.parse_args(words)


def chosen(given: argparse.Namespace) -> dict[Path, Recipe]:
    """Each trace with its recipe, all of which are read before the first is captured.

    Raises:
        ConfigError: a recipe is unusable, or its trace has no place.
    """
    if given.output is not None:
        if len(given.recipes) > 1:
            raise ConfigError("with -o there is one RECIPE")
        (name,) = given.recipes
        check_file(given.output)
        recipes = {given.output: load_recipe(Path(name) if name.endswith(".yaml") else RECIPES / f"{name}.yaml")}
    else:
        names = [f"{CORPUS}/{name}" for name in missing(Path())] if given.recipes == [CORPUS] else given.recipes
        odd = [name for name in names if not name.startswith(f"{CORPUS}/")]
        if odd:
            raise ConfigError(f"{odd[0]}: is not of the corpus; name the trace's file with -o")
        keys = [name.partition("/")[2] for name in names]
        recipes = {TRACES / f"{key}.parquet": corpus_recipe(key) for key in keys}
    if given.seed is not None:
        recipes = {out: parse_recipe(one.model_dump() | {"seed": given.seed}, "--seed") for out, one in recipes.items()}
    return recipes if given.seconds is None else {out: one.lasting(given.seconds) for out, one in recipes.items()}


def captured(given: argparse.Namespace) -> Iterator[Report]:
    """Capture one trace after the other; those that are done stay where a later one fails."""
    for out, recipe in chosen(given).items():
        if given.output is None:
            out.parent.mkdir(parents=True, exist_ok=True)
        with progress(f"capturing {out.stem}", drive_of(recipe).length) as advance:
            yield capture(recipe, out, advance)


def main(words: Sequence[str]) -> None:
    """Run the command line; an expected error is one line on standard error."""
    given = options(words)
    try:
        with interrupts_as_such():
            for report in captured(given):
                value = dataclasses.asdict(report)
                value |= value.pop("counts")
                print_values(value, given.json, f"captured {report.trace}")
    except InterruptedCaptureError as error:
        more = " of the trace under way; the traces before it stay" if given.output is None else ""
        again = ": the same command goes on" if given.recipes == [CORPUS] else ""
        fail(f"{error}{more}{again}", error.status)
    except CachezooError as error:
        fail(str(error), 1)
    except OSError as error:
        fail(os_message(error), 1)


if __name__ == "__main__":
    main(sys.argv[1:])
