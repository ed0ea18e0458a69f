"""docs/howto-add-a-system.md, its files put into a copy of the project and its stages run."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/howto-add-a-system.md"
TINY = ROOT / "tests/e2e/tiny"
FILE = re.compile(r"`((?:src|conf|pipelines)/[\w/.]+|dvc\.yaml)`")
pytestmark = pytest.mark.slow(seconds=120)


def blocks(page: Path = PAGE) -> list[tuple[str, str, str]]:
    """(file, language, text) of each block; a block belongs to the file that was named last before it."""
    found: list[tuple[str, str, str]] = []
    file, language, lines = "", "", []
    for line in page.read_text().splitlines():
        if line.startswith("```") and not language:
            language, lines = line[3:], []
        elif line == "```":
            found.append((file, language, "\n".join(lines) + "\n"))
            language = ""
        elif language:
            lines.append(line)
        elif named := FILE.findall(line):
            file = named[-1]
    return found


def edit(path: Path, diff: str) -> None:
    """Put the `+` lines of a block in place: of the `-` lines, or beside the context."""
    lines = diff.splitlines()
    old = [line[1:] for line in lines if line[:1] != "+"]
    new = [line[1:] for line in lines if line[:1] != "-"]
    text = path.read_text()
    assert text.count("\n".join(old) + "\n") == 1, (path, old)
    path.write_text(text.replace("\n".join(old) + "\n", "\n".join(new) + "\n"))


def run(folder: Path, *command: str) -> str:
    # Compiled kernels are the checkout's: their folder is named by their sources.
    kernels = os.environ.get("CACHEZOO_CACHE_DIR", str(ROOT / ".cache"))
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": "src", "PYTHONHASHSEED": "0", "CACHEZOO_CACHE_DIR": kernels}
    command = (sys.executable, *command)
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def sources(folder: Path) -> dict[str, dict]:
    run(folder, "pipelines/stages.py", "sources")
    return {path.stem: json.loads(path.read_text()) for path in (folder / "data/sources").iterdir()}


def fresh(folder: Path) -> Path:
    """A copy of the project on tiny traces."""
    for name in ("src", "conf", "pipelines", "dvc.yaml", "requirements.lock"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    run(folder, "-c", f"import sys; sys.path.insert(0, {str(TINY)!r}); from pathlib import Path; import make_traces; "
                      "make_traces.write(Path('data/raw/tiny'))")  # fmt: skip
    tiny = (TINY / "matrix.yaml").read_text()
    models = yaml.safe_load(tiny)["models"]
    table = "models:\n" + "".join(f"  {kind}: {arch}\n" for kind, arch in sorted(models.items()))
    (folder / "conf/matrix.yaml").write_text(re.sub(r"^models:.*\n", table, tiny, flags=re.MULTILINE))
    return folder


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Such a copy, with its lists of sources before the system was added."""
    folder = fresh(tmp_path_factory.mktemp("howto"))
    before = sources(folder)
    for file, language, text in blocks():
        if language == "diff":
            edit(folder / file, text)
        else:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text)
    return folder, before


def test_a_new_system_changes_no_list_of_sources_but_of_stages_that_go_over_all_systems(project):
    folder, before = project
    after = sources(folder)
    assert set(after) - set(before) == {"fit_reread", "judge_reread"}
    assert {name for name in before if before[name] != after[name]} == {"compose", "export", "report", "track"}


def test_its_stages_run_and_say_what_they_found(project):
    folder, _ = project
    run(folder, "pipelines/stages.py", "compose")
    for key in ("alpha_train", "alpha_validation"):
        run(folder, "pipelines/stages.py", "ingest", key)
    run(folder, "pipelines/stages.py", "fit_reread", "alpha")
    fitted = json.loads((folder / "models/fitted/reread/reread.alpha.tree/fit.json").read_text())
    run(folder, "pipelines/stages.py", "judge_reread", "alpha")
    model = json.loads((folder / "models/trained/reread/reread.alpha.tree/train.json").read_text())
    assert fitted["trained"] is model["trained"] is True
    assert [trace["role"] for trace in model["traces"]] == ["train", "validation"]
    assert model["validation"]["balanced_accuracy"] > 0.4
    assert model["beats_baseline"] is (model["validation"]["difference_low"] > 0)


def test_its_stages_name_the_params_that_they_read(project):
    folder, _ = project
    stages = yaml.safe_load((folder / "dvc.yaml").read_text())["stages"]
    for stage in ("fit", "judge"):
        code = f"from cachezoo.zoo.reread.{stage} import Settings; print(*Settings.places().values())"
        read = {path for path in run(folder, "-c", code).split() if not path.startswith("data.")}
        assert {*stages[f"{stage}_reread"]["params"]} == read
        assert "data/traces.json" in stages[f"{stage}_reread"]["deps"]


def test_it_is_linted_as_the_project_is(project):
    folder, _ = project
    config = ["--config", str(ROOT / "pyproject.toml"), "--no-cache"]
    run(folder, "-m", "ruff", "check", *config, "src/cachezoo/zoo/reread", "pipelines/stages.py")
