"""`import cachezoo as cz`: what the commands do, from Python, on files and on traces in memory.

Each function asks what a command of its name asks, of the same objects, and takes what the command's options take as
text: a size is `256MiB`, `10%` or `4096p`. `cachezoo` itself has these names, and imports this room when one is used.
"""

from cachezoo.api.deep import flash, share, size, wear
from cachezoo.api.pages import compare, curve, recommend, simulate
from cachezoo.api.reading import read
from cachezoo.api.results import Picture, Result
from cachezoo.policies.own import named as own

__all__ = [
    "Picture",
    "Result",
    "compare",
    "curve",
    "flash",
    "own",
    "read",
    "recommend",
    "share",
    "simulate",
    "size",
    "wear",
]
