"""The whole package. With CACHEZOO_WITH_LIBRARY=1 its wheel holds libcachezoo, as that of runtimes/python does."""

import os
import runpy
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent


def with_library():
    """Commands that build the library into the wheel."""
    own = runpy.run_path(str(HERE / "runtimes/python/setup.py"))

    class Whole(own["WithLibrary"]):
        """The package as it is, then the library."""

        def run(self):
            build_py.run(self)
            self.add_library()

    return {"build_py": Whole, "bdist_wheel": own["AnyPython"]}


setup(cmdclass=with_library() if os.environ.get("CACHEZOO_WITH_LIBRARY") == "1" else {})
