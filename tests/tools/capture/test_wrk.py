"""wrk against a small server of the test's own: what it asks for and when, and how its report is read."""

import http.server
import subprocess
import threading
import time
from types import SimpleNamespace

import pytest

from cachezoo.errors import CaptureError
from tools.capture.programs.blob import Blob
from tools.capture.programs.wrk import REPLAYED, check_wrk_log, wrk_command
from tools.capture.recipe import RECIPES, load_recipe
from tools.capture.sandbox import Sandbox


@pytest.fixture
def box():
    """What the check wants of a sandbox."""
    return SimpleNamespace(closing=threading.Event())


@pytest.fixture
def server():
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            asked.append((time.monotonic(), self.path, self.headers["Range"]))
            self.send_response(206)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def do_PUT(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_error(507)

        def log_message(self, *arguments):
            pass

    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.asked = asked
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()


def run(folder, server, seconds, clients, lines, *arguments):
    """Run wrk to its end."""
    index = folder / "index.txt"
    index.write_text("".join(f"{line}\n" for line in lines))
    command = wrk_command(server.server_port, seconds, clients, index, *arguments)
    subprocess.run(command, check=True, capture_output=True, timeout=60)


@pytest.mark.needs("capture")
def test_a_replay_asks_for_every_line_once_and_not_before_its_time(tmp_path, server):
    due = [100 + 20 * step for step in range(20)]
    lines = [f"{when} /t/objects/{step:06d} bytes={step}-{step + 9}" for step, when in enumerate(due)]
    began = time.monotonic()
    run(tmp_path, server, 2, 3, lines, *REPLAYED)
    asked = sorted((path, ranges) for _, path, ranges in server.asked)
    assert asked == [(f"/t/objects/{step:06d}", f"bytes={step}-{step + 9}") for step in range(20)]
    # None comes before it is due, on however busy a machine.
    times = {path: moment - began for moment, path, _ in server.asked}
    assert all(times[f"/t/objects/{step:06d}"] >= when / 1000 for step, when in enumerate(due))


@pytest.mark.needs("capture")
@pytest.mark.parametrize(("visits", "crawls"), [(1, 0), (0, 1)])
def test_a_closed_loop_visits_pages_with_their_assets_or_crawls_pages_in_order(tmp_path, server, visits, crawls):
    pages = [f"/{article}.html" for article in range(5)]
    lines = [f"{page} /{article}-0.jpg /{article}-1.jpg" for article, page in enumerate(pages)]
    run(tmp_path, server, 1, 1, lines, "loop", visits, 7, 0.5, 0, 2, 5, crawls)
    asked = [path for _, path, _ in server.asked]
    assert asked  # wrk's own first request, which it drops, may have been any
    if visits:
        first = next(place for place, path in enumerate(asked) if path in pages)
        whole = [asked[place : place + 3] for place in range(first, len(asked) - 2, 3)]
        assert all(" ".join(visit) in lines for visit in whole)
    else:
        start = pages.index(asked[0])
        assert asked == [pages[(start + step) % 5] for step in range(len(asked))]


REPORT = "  {done} requests in 5.00s, 1MB read\n{errors}"


@pytest.mark.parametrize(
    ("done", "errors", "failed"),
    [
        (1000, "", 0),
        (1000, "  Non-2xx or 3xx responses: 20\n", 0),
        (1000, "  Non-2xx or 3xx responses: 21\n", 21),
        (10, "  Socket errors: connect 1, read 0, write 0, timeout 0\n", 0),
        (10, "  Socket errors: connect 1, read 1, write 0, timeout 2\n", 4),
        (100, "  Socket errors: connect 0, read 0, write 0, timeout 2\n  Non-2xx or 3xx responses: 1\n", 3),
    ],
)
def test_few_requests_may_fail(tmp_path, box, done, errors, failed):
    log = tmp_path / "wrk.log"
    log.write_text(REPORT.format(done=done, errors=errors))
    if not failed:
        check_wrk_log(box, log)
        return
    with pytest.raises(CaptureError, match=rf"wrk: {failed} of {done} requests failed"):
        check_wrk_log(box, log)
    box.closing.set()
    check_wrk_log(box, log)


@pytest.mark.needs("cgroup")
def test_an_upload_that_is_refused_is_the_captures_failure(tmp_path, server):
    recipe = load_recipe(RECIPES / "blob_tiny.yaml")
    store = Blob(recipe, Sandbox(64, 32, 128, tmp_path, Blob.volumes(recipe)))
    store.server.port = server.server_port
    with pytest.raises(CaptureError, match=r"nginx did not take /media/objects/000001 of 10 bytes: status 507"):
        store._put("/media/objects/000001", 10)
    server.shutdown()
    server.server_close()
    with pytest.raises(CaptureError, match=r"of 10 bytes: .*refused"):
        store._put("/media/objects/000001", 10)
    store.box.closing.set()
    store._put("/media/objects/000001", 10)
