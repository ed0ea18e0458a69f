"""Classics tuned: with other values than their defaults, and behind admissions, as `policy.classics` lists them."""

from collections.abc import Iterator, Mapping
from itertools import product

from cachezoo.errors import ConfigError
from cachezoo.policies.registry import classics, policy
from cachezoo.settings.page_cache import ClassicsPolicy


def tuned_classics(asked: ClassicsPolicy) -> list[str]:
    """Canonical texts of all the ways that are not registered as they are, each once, in the order of `asked`.

    Raises:
        ConfigError: a classic, admission or parameter that there is not, or a value outside its range.
    """
    unknown = sorted(set(asked.values) - set(classics()))
    if unknown:
        message = f"policy.classics.values: {', '.join(unknown)} is no classic; use some of {', '.join(classics())}"
        raise ConfigError(message)
    found = dict.fromkeys(policy(text).id for text in _texts(asked))
    return [text for text in found if text not in classics()]


def _texts(asked: ClassicsPolicy) -> Iterator[str]:
    for name, values in asked.values.items():
        for chosen in product(*values.values()):
            yield f"{name}({_given(dict(zip(values, chosen, strict=True)))})"
    for admission, eviction in product(asked.admissions, asked.evictions):
        yield f"{admission}+{eviction}"


def _given(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name}={value:.12g}" for name, value in values.items())
