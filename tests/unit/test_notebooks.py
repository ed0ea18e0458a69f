"""How notebooks are stored; that they run is tested on the tiny pipeline's outputs."""

import copy
import json
import re
from pathlib import Path

import nbformat
import pytest

from scripts.strip_notebooks import dumps, stripped

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
FIND_ROOT = 'next(folder for folder in (Path.cwd(), *Path.cwd().parents) if (folder / "dvc.yaml").is_file())'
WRITES = re.compile(r"write_|to_(csv|json|parquet|pickle)|savefig|unlink|mkdir|open\(|rmtree")


def test_there_are_two():
    assert [path.stem for path in NOTEBOOKS] == ["01-explore-a-trace", "02-compare-models"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs(path):
    text = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(text, nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    assert text == dumps(stripped(json.loads(text))), "run scripts/strip_notebooks.py"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_reads_alone_and_from_the_root(path):
    cells = nbformat.read(path, nbformat.NO_CONVERT).cells
    source = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    assert not re.search(r"""["'](/|~|[A-Z]:\\)[\w.]""", source), "an absolute path"
    assert source.count(FIND_ROOT) == 1
    assert not WRITES.findall(source)
    settings = next(cell for cell in cells if cell.cell_type == "code").source.splitlines()
    assert all(re.match(r"[A-Z_]+ = ", line) for line in settings), "the first code cell says what to look at"


def test_outputs_and_counts_are_stripped():
    notebook = nbformat.read(NOTEBOOKS[0], nbformat.NO_CONVERT)
    used = copy.deepcopy(notebook)
    for cell in used.cells:
        cell.metadata["collapsed"] = True
        if cell.cell_type == "code":
            cell.execution_count = 3
            cell.outputs = [nbformat.v4.new_output("stream", text="3\n")]
    used.metadata["language_info"] = {"name": "python", "version": "3.11.0"}
    assert dumps(used) != dumps(notebook)
    assert dumps(stripped(used)) == dumps(stripped(notebook))
