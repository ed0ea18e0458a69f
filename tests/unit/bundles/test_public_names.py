import pkgutil
import subprocess
import sys

import pytest

from cachezoo import bundles

IMPORT_ALL = """
import importlib, pkgutil
from cachezoo import bundles
for module in pkgutil.iter_modules(bundles.__path__, "cachezoo.bundles."):
    importlib.import_module(module.name)
for name in bundles.__all__:
    assert callable(getattr(bundles, name)), name
    assert getattr(bundles, name) is getattr(bundles, name)
"""


def test_every_public_name_stays_what_it_is_whatever_is_imported() -> None:
    """An imported module takes its name in the package: none may be called like something public."""
    assert not {module.name for module in pkgutil.iter_modules(bundles.__path__)} & set(bundles.__all__)
    subprocess.run([sys.executable, "-c", IMPORT_ALL], check=True)


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute unload"):
        bundles.unload  # noqa: B018
