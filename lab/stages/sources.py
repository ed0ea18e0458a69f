"""Stage sources of lab/dvc.yaml: the source files that each of its other stages runs, by hash."""

from pathlib import Path

from cachezoo.closure import Project, sources_of
from cachezoo.io import write_json
from cachezoo.stage import guarded

STAGES = (
    "carry_over", "retrained", "reconfigure", "rcrnn_paper", "rcrnn_sizes", "rcrnn_grid", "rcrnn_added",
    "rcrnn_classifier", "rcrnn", "fios", "hca", "virtual", "baleen",
)  # fmt: skip
PACKAGES = {"cachezoo": "src", "lab": "."}
LISTS = {name: f"sources.{name}.json" for name in STAGES}

if __name__ == "__main__":
    with guarded("sources"):
        project = Project(Path.cwd(), PACKAGES)
        for name, file in LISTS.items():
            write_json(Path("lab") / file, sources_of(project, project.root / f"lab/stages/{name}.py"))
