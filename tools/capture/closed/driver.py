"""The corpus's recipes and traces, and capturing those that are missing, one after the other."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from cachezoo.console import progress
from cachezoo.errors import ConfigError
from tools.capture.closed.recipe import ClosedRecipe, load_closed
from tools.capture.closed.run import ClosedReport, capture_closed

RECIPES = Path("tools/capture/recipes/corpus")
TRACES = Path("data/raw/corpus")


def corpus_names(project: Path) -> list[str]:
    """The corpus's traces, CATEGORY/PROGRAM_SETUP each, sorted, by their recipes.

    Args:
        project: root of a cachezoo project.
    """
    folder = project / RECIPES
    return sorted(str(path.relative_to(folder).with_suffix("")) for path in folder.glob("*/*.yaml"))


def corpus_recipe(project: Path, name: str) -> ClosedRecipe:
    """The recipe of a trace of the corpus.

    Args:
        project: root of a cachezoo project.
        name: CATEGORY/PROGRAM_SETUP.

    Raises:
        ConfigError: there is none, or it is of another category or program than its place says.
    """
    known = corpus_names(project)
    if name not in known:
        message = f"{RECIPES}: has no recipe {name!r}; it has {', '.join(known) or 'none'}"
        raise ConfigError(message)
    path = project / RECIPES / f"{name}.yaml"
    recipe = load_closed(path)
    category, key = name.split("/")
    if recipe.category != category or key.rpartition("_")[0] != recipe.program:
        message = f"{path}: is of {recipe.category} and {recipe.program}; its place must be CATEGORY/PROGRAM_SETUP.yaml"
        raise ConfigError(message)
    return recipe


def missing(project: Path) -> list[str]:
    """The traces that have a recipe and no file."""
    return [name for name in corpus_names(project) if not (project / TRACES / f"{name}.parquet").is_file()]


def capture_corpus(project: Path, names: Sequence[str]) -> Iterator[ClosedReport]:
    """Capture traces of the corpus, one after the other; those that are done stay where a later one fails.

    Args:
        project: root of a cachezoo project.
        names: CATEGORY/PROGRAM_SETUP each.

    Raises:
        ConfigError: a recipe is missing or unusable; nothing is captured then.
        CaptureError: a capture failed.
    """
    recipes = {name: corpus_recipe(project, name) for name in names}
    for name, recipe in recipes.items():
        with progress(f"capturing {name}", len(recipe.phases)) as advance:
            yield capture_closed(recipe, project / TRACES / f"{name}.parquet", advance)
