"""The corpus's recipes and the places of its traces."""

from pathlib import Path

from cachezoo.errors import ConfigError
from tools.capture.recipe import RECIPES, Recipe, load_recipe

CORPUS = "corpus"
TRACES = Path("data/raw/corpus")


def corpus_names(recipes: Path = RECIPES) -> list[str]:
    """The corpus's traces, CATEGORY/PROGRAM_SETUP each, sorted, by their recipes.

    Args:
        recipes: folder of all recipes.
    """
    folder = recipes / CORPUS
    return sorted(str(path.relative_to(folder).with_suffix("")) for path in folder.glob("*/*.yaml"))


def corpus_recipe(name: str, recipes: Path = RECIPES) -> Recipe:
    """The recipe of a trace of the corpus.

    Args:
        name: CATEGORY/PROGRAM_SETUP.
        recipes: folder of all recipes.

    Raises:
        ConfigError: there is none, or it is of another category or program than its place says.
    """
    known = corpus_names(recipes)
    if name not in known:
        raise ConfigError(f"{recipes / CORPUS}: has no recipe {name!r}; it has {', '.join(known) or 'none'}")
    path = recipes / CORPUS / f"{name}.yaml"
    recipe = load_recipe(path)
    category, key = name.split("/")
    # A paced recipe is called after its category, as those of data/raw/captured are.
    starts = f"{category if recipe.schedule is not None else recipe.program}_"
    if recipe.category != category or not key.startswith(starts):
        message = f"{path}: is of {recipe.category} and {recipe.program}; its place must be CATEGORY/PROGRAM_SETUP.yaml"
        raise ConfigError(message)
    return recipe


def missing(project: Path, recipes: Path = RECIPES) -> list[str]:
    """The traces that have a recipe and no file in a project."""
    return [name for name in corpus_names(recipes) if not (project / TRACES / f"{name}.parquet").is_file()]
