"""The report and MLflow's pages as a browser shows them."""

import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from cachezoo.report.page import write_report
from cachezoo.tracking.records import FIRST
from cachezoo.tracking.sync import TAGS, sync, ui_address, ui_command
from tests import placement_data
from tests.metrics_data import page_metrics, page_model, page_trace, row, workload_metrics, write
from tests.report_data import ADMISSION, CACHING, add_model, make_project, trained

pytestmark = [pytest.mark.slow(seconds=120), pytest.mark.needs("chromium")]
START_S, BROWSER_S, RENDER_MS = 60, 90, 15_000
WIDTHS = (1200, 390)
CLASSIFIER = "workload.lstm8"
PLACEMENT = "streams.ledger.fios"


def chromium(profile: Path, *options: str) -> str:
    """Run the browser without a window, its profile below `profile`; what it prints."""
    command = [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
        "--no-first-run", "--disable-background-networking", "--disable-component-update", f"--user-data-dir={profile}",
        *options,
    ]  # fmt: skip
    home = {**os.environ, "HOME": str(profile.parent), "XDG_CONFIG_HOME": str(profile), "XDG_CACHE_HOME": str(profile)}
    done = subprocess.run(command, env=home, capture_output=True, text=True, timeout=BROWSER_S, check=True)
    return done.stdout


def test_the_report_opens_from_a_file(tmp_path: Path) -> None:
    root = tmp_path / "project"
    write_report(root, make_project(root))
    page = (root / "report/index.html").as_uri()
    shown = chromium(tmp_path / "profile", "--dump-dom", page)
    for text in (CACHING, ADMISSION, "Which cache policy should each workload run?", "Does it carry over?", "web_test"):
        assert text in shown.replace("<wbr>", "")
    assert shown.count("<img ") == len(list((root / "report").glob("*.png")))
    for width in WIDTHS:
        picture = tmp_path / f"{width}.png"
        chromium(tmp_path / "profile", f"--screenshot={picture}", f"--window-size={width},1000", page)
        head = picture.read_bytes()
        assert struct.unpack(">II", head[16:24]) == (width, 1000) and len(head) > 20_000  # more than a blank page


@pytest.mark.parametrize("width", [400, 1280])
def test_no_part_of_the_report_is_wider_than_its_window(tmp_path: Path, width: int) -> None:
    """Tables and figures scroll in their own boxes, folds open and closed."""
    root = tmp_path / "project"
    write_report(root, make_project(root))
    page = root / "report/index.html"
    measure = (
        f"<style>html {{ width: {width}px; }}</style><script>const h = document.body;"
        "const closed = h.scrollWidth, high = h.scrollHeight;"
        'document.querySelectorAll("details").forEach(d => { d.open = true; });'
        "document.title = `measured ${closed} ${h.scrollWidth} ${high} ${h.scrollHeight}`</script></body>"
    )
    page.write_text(page.read_text().replace("</body>", measure))
    shown = chromium(tmp_path / "profile", "--dump-dom", f"--window-size={max(width, 500)},900", page.as_uri())
    found = re.search(r"<title>measured (\d+) (\d+) (\d+) (\d+)</title>", shown)
    assert found is not None
    closed, opened, short, long = map(int, found.groups())
    assert (closed, opened) == (width, width) and short < long / 2


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def tracked(tmp_path: Path) -> Path:
    """A project with a synced MLflow: a model of each family, with the figures that its family has."""
    root = tmp_path / "project"
    make_project(root)
    cached = row(CACHING, "model", 0.36, 55.5, 1650.125, decision_us=230.0, gap_closed=0.4567)
    tests = {"web_test": page_trace("test", cached)}
    write(root / "metrics/page/web.json", page_metrics(tests, models={CACHING: page_model({"web_test": cached})}))
    add_model(root, trained(CLASSIFIER), card=False)
    judged = workload_metrics(CLASSIFIER)
    pooled = judged.models[CLASSIFIER].test.model_copy(update={"balanced_accuracy": 0.9876})
    entry = judged.models[CLASSIFIER].model_copy(update={"test": pooled})
    write(root / "metrics/workload.json", judged.model_copy(update={"models": {CLASSIFIER: entry}}))
    add_model(root, trained(PLACEMENT), card=False)
    write(root / "metrics/streams/ledger.json", placement_data.metrics(PLACEMENT))
    for card in root.glob("models/bundles/*/card.md"):
        shutil.rmtree(card.parent)  # these are no bundles that a reader would accept
    sync(root)
    return root


@pytest.fixture
def served(tracked: Path, tmp_path: Path) -> Iterator[str]:
    """MLflow's server as `make ui` starts it, on a free port; ended with all it started."""
    port = free_port()
    with (tmp_path / "server.log").open("wb") as log:
        server = subprocess.Popen(
            ui_command(tracked, port), stdout=log, stderr=subprocess.STDOUT, cwd=tracked, start_new_session=True
        )
    try:
        deadline = time.monotonic() + START_S
        while not healthy(port):
            assert server.poll() is None and time.monotonic() < deadline, (tmp_path / "server.log").read_text()[-2000:]
            time.sleep(0.2)
        yield ui_address(tracked, port)
        said = [
            line for line in (tmp_path / "server.log").read_text().splitlines() if "Security middleware" not in line
        ]
        assert said == []  # neither warnings nor a line for each request
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=30)


def healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_mlflow_shows_the_runs_side_by_side(served: str, tmp_path: Path) -> None:
    """The table that `make ui` names: every model a row, its verdict and a figure of each kind the columns."""
    options = ("--dump-dom", f"--virtual-time-budget={RENDER_MS}", "--window-size=2400,1200")
    shown = chromium(tmp_path / "profile", *options, served)
    assert [name for name in (CACHING, ADMISSION, CLASSIFIER, PLACEMENT) if name not in shown] == []
    assert [name for name in (*FIRST, *TAGS) if name not in shown] == []
    assert "MLflow Assistant" not in shown and "data-assistant-ui" not in shown
    assert "0.4567" in shown and "0.9876" in shown  # a family's figures in their cells
