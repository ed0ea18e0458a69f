"""A web server that caches stand before: `origin.py PORT COUNT MEDIAN_KIB SIGMA MAX_KIB SEED`, until SIGTERM.

It has objects /a0, /a1, ... of lognormal sizes, each the same whenever somebody asks.
"""

import random
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tools.capture.clients.messages import drawn_size

ADDRESS = "127.0.0.1"


def sizes(count: int, kib: tuple[float, float, int], seed: int) -> list[int]:
    """Bytes of each object.

    Args:
        count: of objects.
        kib: median in KiB, sigma, and the largest in KiB, lognormal.
        seed: of the draw.
    """
    draw = random.Random(seed)
    return [drawn_size(draw, *kib) for _ in range(count)]


def serve(port: int, objects: list[int], seed: int) -> ThreadingHTTPServer:
    """A server of objects on a port of this machine, which has yet to begin.

    Args:
        port: to listen at; 0 is any.
        objects: their bytes.
        seed: of their content.
    """
    block = random.Random(seed).randbytes(2 * max(objects))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            """Send an object, with a year to keep it."""
            item = int(self.path[2:])
            self.send_response(200)
            self.send_header("Content-Length", str(objects[item]))
            self.send_header("Cache-Control", "public, max-age=31536000")
            self.end_headers()
            start = item * 7919 % max(objects)
            self.wfile.write(block[start : start + objects[item]])

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 256

    return Server((ADDRESS, port), Handler)


if __name__ == "__main__":
    at, number, median, spread, most, first = map(float, sys.argv[1:])
    made = sizes(int(number), (median, spread, int(most)), int(first))
    serve(int(at), made, int(first)).serve_forever()
