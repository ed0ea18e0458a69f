"""docs/deploy.md: every command in it that needs no device of its own is run as it stands there.

Names of files and devices are made up there: a trace, a signed release and files for disk and SSD lie under the same
names here. A command that is neither run nor known to need a device fails the test.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from cachezoo.bundles import load
from cachezoo.bundles.release import bundles_below, release, sign_release
from cachezoo.runtime import __main__ as bundle_command
from cachezoo.serving.requests import batch_of
from cachezoo.traces.store import read_trace, write_trace
from tests.baleen_data import make_trace
from tests.bundle_data import reseal
from tests.c_library import make
from tests.command_line import run

ROOT = Path(__file__).resolve().parents[2]
STORED = ROOT / "tests/golden/protocol2"
ADMISSION = "admission.database.lgbm"
# What the document calls them, and what stands for it here.
NAMES = {"admission.mail.lgbm_small": ADMISSION, "/etc/cachezoo/key.pub": "key/key.pub"}
ON_DEVICES = (
    "sudo .venv/bin/cachezoo trace capture", "sudo .venv/bin/cachezoo serve", "sudo cachezoo", "cachezoo serve",
    ".venv/bin/cachezoo serve", "systemctl",
    "make", "sudo make", "apt", "dnf", "dpkg", "nbdkit", "nbd-client", "mount", "sudo mount", "sudo umount",
    "echo 1 > /sys/block", "lvconvert", "casadm", "zpool",
)  # fmt: skip

pytestmark = pytest.mark.needs("gcc", "libsodium")


def commands():
    """The commands of all blocks of the shell, without comments, in order."""
    text = (ROOT / "docs/deploy.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def states_its_inputs(folder):
    """The stored bundle says how its inputs were distributed, as those of a release do; here, on one trace."""
    bundle, batch = load(folder), batch_of(make_trace(2000, 3))
    rows = bundle.serving().features(batch)[batch.op == 0]

    def change(manifest):
        inputs = {}
        for entry, column in zip(bundle.manifest["features"], rows.T, strict=True):
            tenths = np.sort(column)[[max(0, -(-k * len(column) // 10) - 1) for k in range(11)]]
            counts = np.bincount(column.astype(np.int64) + 1) if entry["encoding"] != "number" else tenths
            inputs[entry["name"]] = counts.astype(float).tolist()
        manifest["measured"]["inputs"] = inputs

    reseal(folder, change)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder as the document takes it to be: a trace, and the files of a signed release."""
    for name in (ADMISSION, "reuse.follow"):
        shutil.copytree(STORED / name, tmp_path / "bundles" / name)
    states_its_inputs(tmp_path / "bundles" / ADMISSION)
    secret = tmp_path / "key.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", secret], check=True, timeout=60)
    own = tmp_path / "here"
    own.mkdir()
    public = ["openssl", "pkey", "-in", secret, "-pubout", "-out", own / "key.pub"]
    subprocess.run(public, check=True, timeout=60)
    sign_release(release(bundles_below(tmp_path / "bundles"), own), own, secret)
    write_trace(read_trace(ROOT / "data/raw/captured/blob_validation.parquet").rows(0, 2_000), own / "day.parquet")
    monkeypatch.chdir(own)
    monkeypatch.setenv("CACHEZOO_KEY", str(own / "key/key.pub"))
    return own


@pytest.mark.slow(seconds=40)
def test_what_needs_no_device_runs_as_it_stands(place, tmp_path_factory, monkeypatch, capsys):
    monkeypatch.setenv("CACHEZOO_LIBRARY", str(make(tmp_path_factory, "lib") / "libcachezoo.so.1"))
    ran = []
    for words in commands():
        line = " ".join(words)
        if line.startswith(ON_DEVICES):
            continue
        given = []
        for word in words[1:]:
            for name, own in NAMES.items():
                word = word.replace(name, own)
            given.append(word)
        if words[0] == ".venv/bin/cachezoo":
            assert run(*given).returncode == 0
        elif words[0] == "cachezoo-bundle":
            assert bundle_command.main(given) == 0, capsys.readouterr().err
        elif words[0] == "install":
            subprocess.run(words[:1] + given, check=True, timeout=60)
        else:
            raise AssertionError(f"docs/deploy.md: nobody runs {line}")
        ran.append(line)
    for part in ("recommend", "--for", "install", "receive", "verify", "inspect", "drift"):
        assert any(part in line for line in ran), part
    assert json.loads((place / "release.json").read_text())["number"] == 1 and os.path.exists("key/key.pub.floor")
