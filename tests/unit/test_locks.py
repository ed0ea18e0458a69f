"""scripts/locks.py on a small project and an index on the loopback."""

import os
import subprocess
import sys
from pathlib import Path

from scripts.locks import DEV, HEADS, MACHINES, RUN, pins
from tests.package_index import pin, serving, sha256, source, wheel

ROOT = Path(__file__).resolve().parents[2]
X86, ARM = (f"cp311-cp311-manylinux_2_28_{machine}" for machine in MACHINES)
PROJECT = """\
[project]
name = "tiny"
version = "1.0"
requires-python = ">=3.11"
dependencies = ["one"]

[project.optional-dependencies]
pipeline = ["torch==2.13.0", "two"]
dev = ["odd; platform_machine == 'x86_64'", "pip"]
"""


def write(folder, url):
    env = {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
        "PIP_FIND_LINKS": str(folder / "cpu"),
        "UV_NO_CACHE": "1",
    }
    env |= {"UV_DEFAULT_INDEX": f"{url}/simple", "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-m", "scripts.locks"], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return {lock: (folder / lock).read_text().removeprefix(HEADS[lock]) for lock in (RUN, DEV)}


def test_locks_hold_the_files_that_fit_and_keep_the_pins_that_are_there(tmp_path):
    simple, cpu = tmp_path / "simple", tmp_path / "cpu"
    one = wheel(simple, "one")
    source(simple, "one")
    wheel(simple, "one", "2.0")
    two = [
        wheel(simple, "two", tag=tag)
        for tag in (X86, ARM, "cp311-cp311-win_amd64", "cp312-cp312-manylinux_2_28_x86_64")
    ]
    odd, plain = wheel(simple, "odd", tag=X86, needs=["plain"]), source(simple, "plain")
    wheel(simple, "pip", "26.0")
    wheel(simple, "torch", "2.13.0", needs=["cuda"])
    torch = wheel(cpu, "torch", "2.13.0+cpu", tag=X86, needs=["one"])
    wheel(cpu, "torch", "2.13.0+cpu", tag=ARM, needs=["one"])
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / RUN).write_text("one==1.0\n")
    (tmp_path / DEV).write_text("")
    marked = pin("odd", odd).replace("1.0", "1.0 ; platform_machine == 'x86_64'", 1)
    with serving(tmp_path) as (url, _):
        first = write(tmp_path, url)
        torchs = sorted(map(sha256, cpu.iterdir()))
        assert [p.hashes for p in pins(tmp_path / RUN) if p.name == "torch"] == [tuple(torchs)]
        assert marked in first[DEV]
        runs = {p.name: (p.version, set(p.hashes)) for p in pins(tmp_path / RUN)}
        assert runs == {
            "one": ("1.0", {sha256(one)}), "two": ("1.0", set(map(sha256, two[:2]))), "torch": ("2.13.0", set(torchs)),
        }  # fmt: skip
        assert {p.name: set(p.hashes) for p in pins(tmp_path / DEV)} == {"odd": {sha256(odd)}, "plain": {sha256(plain)}}
        torch.with_name(torch.name.replace("x86_64", "aarch64")).unlink()  # a folder that has one machine's alone
        assert write(tmp_path, url) == first
        (tmp_path / RUN).write_text((tmp_path / RUN).read_text().replace(pin("one", one), ""))
        write(tmp_path, url)
        assert [p.version for p in pins(tmp_path / RUN) if p.name == "one"] == ["2.0"]
