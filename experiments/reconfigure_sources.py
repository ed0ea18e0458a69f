"""Stage reconfigure_sources of experiments/dvc.yaml: the source files that the stage reconfigure runs, by hash."""

from pathlib import Path

from cachezoo.closure import Project, sources_of
from cachezoo.io import write_json
from cachezoo.stage import guarded

if __name__ == "__main__":
    with guarded("reconfigure_sources"):
        project = Project(Path.cwd())
        found = sources_of(project, project.root / "experiments/reconfigure.py")
        write_json(Path("experiments/sources.reconfigure.json"), found)
