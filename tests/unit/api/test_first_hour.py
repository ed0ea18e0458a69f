"""The notebook of the first hour runs on a trace of the project, shows its pictures, and says nothing on stderr."""

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[3]
PLACES = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR")


@pytest.mark.slow(seconds=120)
def test_it_runs(tmp_path, monkeypatch):
    places = {name: str(tmp_path / name.lower()) for name in PLACES}
    for name, place in places.items():  # the client's own process heeds them too
        monkeypatch.setenv(name, place)
    notebook = nbformat.read(ROOT / "notebooks/first_hour.ipynb", nbformat.NO_CONVERT)
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(ROOT / "notebooks")}})
    client.execute(env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **places})
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    data = [output.get("data", {}) for output in shown]
    assert sum("image/svg+xml" in one for one in data) == 3
    assert sum("text/html" in one for one in data) >= 5
    assert not [output for output in shown if output.output_type == "error"]
    assert "Answer: " in data[-1]["text/plain"] and "Run it: " in data[-1]["text/plain"]


def test_it_begins_in_any_folder_with_a_path_from_there(tmp_path, monkeypatch):
    (tmp_path / "own.csv").write_text("time_us,op,offset,size\n0,R,0,4096\n5,W,4096,4096\n")
    monkeypatch.chdir(tmp_path)
    cells = nbformat.read(ROOT / "notebooks/first_hour.ipynb", nbformat.NO_CONVERT).cells
    settings, reading = [cell.source for cell in cells if cell.cell_type == "code"][:2]
    names = {}
    exec(settings.replace("TRACE = None", 'TRACE = "own.csv"') + "\n" + reading, names)
    assert len(names["trace"]) == 2 and Path.cwd() == tmp_path
