"""Builds libcachezoo and puts it beside cachezoo/runtime, which lies in the project's src."""

import shutil
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
RUNTIME = HERE.parents[1] / "src/cachezoo/runtime"
LIBRARY = "libcachezoo.so.1"


class WithLibrary(build_py):
    """The package's files, then the library."""

    def run(self):
        into = Path(self.build_lib, "cachezoo/runtime")
        into.mkdir(parents=True, exist_ok=True)
        for file in sorted(RUNTIME.glob("*.py")):
            shutil.copyfile(file, into / file.name)
        build = Path(self.get_finalized_command("build").build_temp).resolve() / "c"
        subprocess.run(["make", "-s", "-C", HERE.parent / "c", f"BUILD={build}", "lib"], check=True)
        shutil.copyfile(build / LIBRARY, into / LIBRARY)


class AnyPython(bdist_wheel):
    """The wheel's library knows no Python, so one wheel serves all of a platform."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


setup(cmdclass={"build_py": WithLibrary, "bdist_wheel": AnyPython}, packages=["cachezoo.runtime"],
      package_dir={"cachezoo.runtime": "."})  # fmt: skip
