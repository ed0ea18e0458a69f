"""Stage sources of experiments/dvc.yaml: the source files that its other stage runs, by hash."""

from pathlib import Path

from cachezoo.closure import Project, sources_of
from cachezoo.io import write_json
from cachezoo.stage import guarded

if __name__ == "__main__":
    with guarded("sources"):
        root = Path.cwd()
        write_json(Path("experiments/sources.json"), sources_of(Project(root), root / "experiments/carry_over.py"))
