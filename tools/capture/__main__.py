"""Captures by recipes, as root: `python -m tools.capture RECIPE...`, see docs/traces.md."""

import argparse
import dataclasses
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cachezoo.cli.common import fail, print_values
from cachezoo.console import progress
from cachezoo.errors import CachezooError, ConfigError, InterruptedCaptureError, interrupts_as_such, os_message
from cachezoo.io import check_file
from tools.capture.closed.driver import capture_corpus, missing
from tools.capture.run import RECIPES, capture, choose_recipe

CORPUS = "corpus"


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


def captured(given: argparse.Namespace) -> Iterator[Any]:
    """Capture one trace after the other; their reports."""
    names = given.recipes
    if given.output is None:
        odd = [name for name in names if not name.startswith(CORPUS)]
        if odd:
            message = f"{odd[0]}: is not of the corpus; name the trace's file with -o"
            raise ConfigError(message)
        yield from capture_corpus(
            Path.cwd(), missing(Path.cwd()) if CORPUS in names else [name.partition("/")[2] for name in names]
        )
        return
    if len(names) > 1:
        message = "with -o there is one RECIPE"
        raise ConfigError(message)
    check_file(given.output)
    path = Path(names[0]) if names[0].endswith(".yaml") else RECIPES / f"{names[0]}.yaml"
    recipe = choose_recipe(path, given.seed, given.seconds)
    with progress(f"capturing {path.stem}", recipe.schedule.days * recipe.schedule.day_s) as advance:
        yield capture(recipe, given.output, advance)


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
        more = "" if given.output else " of the trace under way; the traces before it stay: the same command goes on"
        fail(f"{error}{more}", error.status)
    except CachezooError as error:
        fail(str(error), 1)
    except OSError as error:
        fail(os_message(error), 1)


if __name__ == "__main__":
    main(sys.argv[1:])
