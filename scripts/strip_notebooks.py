"""Take outputs and execution counts out of notebooks/*.ipynb, which are stored without."""

import json
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
METADATA = {**KERNEL, "language_info": {"name": "python"}}


def stripped(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook's sources alone: no outputs, counts, or metadata of the editor that it was open in."""
    cells = [
        {**cell, "metadata": {}, **({"outputs": [], "execution_count": None} if cell["cell_type"] == "code" else {})}
        for cell in notebook["cells"]
    ]
    return {**notebook, "cells": cells, "metadata": METADATA}


def dumps(notebook: dict[str, Any]) -> str:
    """The text of a notebook as Jupyter writes it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def main() -> None:
    """Rewrite those that hold more."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        path.write_text(dumps(stripped(json.loads(path.read_text(encoding="utf-8")))), encoding="utf-8")


if __name__ == "__main__":
    main()
