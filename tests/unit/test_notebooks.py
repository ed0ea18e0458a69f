"""How notebooks are stored; that they run is tested on the tiny pipeline's outputs."""

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
    assert source.count(FIND_ROOT) == 1
    assert not WRITES.findall(source)
    settings = next(cell for cell in cells if cell.cell_type == "code").source.splitlines()
    assert all(re.match(r"[A-Z_]+ = ", line) for line in settings), "the first code cell says what to look at"
