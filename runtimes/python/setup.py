"""Builds libcachezoo and puts it beside cachezoo/runtime, which lies in the project's src."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
RUNTIME = HERE.parents[1] / "src/cachezoo/runtime"
LIBRARY = "libcachezoo.so.1"
VERSION = re.search(r"^VERSION := (.*)$", (HERE.parent / "c/Makefile").read_text(), re.MULTILINE)[1]
# Of PEP 600's libraries those that a program of C needs; every system with this glibc has them.
OF_GLIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def platform_of(library, built_for):
    """The platform's tag of a wheel with this library.

    It is `manylinux_2_N_…` (PEP 600) where the library needs glibc alone, and no symbol newer than its release 2.N;
    else the one that it was built for, which only this machine's own kind takes.
    """
    said = subprocess.run(
        ["readelf", "-dVW", library], capture_output=True, text=True, env=os.environ | {"LC_ALL": "C"}
    )
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", said.stdout))
    versions = set(re.findall(r"Name: (\S+)  Flags", said.stdout))
    releases = [int(found[1]) for name in versions if (found := re.fullmatch(r"GLIBC_2\.(\d+)(\.\d+)?", name))]
    if not built_for.startswith("linux_") or not releases or len(releases) < len(versions) or not needed <= OF_GLIBC:
        return built_for
    return f"manylinux_2_{max(releases)}_{built_for.removeprefix('linux_')}"


class WithLibrary(build_py):
    """The package's files, then the library."""

    def run(self):
        into = Path(self.build_lib, "cachezoo/runtime")
        into.mkdir(parents=True, exist_ok=True)
        for file in sorted(RUNTIME.glob("*.py")):
            shutil.copyfile(file, into / file.name)
        self.add_library()

    def add_library(self):
        """Build the library into the package."""
        into = Path(self.build_lib, "cachezoo/runtime")
        build = Path(self.get_finalized_command("build").build_temp).resolve() / "c"
        subprocess.run(["make", "-s", "-C", HERE.parent / "c", f"BUILD={build}", "lib"], check=True)
        shutil.copyfile(build / LIBRARY, into / LIBRARY)


class AnyPython(bdist_wheel):
    """The wheel's library knows no Python, so one wheel serves all of a platform."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        library = Path(self.get_finalized_command("build_py").build_lib, "cachezoo/runtime", LIBRARY)
        return ("py3", "none", platform_of(library, super().get_tag()[2]))


if __name__ == "__main__":
    setup(
        version=VERSION,
        cmdclass={"build_py": WithLibrary, "bdist_wheel": AnyPython},
        packages=["cachezoo.runtime"],
        package_dir={"cachezoo.runtime": "."},
    )
