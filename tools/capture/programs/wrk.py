"""wrk as the clients of a web server: its command line, and what it says at its end."""

import re
from pathlib import Path

from cachezoo.errors import CaptureError
from tools.capture.installed import program, version_line
from tools.capture.programs.servers import ADDRESS
from tools.capture.sandbox import Sandbox

SCRIPT = Path(__file__).with_name("wrk.lua")
MAX_FAILED_SHARE = 0.02
REPLAYED = ("replay", 1, 1, 0, 0, 0, 0)


def wrk_command(port: int, seconds: int, clients: int, index: Path, *arguments: object) -> list[str]:
    """The command line of a run.

    Args:
        port: the server's.
        seconds: how long.
        clients: connections.
        index: the script's file of articles or requests.
        arguments: mode, rate, seed, theta, shift, first, last, see wrk.lua.
    """
    command = [program("wrk"), "-t", "1", "-c", str(clients), "-d", f"{seconds}s", "--timeout", "10s"]
    return [*command, "-s", str(SCRIPT), f"http://{ADDRESS}:{port}", "--", str(index), *map(str, arguments)]


def check_wrk_log(box: Sandbox, log: Path) -> None:
    """See by what wrk said at its end that the server answered; a file replaced under a request may fail, few may.

    Raises:
        CaptureError: too many of wrk's requests failed.
    """
    text = log.read_text(errors="replace")
    done = sum(map(int, re.findall(r"(\d+) requests in", text)))
    failed = sum(map(int, re.findall(r"Non-2xx or 3xx responses: (\d+)", text)))
    for errors in re.findall(r"Socket errors: (.*)", text):
        failed += sum(map(int, re.findall(r"\d+", errors)))
    if not box.closing.is_set() and failed > MAX_FAILED_SHARE * max(done, 50):
        raise CaptureError(f"wrk: {failed} of {done} requests failed; the web server does not keep up")


def wrk_version() -> str:
    """As wrk says, without its copyright."""
    return version_line("wrk", "-v").split(" Copyright")[0]
