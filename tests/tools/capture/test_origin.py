"""The origin that caches stand before."""

import threading
import urllib.request
from itertools import pairwise

from tools.capture.clients.origin import serve, sizes


def test_objects_have_their_sizes_and_are_the_same_whenever_somebody_asks():
    objects = sizes(20, (4.0, 0.8, 64), 3)
    assert objects == sizes(20, (4.0, 0.8, 64), 3) != sizes(20, (4.0, 0.8, 64), 4)
    assert all(512 <= size <= 64 * 1024 for size in objects)
    server = serve(0, objects, 3)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        held = []
        for item in (0, 7, 19, 7):
            with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/a{item}") as answer:
                assert "max-age" in answer.headers["Cache-Control"]
                held.append(answer.read())
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert [len(content) for content in held] == [objects[item] for item in (0, 7, 19, 7)]
    assert held[1] == held[3] and all(one != other for one, other in pairwise(held[:3]))
