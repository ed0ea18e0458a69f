"""How a stage reads params.yaml: the values it names and no others, and the traces of a category."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_type_hints

from cachezoo import paths
from cachezoo.errors import ConfigError

if TYPE_CHECKING:
    from cachezoo.settings.data import TraceEntry
    from cachezoo.settings.params import Params


@dataclass(frozen=True)
class At:
    """Where a value stands in params.yaml: a dotted path; `{category}` in it is the stage's category."""

    path: str


class Picked:
    """Base of the frozen dataclasses that say what a stage reads of params.yaml: `name: Annotated[type, At(path)]`.

    dvc.yaml names the same paths as the stage's `params:`; a test compares the two.
    """

    @classmethod
    def places(cls) -> dict[str, str]:
        """The dotted path of each field."""
        hints = get_type_hints(cls, include_extras=True)
        return {
            name: place.path
            for name, hint in hints.items()
            for place in getattr(hint, "__metadata__", ())
            if isinstance(place, At)
        }

    @classmethod
    def of(cls, params: "Params", category: str = "") -> Self:
        """The values.

        Raises:
            ConfigError: params.yaml has nothing at a path.
        """
        places = cls.places()
        return cls(**{name: value_of(params, path.format(category=category)) for name, path in places.items()})


def value_of(params: "Params", path: str) -> Any:  # noqa: ANN401 - any section or value
    """What stands at a dotted path.

    Raises:
        ConfigError: params.yaml has nothing there.
    """
    value: Any = params
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else getattr(value, key, None)
        if value is None:
            raise ConfigError(f"params.yaml: holds no {path}; run `dvc repro compose`")
    return value


def entry_of(params: "Params", key: str) -> "TraceEntry":
    """A trace's row of the matrix: of one for caches, or of one for streams alone.

    Raises:
        ConfigError: there is none of that key.
    """
    rows = params.data.traces if key in params.data.traces else {**params.data.traces, **params.data.writes}
    if key not in rows:
        raise ConfigError(f"params.yaml: holds no trace {key[:60]!r}; it has {', '.join(rows) or 'none'}")
    return rows[key]


def requests_of(params: "Params", key: str) -> Path:
    """Canonical requests of a trace (stage ingest).

    Raises:
        ConfigError: there is none of that key.
    """
    category = entry_of(params, key).category
    return paths.requests(category, key) if key in params.data.traces else paths.WRITES / category / f"{key}.parquet"


def categories_of(params: "Params") -> list[str]:
    """Categories in the matrix, sorted."""
    return sorted({entry.category for entry in params.data.traces.values()})


def traces_of(params: "Params", category: str, role: str) -> list[str]:
    """Keys of a category's traces of one role, sorted."""
    roles = params.data.roles.get(category, {})
    return [key for name, keys in roles.items() if name == role for key in keys]
