"""The mail server that is written to: its plans, and its clients on a queue, with a server that only remembers."""

from pathlib import Path

import numpy as np
import pytest

from tools.capture.clients import spool
from tools.capture.clients.spool import ACTIVE, DEFERRED, Spool
from tools.capture.programs.spool import ARCHIVE, VISITS, mailboxes, visits_of
from tools.capture.recipe import RECIPES, load_recipe
from tools.capture.schedule import Segment

RECIPE = load_recipe(RECIPES / "spool.yaml")
LOAD = RECIPE.load
SEGMENT = Segment(index=0, start_s=0, seconds=50, rate=200.0, elapsed_days=0.0, seed=3)


class Server:
    """Mailboxes of one message number each, oldest first; says what an IMAP server would."""

    def __init__(self) -> None:
        self.boxes: dict[int, list[bytes]] = {}
        self.flagged: list[str] = []
        self.sessions = 0

    def login(self, port: int, user: int) -> "Session":
        self.sessions += 1
        return Session(self, self.boxes.setdefault(user, []))


class Session:
    def __init__(self, server: Server, box: list[bytes]) -> None:
        self.server, self.box, self.deleted = server, box, set[int]()

    def select(self, folder: str):
        return "OK", [str(len(self.box)).encode()]

    def append(self, folder: str, flags: str, date: None, text: bytes) -> None:
        self.box.append(text)

    def store(self, which: str, how: str, flag: str) -> None:
        first, _, last = which.partition(":")
        assert 1 <= int(first) <= int(last or first) <= len(self.box)
        if flag == "(\\Deleted)":
            self.deleted |= set(range(int(first), int(last or first) + 1))
        else:
            self.server.flagged.append(which)

    def fetch(self, which: str, what: str) -> None:
        assert 1 <= int(which) <= len(self.box)

    def expunge(self) -> None:
        self.box[:] = [text for number, text in enumerate(self.box, 1) if number not in self.deleted]
        self.deleted.clear()

    def logout(self) -> None:
        self.server.sessions -= 1


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    monkeypatch.setattr(spool, "login", made.login)
    return made


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    for folder in (ACTIVE, DEFERRED):
        (tmp_path / folder).mkdir()
    return tmp_path


def client(queue: Path, visits, users=tuple(range(20)), seed=1) -> Spool:
    rows = [[0.0, *visit] for visit in visits]
    return Spool({"port": 1, "queue": str(queue), "seed": seed, "users": list(users), "visits": rows})


def files(queue: Path) -> list[str]:
    return sorted(f"{path.parent.name}/{path.name}" for path in queue.glob("*/*"))


def test_a_message_goes_through_the_queue_and_leaves_nothing_there(server: Server, queue: Path) -> None:
    report = client(queue, [("deliver", 3, 5000), ("deliver", 3, 900), ("deliver", 4, 700)]).run()
    assert {user: [len(text) for text in box] for user, box in server.boxes.items()} == {3: [5000, 900], 4: [700]}
    assert report["made"] == 3
    assert files(queue) == [] and server.sessions == 0


def test_a_deferred_message_waits_for_its_clients_next_run_of_the_queue(server: Server, queue: Path) -> None:
    client(queue, [("defer", 3, 5000), ("defer", 4, 600)]).run()
    assert server.boxes == {} and [name.rpartition(".")[0] for name in files(queue)] == ["deferred/3", "deferred/4"]
    client(queue, [], users=[4], seed=2).run()
    assert [len(text) for text in server.boxes[4]] == [600] and 3 not in server.boxes
    assert [name.rpartition(".")[0] for name in files(queue)] == ["deferred/3"]


def test_a_file_that_another_client_has_taken_is_left_to_it(
    server: Server, queue: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (queue / DEFERRED / "3.7").write_bytes(b"m")
    listed = [queue / DEFERRED / "3.7", queue / DEFERRED / "3.8"]
    monkeypatch.setattr(Path, "iterdir", lambda folder: iter(listed))
    client(queue, []).run_queue()
    assert server.boxes == {3: [b"m"]} and files(queue) == []


def test_users_flag_read_and_discard_what_is_there_and_nothing_of_an_empty_box(server: Server, queue: Path) -> None:
    client(queue, [("read", 1, 0), ("flag", 1, 0), ("discard", 1, 0)]).run()
    assert server.boxes == {1: []} and server.flagged == []
    server.boxes[1] = [b"a", b"b", b"c"]
    client(queue, [("read", 1, 0), ("flag", 1, 0), ("discard", 1, 0)]).run()
    assert len(server.boxes[1]) == 2 and len(server.flagged) == 1


def test_expiry_keeps_the_newest(server: Server, queue: Path) -> None:
    server.boxes = {1: [b"a", b"b", b"c"], 2: [b"d"]}
    client(queue, [("expire", 1, 2), ("expire", 2, 2)]).run()
    assert server.boxes == {1: [b"b", b"c"], 2: [b"d"]}


def test_a_client_keeps_a_few_connections(server: Server, queue: Path) -> None:
    one = client(queue, [])
    for user in (*range(12), 11):
        one.deliver(user, 600)
    assert server.sessions == spool.CONNECTIONS == len(one.connections)
    one.close()
    assert server.sessions == 0


def test_visits_have_the_recipes_rate_kinds_and_users() -> None:
    visits = visits_of(LOAD, RECIPE.seed, SEGMENT)
    assert visits == visits_of(LOAD, RECIPE.seed, SEGMENT)
    assert len(visits) == pytest.approx(10_000, rel=0.05)
    times = [visit[0] for visit in visits]
    assert times == sorted(times) and 0 <= times[0] and times[-1] < 50
    kinds, users = [visit[1] for visit in visits], np.array([visit[2] for visit in visits])
    weights = {name: LOAD.paced.mix[name] for name in VISITS}
    for name, weight in weights.items():
        assert kinds.count(name) / len(kinds) == pytest.approx(weight / sum(weights.values()), abs=0.02)
    counts = np.sort(np.bincount(users, minlength=LOAD.users))[::-1]
    wanted = np.arange(1, LOAD.users + 1) ** -LOAD.paced.theta
    assert counts[0] / counts.sum() == pytest.approx(wanted[0] / wanted.sum(), rel=0.2)
    later = visits_of(LOAD, RECIPE.seed, Segment(0, 0, 50, 200.0, 1.0, 3))
    assert np.bincount([visit[2] for visit in later]).argmax() != np.bincount(users).argmax()


def test_mailboxes_hold_what_the_recipe_says() -> None:
    boxes = mailboxes(LOAD, RECIPE.seed)
    assert set(boxes) == {"INBOX", ARCHIVE}
    for name, messages in (("INBOX", LOAD.messages), (ARCHIVE, LOAD.archived)):
        counts = [len(box) for box in boxes[name]]
        assert len(counts) == LOAD.users and sum(counts) == pytest.approx(messages, rel=0.02)
        assert max(counts) > 3 * min(counts)
    sizes = np.concatenate([np.array(box) for box in boxes["INBOX"]]) / 1024
    assert np.median(sizes) == pytest.approx(LOAD.median_kib, rel=0.05) and sizes.max() <= LOAD.max_kib
