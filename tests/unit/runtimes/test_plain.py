"""What `cz` and `cachezoo-bundle` print holds nothing that a terminal obeys, whatever a file is called."""

import os
import re
import subprocess
import sys

import pytest

from cachezoo.bundles.integrity import archive_bytes
from tests.refused import stored
from tests.sealed import files_of

EVIL = "a\x1b[31mb\nc\x9bd\x7fe\u202ef" + os.fsdecode(b"\xff")
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
HEADER = "time_us,op,offset,size"
CONTENTS = {
    "good": archive_bytes(files_of(stored("streams"))),
    "other": archive_bytes(files_of(stored("streams")) | {"card.md": b""}),
    "damaged": b"no archive",
    "trace": f"{HEADER}\n1,read,0,4096\n2,write,4096,4096\n".encode(),
    "header": f"{HEADER},{EVIL}\n".encode("utf-8", "surrogateescape"),
    "row": f"{HEADER}\n1,{EVIL},0,4096\n".encode("utf-8", "surrogateescape"),
}
# Every message: with a bundle that is good, missing, damaged or unsigned; with traces; and for wrong words.
COMMANDS = (
    *("verify good", "verify missing", "verify damaged", "verify other", "verify good --key missing", "inspect good"),
    *("inspect missing", "run good trace", "run good missing", "run good header", "run good row", "run good damaged"),
    *("EVIL", "verify good --EVIL EVIL", "verify good --precision EVIL", "run good trace --capacity EVIL", "verify"),
    *("verify good good good", "inspect good --capacity EVIL", "diff good good", "diff good missing", "run good"),
)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("program", ["cz", "cachezoo-bundle"])
def test_a_file_of_any_name_is_printed_plain(built, tmp_path, program, command):
    for name, content in CONTENTS.items():
        (tmp_path / f"{name}{EVIL}").write_bytes(content)
    start = {"cz": [built / "cz"], "cachezoo-bundle": [sys.executable, "-m", "cachezoo.runtime"]}[program]
    names = {name: f"{name}{EVIL}" for name in (*CONTENTS, "missing")}
    words = [names.get(word, word.replace("EVIL", EVIL)) for word in command.split()]
    environment = {**os.environ, "CACHEZOO_LIBRARY": str(built / "libcachezoo.so.1")}
    done = subprocess.run([*start, *words], cwd=tmp_path, env=environment, capture_output=True, check=False)
    said = (done.stdout + done.stderr).decode("utf-8", "surrogateescape")
    assert said and done.returncode in (0, 1, 2)
    assert not OBEYED.search(said), said
