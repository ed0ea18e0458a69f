"""wrk against a small server of the test's own: what it asks for and when, and how its report is read."""

import http.server
import subprocess
import threading
import time
from types import SimpleNamespace

import pytest

from cachezoo.errors import CaptureError
from tests.tools.capture.test_blob_plan import CONF
from tools.capture.recipe import load_recipe
from tools.capture.sandbox import Sandbox
from tools.capture.workloads.blob import BlobWorkload
from tools.capture.workloads.wrk import REPLAYED, check_wrk, start_wrk, wrk_log


class Box(SimpleNamespace):
    """What the functions want of a sandbox, with programs that end by themselves."""

    def spawn(self, command, log, limited=True):
        with log.open("ab") as file:
            return subprocess.Popen(command, stdout=file, stderr=file)

    def finish(self, process, name, log, timeout_s):
        assert process.wait(timeout_s) == 0


@pytest.fixture
def box(tmp_path):
    return Box(work=tmp_path, closing=threading.Event())


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


@pytest.mark.needs("capture")
def test_a_replay_asks_for_every_line_once_and_not_before_its_time(box, server):
    due = [100 + 20 * step for step in range(20)]
    lines = [f"{when} /t/objects/{step:06d} bytes={step}-{step + 9}\n" for step, when in enumerate(due)]
    index = box.work / "reads.txt"
    index.write_text("".join(lines))
    began = time.monotonic()
    process = start_wrk(box, "0", server.server_port, 2, 3, index, REPLAYED)
    check_wrk(box, "0", process, 30)
    asked = sorted((path, ranges) for _, path, ranges in server.asked)
    assert asked == [(f"/t/objects/{step:06d}", f"bytes={step}-{step + 9}") for step in range(20)]
    # None comes before it is due, on however busy a machine.
    times = {path: moment - began for moment, path, _ in server.asked}
    assert all(times[f"/t/objects/{step:06d}"] >= when / 1000 for step, when in enumerate(due))


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
def test_few_requests_may_fail(box, done, errors, failed):
    wrk_log(box, "7").write_text(REPORT.format(done=done, errors=errors))
    process = subprocess.Popen(["true"])
    if not failed:
        check_wrk(box, "7", process, 10)
        return
    with pytest.raises(CaptureError, match=rf"wrk: {failed} of {done} requests failed"):
        check_wrk(box, "7", process, 10)
    box.closing.set()
    check_wrk(box, "7", process, 10)


@pytest.mark.needs("cgroup")
def test_an_upload_that_is_refused_is_the_captures_failure(tmp_path, server):
    recipe = load_recipe(CONF / "blob_tiny.yaml")
    store = BlobWorkload(recipe, Sandbox(64, 32, 128, tmp_path, BlobWorkload.volumes(recipe)))
    store._server.port = server.server_port
    with pytest.raises(CaptureError, match=r"nginx did not take /media/objects/000001 of 10 bytes: status 507"):
        store._put("/media/objects/000001", 10)
    server.shutdown()
    server.server_close()
    with pytest.raises(CaptureError, match=r"of 10 bytes: .*refused"):
        store._put("/media/objects/000001", 10)
    store.box.closing.set()
    store._put("/media/objects/000001", 10)
