"""All randomness comes from one base seed through `derive_seed`."""

import hashlib


def derive_seed(base: int, context: str, *keys: str | int) -> int:
    """Seed for one use, stable across processes, platforms and Python versions.

    Args:
        base: the project's base seed (`seed` in params.yaml).
        context: what the seed is for, e.g. ``"train_caching"``.
        *keys: further keys, e.g. category and fold.

    Returns:
        An int in [0, 2**31).
    """
    text = "\x1f".join([str(base), context, *(f"{type(key).__name__}:{key}" for key in keys)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1
