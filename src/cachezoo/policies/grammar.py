"""The grammar of a component's text, `name(parameter=value, …)`: shared by the caches of pages and those of objects."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

from cachezoo.errors import ConfigError
from cachezoo.numerals import number
from cachezoo.policies.components import Parameter, settle

COMPONENT = re.compile(r"\s*([^\s()=,]*)\s*(?:\(([^()]*)\))?\s*")


def split(text: str, sign: str) -> list[str]:
    """What stands between the signs that no bracket holds: the one in kin=1e+2 is held, as are those of experts."""
    pieces, depth = [""], 0
    for letter in text:
        depth = max(0, depth + (letter == "(") - (letter == ")"))
        if letter == sign and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += letter
    return pieces


def pieces(text: str) -> list[str]:
    """The texts between the commas of what stands in brackets."""
    return split(text, ",") if text.strip() else []


def settled(
    component: str, parameters: tuple[Parameter, ...], texts: list[str], also: tuple[str, ...] = ()
) -> tuple[tuple[str, float], ...]:
    """Values by the texts between the commas, checked; those that are defaults are left out.

    Args:
        component: whose values they are.
        parameters: what it takes.
        texts: as `pieces` gives them.
        also: names of values that are no numbers, for what an error says.

    Raises:
        ConfigError: a value without a name, of an unknown name, given twice, no number or outside its range.
    """
    names = [parameter.name for parameter in parameters]
    known = [*also, *names]
    given: dict[str, float] = {}
    for piece in texts:
        name, equals, value = (word.strip() for word in piece.partition("="))
        takes = f"it takes {', '.join(known)}" if known else "it takes no values"
        if not equals:
            raise ConfigError(f"{component}: {piece.strip() or 'nothing'} stands where name=value should; {takes}")
        if name not in names:
            raise ConfigError(f"{component} takes no {name or 'value without a name'}{meant(name, known)}; {takes}")
        if name in given:
            raise ConfigError(f"{component}: {name} is given twice")
        given[name] = _value(component, name, value)
    values = settle(component, parameters, given)
    return tuple((one.name, values[one.name]) for one in parameters if values[one.name] != one.default)


def _value(component: str, name: str, text: str) -> float:
    value = number(text)
    if value is None:
        raise ConfigError(f"{component}: {name} = {text[:40] or 'nothing'} is no number")
    return value


def plain(value: float) -> str:
    """The shortest text that `float` reads back."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def written(name: str, values: Iterable[tuple[str, float]], first: Iterable[str] = ()) -> str:
    """A component's canonical text: its name and, in brackets, what is given: texts, then numbers by their names."""
    given = [*first, *(f"{one}={plain(value)}" for one, value in values)]
    return f"{name}({', '.join(given)})" if given else name


def meant(name: str, known: Iterable[str]) -> str:
    """A question after an unknown name that is close to a known one; empty where none is."""
    close = get_close_matches(name.lower(), list(known), n=1)
    return f", did you mean {close[0]}?" if close else ""
