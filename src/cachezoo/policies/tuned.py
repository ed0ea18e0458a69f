"""Classics tuned: with other values than their defaults, and behind admissions, as `policy.classics` lists them."""

from collections.abc import Iterator, Mapping
from itertools import product

from cachezoo.errors import ConfigError
from cachezoo.policies.evictions import EVICTIONS
from cachezoo.policies.registry import classics, policy
from cachezoo.policies.spec import parse
from cachezoo.settings.page_cache import ClassicsPolicy

EVICTION_IDS = tuple(eviction.id for eviction in EVICTIONS if not eviction.learn)


def tuned_classics(asked: ClassicsPolicy) -> list[str]:
    """Canonical texts of all the ways that are not registered as they are, each once, in the order of `asked`.

    Raises:
        ConfigError: a classic, admission or parameter that there is not, or a value outside its range.
    """
    unknown = sorted(set(asked.values) - set(classics()))
    if unknown:
        message = f"policy.classics.values: {', '.join(unknown)} is no classic; use some of {', '.join(classics())}"
        raise ConfigError(message)
    for name in asked.evictions:
        if name not in EVICTION_IDS or name not in classics():
            message = (
                f"policy.classics.evictions: {name} is no classic's eviction; use some of {', '.join(EVICTION_IDS)}"
            )
            raise ConfigError(message)
    for text in asked.admissions:
        if str(spec := parse(text)) != f"{spec.admission}+lru":
            raise ConfigError(f"policy.classics.admissions: {text} is more than an admission; name it alone")
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
