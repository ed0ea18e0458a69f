"""`dvc repro` that a SIGKILL cannot leave with half a dvc.lock: DVC writes that file in place after every stage.

It also reads the whole file before each write, by ruamel.yaml's round trip; here what was written last stays in memory.
"""

import copy
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from dvc.cli import main
from dvc.schema import COMPILED_LOCKFILE_SCHEMA
from dvc.utils.serialize import _common, _yaml
from voluptuous import Invalid

LOCK, HELD = Path("dvc.lock"), Path(".dvc/tmp/rwlock")
written: dict[str, Any] = {"text": None, "data": None}


def dump_whole(path: str, data: Any, dumper: Any, fs: object = None, **options: Any) -> None:  # noqa: ANN401
    """DVC's `_dump_data`, with the file renamed into place; the temporary name is one that Git and DVC ignore."""
    text = io.StringIO()
    dumper(data, text, **options)
    temporary = HELD.with_name(f"{Path(path).name}.{os.getpid()}")
    temporary.parent.mkdir(parents=True, exist_ok=True)
    temporary.write_text(text.getvalue(), encoding="utf-8")
    os.replace(temporary, path)
    if Path(path).name == LOCK.name:
        # A copy: DVC puts the same object into several entries, which a file read anew would hold apart.
        written.update(text=text.getvalue(), data=copy.deepcopy(data))


def parse_once(text: str, path: str, *, parse: Any = _yaml.parse_yaml_for_update) -> Any:  # noqa: ANN401
    """DVC's `parse_yaml_for_update`; a text that this process has just written needs no parsing."""
    return written["data"] if text == written["text"] else parse(text, path)


def mend() -> None:
    """Put aside what a killed bare `dvc repro` left: DVC's cache of runs then restores the stages that had ended."""
    for left in HELD.parent.glob("dvc.lock.*"):
        left.unlink(missing_ok=True)
    try:
        json.loads(HELD.read_text(encoding="utf-8"))
    except FileNotFoundError:
        pass
    except ValueError:
        HELD.unlink(missing_ok=True)
    try:
        COMPILED_LOCKFILE_SCHEMA(yaml.load(LOCK.read_bytes(), yaml.CSafeLoader))
    except FileNotFoundError:
        pass
    except (yaml.YAMLError, Invalid):
        done = subprocess.run(["git", "show", f"HEAD:{LOCK}"], capture_output=True, check=False)
        LOCK.write_bytes(done.stdout) if done.returncode == 0 else LOCK.unlink()
        sys.stderr.write("dvc.lock: was cut short when a run was killed; the committed one is back\n")


if __name__ == "__main__":
    _common._dump_data, _yaml.parse_yaml_for_update = dump_whole, parse_once
    mend()
    raise SystemExit(main(["repro", *sys.argv[1:]]))
