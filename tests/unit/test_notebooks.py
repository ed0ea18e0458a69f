"""How notebooks are stored; that they run is tested on the tiny pipeline's outputs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
FIND_ROOT = 'next(folder for folder in (Path.cwd(), *Path.cwd().parents) if (folder / "dvc.yaml").is_file())'
WRITES = re.compile(r"write_|to_(csv|json|parquet|pickle)|savefig|unlink|mkdir|open\(|rmtree")


# What a notebook calls of the package is checked against its types; what other packages give is of any type.
TYPES = """[mypy]
ignore_missing_imports = true
follow_imports = silent
strict_optional = false
allow_redefinition = true
allow_redefinition_new = true
local_partial_types = true
disable_error_code = var-annotated
[mypy-pandas.*,matplotlib.*,IPython.*,pyarrow.*,numba.*]
follow_imports = skip
follow_imports_for_stubs = true
"""


def code_of(path):
    cells = nbformat.read(path, nbformat.NO_CONVERT).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "code")


def mistyped(folder, codes):
    """What mypy says of pieces of code, by their names."""
    (folder / "types.ini").write_text(TYPES)
    files = [folder / f"of_{name.replace('-', '_')}.py" for name in codes]
    for file, code in zip(files, codes.values(), strict=True):
        file.write_text(f"from IPython.display import display\n{code}\n")
    words = ["--config-file", folder / "types.ini", "--cache-dir", folder / "cache", "--no-error-summary", *files]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *words], capture_output=True, text=True, timeout=300, cwd=folder,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
    )  # fmt: skip
    return [line for line in done.stdout.splitlines() if ": error:" in line]


def test_calls_are_of_todays_signatures(tmp_path):
    wrong = """
from cachezoo.trace_report import sentences
from cachezoo.traces.pages import expand_pages
import cachezoo as cz
expand_pages(5)
cz.curve([1], point=3)
sentences.no_sentence()
"""
    said = mistyped(tmp_path, {path.stem: code_of(path) for path in NOTEBOOKS} | {"wrong": wrong})
    assert [line for line in said if "of_wrong" not in line] == []
    assert len(said) == 3, "each of the wrong calls is found"


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == ["01-explore-a-trace", "02-compare-models", "first_hour"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs(path):
    notebook = nbformat.read(path, nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    done = subprocess.run(
        [sys.executable, "-m", "nbstripout", "--verify", path], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, f"run nbstripout: {done.stdout}{done.stderr}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_reads_alone_and_from_the_root(path):
    cells = nbformat.read(path, nbformat.NO_CONVERT).cells
    source = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    assert not re.search(r"""["'](/|~|[A-Z]:\\)[\w.]""", source), "an absolute path"
    # Only what reads the pipeline's files goes to its root: elsewhere a path of one's own is from where one is.
    assert source.count(FIND_ROOT) == source.count("chdir") == path.stem[0].isdigit()
    assert not WRITES.findall(source)
    settings = next(cell for cell in cells if cell.cell_type == "code").source.splitlines()
    assert all(re.match(r"[A-Z_]+ = ", line) for line in settings), "the first code cell says what to look at"
