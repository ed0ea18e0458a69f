"""Office users of a file server, written out as dbench's load files: one user's operations of one segment each.

A line of a load file is an operation as Samba makes it of a client's; the first of each visit carries the second at
which dbench is to begin it, so a load file paces itself. Offices keep count of the sizes of their documents, so that
what is read is there.
"""

from collections.abc import Callable, Mapping

import numpy as np

from cachezoo.arrays import I64
from cachezoo.seeds import derive_seed
from tools.capture.loads import DbenchLoad
from tools.capture.programs.draws import KIB, lognormal_sizes
from tools.capture.recipe import given
from tools.capture.schedule import Segment

CHUNK = 64 * KIB
FILES_PER_FOLDER = 64
ACTIONS = ("reads", "peeks", "edits", "saves", "appends", "listings")
WRITING = ("edits", "saves", "appends")
EVENING = 0.7
# Lines of nothing after the last visit: a client looks for the end of its run at each line, and starts anew after the
# last one.
IDLE_STEP_S = 0.1
IDLE_S = 5.0
NOTHING = "QUERY_FS_INFORMATION 1 NT_STATUS_OK"
OPEN, OVERWRITE = 2, 5
HANDLES = 1000


class _Pool:
    """Documents in the order of their age, which new ones change by the day, and their popularity, Zipf by age."""

    def __init__(self, order: I64, theta: float, drift: float) -> None:
        self._order = order
        self._cumulative = np.cumsum(np.arange(1, len(order) + 1) ** -theta)
        self._drift = drift * len(order)

    def draw(self, rng: np.random.Generator, days: float) -> int:
        """A document by its popularity at a time."""
        rank = int(np.searchsorted(self._cumulative, rng.random() * self._cumulative[-1]))
        return int(self._order[(rank - int(days * self._drift)) % len(self._order)])


class Office:
    """Users, their documents and what they do with them.

    Attributes:
        sizes: bytes of each document, as the load files written so far leave them.
    """

    def __init__(self, load: DbenchLoad, seed: int) -> None:
        """Draw the documents: the shared ones first, then each user's own, in equal parts.

        Args:
            load: the recipe's part.
            seed: of all draws but those of a segment.
        """
        self._load = load
        self.sizes = lognormal_sizes(load, load.files, derive_seed(seed, "capture_sizes"))
        rng = np.random.default_rng(derive_seed(seed, "capture_office"))
        self._shared = max(1, int(load.files * load.shared))
        self._own = (load.files - self._shared) // load.clients
        pools = [(0, self._shared)] + [(self._home(user), self._own) for user in range(load.clients)]
        self._orders = [first + rng.permutation(count) for first, count in pools]
        activity = np.exp(rng.normal(0.0, load.user_sigma, load.clients))
        self._activity = activity / activity.sum()
        self._drafts = 0

    def _home(self, user: int) -> int:
        return self._shared + user * self._own

    def folder(self, document: int) -> str:
        """The folder of a document, from the root of the share."""
        if document < self._shared:
            return f"/shared/f{document // FILES_PER_FOLDER:03d}"
        user, place = divmod(document - self._shared, self._own)
        return f"/home/u{user:03d}/f{place // FILES_PER_FOLDER:03d}"

    def path(self, document: int) -> str:
        """The path of a document, from the root of the share."""
        return f"{self.folder(document)}/d{document:06d}.doc"

    @property
    def documents(self) -> int:
        """Documents that have a place; a rest that does not divide among the users has none."""
        return self._home(self._load.clients)

    def folders(self) -> dict[str, int]:
        """Each folder, in order of the documents, and how many bytes are in it."""
        held: dict[str, int] = {}
        for document in range(self.documents):
            folder = self.folder(document)
            held[folder] = held.get(folder, 0) + int(self.sizes[document])
        return held

    def _pools(self, theta: float, drift: float) -> list[_Pool]:
        """The shared documents and each user's own; a day makes `drift` of them new."""
        return [_Pool(order, theta, drift) for order in self._orders]

    def weights(self, days: float) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
        """How likely each of `ACTIONS` is at a time: reading in the morning, writing in the evening; sums to 1."""
        writing = 1 - EVENING * np.sin(2 * np.pi * days)
        mix = given(self._load.paced).mix
        weight = np.array([mix.get(name, 0) * (writing if name in WRITING else 1) for name in ACTIONS])
        return np.asarray(weight / weight.sum())

    def segment(self, segment: Segment) -> list[str]:
        """A load file for each user. Visits come as a Poisson process at the segment's rate.

        Args:
            segment: its rate is in visits a second; segments are to be asked for in their order.
        """
        rng = np.random.default_rng(segment.seed)
        days, load, pace = segment.elapsed_days, self._load, given(self._load.paced)
        pools = self._pools(pace.theta, pace.drift / load.files)
        times = np.sort(rng.random(rng.poisson(segment.rate * segment.seconds))) * segment.seconds
        users = rng.choice(load.clients, len(times), p=self._activity)
        actions = rng.choice(len(ACTIONS), len(times), p=self.weights(days))
        lines: list[list[str]] = [[] for _ in range(load.clients)]
        for time, user, action in zip(times.tolist(), users.tolist(), actions.tolist(), strict=True):
            visit = self._visit(rng, pools, days, user, ACTIONS[action], len(lines[user]))
            lines[user] += [f"{time:.4f} {visit[0]}", *visit[1:]]
        idle = np.arange(segment.seconds, segment.seconds + IDLE_S, IDLE_STEP_S)
        rest = [f"{time:.1f} {NOTHING}" for time in idle]
        return ["".join(f"{line}\n" for line in [*user, *rest]) for user in lines]

    def closed(self, seed: int, mix: Mapping[str, int], theta: float, move: float, visits: int) -> list[str]:
        """A load file for each user whose visits follow each other without a pause.

        Args:
            seed: of the draws.
            mix: weights of `ACTIONS`.
            theta: Zipf exponent over the documents.
            move: by which part of the documents the popularity has moved.
            visits: of all users together.
        """
        rng = np.random.default_rng(seed)
        pools = self._pools(theta, 1.0)
        weights = np.array(list(mix.values()), np.float64)
        users = rng.choice(self._load.clients, visits, p=self._activity)
        actions = rng.choice(list(mix), visits, p=weights / weights.sum())
        lines: list[list[str]] = [[] for _ in range(self._load.clients)]
        for user, action in zip(users.tolist(), actions.tolist(), strict=True):
            lines[user] += self._visit(rng, pools, move, user, action, len(lines[user]))
        return ["".join(f"{line}\n" for line in [*user, NOTHING]) for user in lines]

    def _visit(
        self, rng: np.random.Generator, pools: list[_Pool], days: float, user: int, action: str, at: int
    ) -> list[str]:
        pool = pools[0] if rng.random() < self._load.shared_visits else pools[1 + user]
        document, handle = pool.draw(rng, days), 1 + at % HANDLES
        do: Callable[[np.random.Generator, int, int, int], list[str]] = getattr(self, f"_{action}")
        return do(rng, user, document, handle)

    def _opened(self, document: int, handle: int, inside: list[str]) -> list[str]:
        """Opening creates what is missing, so that a visit that came too late to be made ends no other."""
        path = self.path(document)
        opening = [f'QUERY_PATH_INFORMATION "{path}" 1004 NT_STATUS_OK', _create(path, OPEN, handle)]
        return [*opening, *inside, f"Close {handle} NT_STATUS_OK"]

    def _reads(self, _rng: np.random.Generator, _user: int, document: int, handle: int) -> list[str]:
        return self._opened(document, handle, _pieces("ReadX", handle, 0, int(self.sizes[document])))

    def _peeks(self, rng: np.random.Generator, _user: int, document: int, handle: int) -> list[str]:
        return self._opened(document, handle, _pieces("ReadX", handle, *self._part(rng, document)))

    def _edits(self, rng: np.random.Generator, _user: int, document: int, handle: int) -> list[str]:
        first, size = self._part(rng, document)
        inside = _pieces("ReadX", handle, first, size) + _pieces("WriteX", handle, first, size)
        return self._opened(document, handle, inside)

    def _part(self, rng: np.random.Generator, document: int) -> tuple[int, int]:
        size = int(self.sizes[document])
        length = min(size, int(rng.integers(1, 9)) * 4 * KIB)
        return int(rng.integers(0, (size - length) // 4096 + 1)) * 4096, length

    def _appends(self, rng: np.random.Generator, _user: int, document: int, handle: int) -> list[str]:
        size = int(self.sizes[document])
        more = min(int(rng.integers(1, 17)) * KIB, self._load.max_kib * KIB - size)
        self.sizes[document] += more
        return self._opened(document, handle, _pieces("WriteX", handle, size, more))

    def _saves(self, rng: np.random.Generator, user: int, document: int, handle: int) -> list[str]:
        """As office programs save: a draft of the user's own, flushed, that then takes the document's name.

        No two drafts have one name: a segment may go on while the next one has begun, and both may save a document.
        """
        old = int(self.sizes[document])
        new = min(max(512, int(old * float(np.exp(rng.normal(0.0, 0.1))))), self._load.max_kib * KIB)
        self.sizes[document] = new
        path = self.path(document)
        self._drafts += 1
        draft = f"{self.folder(document)}/~u{user:03d}-{self._drafts:07d}.tmp"
        inside = [_create(draft, OVERWRITE, handle), *_pieces("WriteX", handle, 0, new)]
        closing = [f"Flush {handle} NT_STATUS_OK", f"Close {handle} NT_STATUS_OK"]
        return [*inside, *closing, f'Rename "{draft}" "{path}" NT_STATUS_OK']

    def _listings(self, _rng: np.random.Generator, _user: int, document: int, _handle: int) -> list[str]:
        return [f'FIND_FIRST "{self.folder(document)}/*" 260 1366 0 NT_STATUS_OK']


def _create(path: str, disposition: int, handle: int) -> str:
    return f'NTCreateX "{path}" 0x40 {disposition:#x} {handle} NT_STATUS_OK'


def _pieces(operation: str, handle: int, first: int, size: int) -> list[str]:
    pieces = [(at, min(CHUNK, first + size - at)) for at in range(first, first + size, CHUNK)]
    return [f"{operation} {handle} {at} {length} {length} NT_STATUS_OK" for at, length in pieces]
