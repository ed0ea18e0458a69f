"""libcachezoo's sources, compiled for a test; the flags are those of its Makefile, with the sanitizers on."""

import subprocess
from pathlib import Path

LIBRARY = Path(__file__).parents[1] / "runtimes/c"
FLAGS = ("-std=c11", "-D_GNU_SOURCE", "-O2", "-ffp-contract=off", "-g", "-Wall", "-Wextra", "-Werror")
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def build(program: Path, sources: list[str], more: tuple[str, ...] = SANITIZED) -> Path:
    """Compile sources, named from runtimes/c, to a program."""
    paths = [str(LIBRARY / source) for source in sources]
    command = ["gcc", *FLAGS, *more, f"-I{LIBRARY}/include", f"-I{LIBRARY}/src", "-o", str(program), *paths, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return program


def make(folder: Path, *targets: str, **variables: str) -> list[Path]:
    """What the Makefile builds, named from its build folder, which is put at `folder`."""
    given = [f"{name}={value}" for name, value in variables.items()]
    built = [folder / target for target in targets]
    command = ["make", "-s", "-C", str(LIBRARY), f"BUILD={folder}", *given, *map(str, built)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return built
