"""What PostgreSQL's books are looked through for."""

import pytest

from cachezoo.errors import CaptureError
from tests.tools.capture.test_closed_capture import recipe
from tools.capture.programs.postgres import Postgres
from tools.capture.sandbox import Sandbox


@pytest.mark.slow
@pytest.mark.needs("root", "loop", "cgroup", "capture")
def test_books_that_do_not_balance_are_found():
    with Sandbox(192, 64, 64) as box:
        shop = Postgres(recipe("postgres"), box)
        shop.prepare()
        shop.start()
        change = "UPDATE pgbench_accounts SET abalance = abalance + 5 WHERE aid = 7"
        shop._sql(f"{change}; INSERT INTO pgbench_history (tid, bid, aid, delta) VALUES (1, 1, 7, 5)")
        shop.check_books()
        shop._sql(change)
        with pytest.raises(CaptureError, match="division by zero"):
            shop.check_books()
        shop.stop()
