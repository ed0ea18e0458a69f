import json
import subprocess
import sys
from pathlib import Path

import pytest

from cachezoo.closure import closure, write_sources
from cachezoo.errors import CachezooError
from cachezoo.io import sha256_file

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def project(tmp_path):
    files = {
        "pipelines/one.py": "import os\nfrom cachezoo.rooms import first\n",
        "pipelines/two.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import cachezoo.rooms.first\n",
        "src/cachezoo/__init__.py": "",
        "src/cachezoo/rooms/__init__.py": "",
        "src/cachezoo/rooms/first.py": "def f():\n    import cachezoo.second\n",
        "src/cachezoo/second.py": "import numpy\n",
        "src/cachezoo/third.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_closure_follows_imports_inside_functions_and_leaves_out_those_for_types(project):
    package = ["src/cachezoo/__init__.py"]
    rooms = ["src/cachezoo/rooms/__init__.py", "src/cachezoo/rooms/first.py", "src/cachezoo/second.py"]
    assert closure(project, project / "pipelines/one.py") == ["pipelines/one.py", *package, *rooms]
    assert closure(project, project / "pipelines/two.py") == ["pipelines/two.py"]


def test_each_stage_has_its_list_by_hash_and_an_unrelated_edit_leaves_it(project):
    write_sources(project, project / "out")
    before = {path.name: path.read_bytes() for path in (project / "out").iterdir()}
    assert set(before) == {"one.json", "two.json"}
    hashes = json.loads(before["one.json"])
    assert hashes["src/cachezoo/second.py"] == sha256_file(project / "src/cachezoo/second.py")
    (project / "src/cachezoo/third.py").write_text("x = 1\n")
    (project / "src/cachezoo/second.py").write_text("import numpy as np\n")
    write_sources(project, project / "out")
    assert (project / "out/one.json").read_bytes() != before["one.json"]
    assert (project / "out/two.json").read_bytes() == before["two.json"]


def test_a_file_that_is_no_python_is_named_and_the_lists_stay(project):
    write_sources(project, project / "out")
    (project / "pipelines/two.py").write_text("def f(:\n")
    with pytest.raises(CachezooError, match=r"pipelines/two\.py: not readable as Python .* mend it") as error:
        write_sources(project, project / "out")
    assert "\n" not in str(error.value)
    assert (project / "out/two.json").exists()


@pytest.mark.parametrize("stage", ["ingest", "train_caching", "export"])
def test_a_stage_loads_no_file_of_the_project_that_its_list_lacks(stage):
    script = f"import runpy, sys; runpy.run_path('pipelines/{stage}.py', run_name='stage')"
    script += "; print(*(m.__file__ for n, m in sys.modules.items() if n.startswith('cachezoo')))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = {str(Path(name).relative_to(ROOT)) for name in done.stdout.split()}
    listed = closure(ROOT, ROOT / f"pipelines/{stage}.py")
    assert "src/cachezoo/stage.py" in loaded <= set(listed)
