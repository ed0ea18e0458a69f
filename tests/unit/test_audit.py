"""scripts/audit.py against a service of vulnerabilities on the loopback."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from scripts.locks import DEV, RUN, pins
from tests.loopback import served

ROOT = Path(__file__).resolve().parents[2]
FOUND = {"id": "X-1", "summary": "bad", "affected": [{"package": {"name": "torch", "ecosystem": "PyPI"}}]}


@contextmanager
def service(found=(), body=None, status=200, good=10**6):
    """A service; gives its address and the packages that it was asked for.

    Args:
        found: names of packages with a vulnerability.
        body: what it answers whatever it is asked.
        status: of its answers.
        good: how many answers have status 200 nevertheless.
    """
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            name = said["package"]["name"]
            answer = body or json.dumps({"vulns": [FOUND]} if name in found else {})
            self.send_response(200 if len(asked) < good else status)
            asked.append((name, said["version"]))
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *words):
            pass

    with served(Handler) as url:
        yield f"{url}/v1/query", asked


def audit(url, *words):
    env = {**os.environ, "OSV_URL": url, "NO_PROXY": "127.0.0.1"}
    audit = [sys.executable, "-m", "scripts.audit", *words]
    return subprocess.run(audit, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def test_every_pin_is_asked_for_and_nothing_found_is_said():
    with service() as (url, asked):
        done = audit(url, "--if-reachable")
    assert (done.returncode, done.stderr) == (0, "No known vulnerabilities found\n")
    assert set(asked[1:]) == {(pin.name, pin.version) for lock in (RUN, DEV) for pin in pins(ROOT / lock)}


@pytest.mark.parametrize("words", [[], ["--if-reachable"]])
def test_a_vulnerability_fails(words):
    with service(found=["torch"]) as (url, _):
        done = audit(url, *words)
    assert done.returncode == 1
    assert "torch" in done.stdout and "X-1" in done.stdout


def test_a_service_that_fails_on_the_way_is_no_pass():
    with service(status=500, good=5) as (url, _):
        assert audit(url, "--if-reachable").returncode != 0


@pytest.mark.parametrize(
    ("answers", "why"),
    [(None, "ConnectionError"), ({"status": 404, "good": 0}, "status 404"), ({"body": "<html>"}, "JSONDecodeError"),
     ({"body": "[]"}, "it answers something else")],
)  # fmt: skip
@pytest.mark.parametrize(("words", "status"), [([], 1), (["--if-reachable"], 0)])
def test_where_the_service_cannot_be_asked_a_line_says_so(answers, why, words, status):
    with service(**answers or {}) as (url, asked):
        done = audit(url if answers else "http://127.0.0.1:9/v1/query", *words)
    assert done.returncode == status and len(asked) == (answers is not None)
    assert done.stderr.startswith("audit: NOT MADE: ") and f"({why})" in done.stderr and done.stderr.count("\n") == 1
