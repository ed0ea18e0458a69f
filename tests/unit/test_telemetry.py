import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUNTIME = "import onnxruntime; onnxruntime.SessionOptions()"


@pytest.mark.parametrize("code", [f"import cachezoo; {RUNTIME}", f"from cachezoo.bundles import load; {RUNTIME}"])
def test_onnxruntime_keeps_no_identity_and_reports_nothing(code: str, tmp_path: Path) -> None:
    """Where it reports, it leaves an id and a queue of events in the cache folder as soon as it is imported."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ORT_", "XDG_"))}
    environment = {**kept, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "-c", code], env=environment, cwd=tmp_path, check=True, timeout=60)
    assert list(tmp_path.rglob("*")) == []


def test_a_choice_of_the_user_stands() -> None:
    code = "import cachezoo, os; print(os.environ['ORT_DISABLE_TELEMETRY'])"
    environment = {**os.environ, "ORT_DISABLE_TELEMETRY": "0", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"
