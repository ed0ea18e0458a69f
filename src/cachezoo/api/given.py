"""What Python gives, as the commands' options take it: a text, several, a number, a switch, or paths."""

import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, get_args

from cachezoo.cli.options import is_number
from cachezoo.errors import ConfigError
from cachezoo.policies.own import named as own_name
from cachezoo.sizes import refused

TEXT = "give a text, as the command's option takes it, such as '64MiB' or 's3fifo'"


P = ParamSpec("P")
R = TypeVar("R")


def renamed(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function take keywords by their old names too, with a warning.

    Args:
        names: the new names by the old ones.
    """

    def of(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def called(*args: P.args, **given: P.kwargs) -> R:
            for old in names.keys() & given.keys():
                warnings.warn(f"{old}= is now {names[old]}=", FutureWarning, stacklevel=2)
                given[names[old]] = given.pop(old)
            return function(*args, **given)

        return called

    return of


def text(given: Any, name: str) -> str:  # noqa: ANN401 - whatever is given
    """One text; a path is one too.

    Raises:
        ConfigError: something else.
    """
    if not isinstance(given, str | Path):
        raise ConfigError(f"{name} {given!r}: {TEXT}")
    return str(given)


def text_or_none(given: Any, name: str) -> str | None:  # noqa: ANN401 - whatever is given
    """One text, or None where nothing is given; errors as of `text`."""
    return None if given is None else text(given, name)


def texts(given: Any, name: str, *, least: int = 0) -> list[str]:  # noqa: ANN401 - whatever is given
    """One text or several, as a list.

    Raises:
        ConfigError: something else, or fewer than `least`.
    """
    found = [text(own, name) for own in (given if isinstance(given, list | tuple) else [given])]
    if len(found) < least:
        raise ConfigError(f"{name}: the list is empty; give at least {least}")
    return found


def with_commas(given: Any, name: str) -> str:  # noqa: ANN401 - whatever is given
    """A text of several with commas, from that text, a number, or a list of either.

    Raises:
        ConfigError: something else, or an empty list.
    """
    every = given if isinstance(given, list | tuple) else [given]
    return ",".join(texts([str(own) if is_number(own) else own for own in every], name, least=1))


def with_commas_or_none(given: Any, name: str) -> str | None:  # noqa: ANN401 - whatever is given
    """As `with_commas`, or None where nothing is given."""
    return None if given is None else with_commas(given, name)


def policies(given: Any, *, least: int = 0) -> list[str]:  # noqa: ANN401 - a text, a class, or several
    """Texts of policies; a class, function or forest of one's own by its name.

    Raises:
        ConfigError: what is none of these, or fewer than `least`.
    """
    every = given if isinstance(given, list | tuple) else [given]
    found = [own_name(own) if callable(own) or hasattr(own, "predict") else own for own in every]
    return texts(found, "policy", least=least)


def path(given: Any, name: str) -> Path:  # noqa: ANN401 - whatever is given
    """A path, from one or a text; errors as of `text`."""
    return Path(text(given, name))


def paths(given: Any, name: str) -> list[Path]:  # noqa: ANN401 - whatever is given
    """One path or several, or none; errors as of `text`."""
    return [] if given is None else [Path(own) for own in texts(given, name)]


def number(given: Any, name: str) -> float | None:  # noqa: ANN401 - whatever is given
    """A number, or None where nothing is given.

    Raises:
        ConfigError: something else.
    """
    if given is not None and not is_number(given):
        raise refused(name, str(given), "give a number")
    return None if given is None else float(given)


def switch(given: Any, name: str) -> bool:  # noqa: ANN401 - whatever is given
    """True or False.

    Raises:
        ConfigError: something else, which Python would take for one of them.
    """
    if not isinstance(given, bool):
        raise refused(name, str(given), "give True or False")
    return given


def one_of(given: Any, name: str, kind: Any) -> None:  # noqa: ANN401 - a Literal has no type of its own
    """Refuse what the Literal `kind` does not have.

    Raises:
        ConfigError: it does not have it.
    """
    known: Sequence[str] = get_args(kind)
    if not isinstance(given, str) or given not in known:
        raise refused(name, str(given), f"give one of {', '.join(known)}")
