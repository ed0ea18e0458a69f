"""A client of key-value stores: LMDB, LevelDB, Berkeley DB, tdb, GNU dbm, by their modules for Python.

Run as a program, `stores.py STORE PATH COUNT VALUE_BYTES SEED`, it makes one. The modules are Debian's, and each is
there only where its store is.
"""

import importlib
import itertools
import os
import random
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from tools.capture.clients.commands import Commands
from tools.capture.clients.common import main

BATCH = 5000
Pairs = Iterable[tuple[bytes, bytes]]


def key_of(item: int) -> bytes:
    """The key of an item; keys are in the items' order."""
    return f"k{item:012d}".encode()


class Store(ABC):
    """A store in a folder.

    Attributes:
        module: what it is imported as.
        base: what that module opened.
    """

    module: ClassVar[str]
    base: Any

    def __init__(self, folder: Path) -> None:
        """Open it, or make it.

        Raises:
            ModuleNotFoundError: Debian's package is not installed.
        """
        self.library: Any = importlib.import_module(self.module)
        self.open(folder)

    @abstractmethod
    def open(self, folder: Path) -> None:
        """Open `base` in its folder."""

    def get(self, key: bytes) -> bytes | None:
        """The value of a key."""
        value: bytes | None = self.base.get(key)
        return value

    @abstractmethod
    def put(self, pairs: Pairs) -> None:
        """Set values, in one transaction where it has any."""

    @abstractmethod
    def scan(self, key: bytes, count: int) -> None:
        """Read so many pairs from a key on, in the store's order."""

    def close(self) -> None:
        """Close it."""
        self.base.close()


class Lmdb(Store):
    """LMDB, whose file is mapped into memory."""

    module = "lmdb"

    def open(self, folder: Path) -> None:
        """With room for any recipe."""
        self.base = self.library.open(str(folder), map_size=1 << 32)

    def get(self, key: bytes) -> bytes | None:
        """In a transaction, as everything is."""
        with self.base.begin() as view:
            value: bytes | None = view.get(key)
        return value

    def put(self, pairs: Pairs) -> None:
        """In one transaction."""
        with self.base.begin(write=True) as change:
            for key, value in pairs:
                change.put(key, value)

    def scan(self, key: bytes, count: int) -> None:
        """By a cursor."""
        with self.base.begin() as view:
            cursor = view.cursor()
            if cursor.set_range(key):
                for _ in itertools.islice(cursor, count):
                    pass


class Leveldb(Store):
    """LevelDB, which one process has at a time."""

    module = "plyvel"

    def open(self, folder: Path) -> None:
        """With small caches and files."""
        sizes = {"lru_cache_size": 4 << 20, "write_buffer_size": 2 << 20, "max_file_size": 2 << 20}
        self.base = self.library.DB(str(folder), create_if_missing=True, bloom_filter_bits=10, **sizes)

    def put(self, pairs: Pairs) -> None:
        """In one batch."""
        with self.base.write_batch() as batch:
            for key, value in pairs:
                batch.put(key, value)

    def scan(self, key: bytes, count: int) -> None:
        """By an iterator."""
        with self.base.iterator(start=key) as found:
            for _ in itertools.islice(found, count):
                pass


class BerkeleyDb(Store):
    """A B-tree of Berkeley DB in an environment with a log, which processes share.

    What loses in a deadlock is left undone.
    """

    module = "bsddb3.db"

    def open(self, folder: Path) -> None:
        """Join the environment, or make it."""
        db = self.library
        self._home = db.DBEnv()
        self._home.set_cachesize(0, 4 << 20)
        self._home.set_lk_detect(db.DB_LOCK_OLDEST)
        for limit in (self._home.set_lk_max_locks, self._home.set_lk_max_objects, self._home.set_lk_max_lockers):
            limit(BATCH * 10)
        self._home.log_set_config(db.DB_LOG_AUTO_REMOVE, 1)
        self._home.set_lg_max(4 << 20)
        parts = db.DB_INIT_MPOOL | db.DB_INIT_LOCK | db.DB_INIT_LOG | db.DB_INIT_TXN
        self._home.open(str(folder), db.DB_CREATE | parts)
        self.base = db.DB(self._home)
        self.base.open("store.db", None, db.DB_BTREE, db.DB_CREATE | db.DB_AUTO_COMMIT)

    def put(self, pairs: Pairs) -> None:
        """In one transaction, with a checkpoint where the log has grown by 2 MiB."""
        change = self._home.txn_begin()
        try:
            for key, value in sorted(pairs):
                self.base.put(key, value, change)
        except self.library.DBLockDeadlockError:
            change.abort()
            return
        change.commit()
        self._home.txn_checkpoint(2048)

    def scan(self, key: bytes, count: int) -> None:
        """By a cursor."""
        cursor = self.base.cursor()
        try:
            pair = cursor.set_range(key)
            for _ in range(count):
                if pair is None:
                    break
                pair = cursor.next()
        except self.library.DBLockDeadlockError:
            pass
        finally:
            cursor.close()

    def close(self) -> None:
        """Close it, then its environment."""
        super().close()
        self._home.close()


class HashStore(Store):
    """A hash table in a file, whose order is its own."""

    def scan(self, key: bytes, count: int) -> None:
        """From key to key."""
        for _ in range(count):
            self.get(key)
            following = self.base.nextkey(key)
            if following is None:
                break
            key = following


class Tdb(HashStore):
    """Samba's tdb, which processes share."""

    module = "tdb"

    def open(self, folder: Path) -> None:
        """With as many chains as a large one has."""
        self.base = self.library.Tdb(str(folder / "store.tdb"), 100_003, 0, os.O_RDWR | os.O_CREAT, 0o600)

    def put(self, pairs: Pairs) -> None:
        """In one transaction."""
        self.base.transaction_start()
        for key, value in pairs:
            self.base.store(key, value)
        self.base.transaction_commit()


class Gdbm(HashStore):
    """GNU dbm, which one process has at a time."""

    module = "dbm.gnu"

    def open(self, folder: Path) -> None:
        """For reading and writing."""
        self.base = self.library.open(str(folder / "store.gdbm"), "c")

    def put(self, pairs: Pairs) -> None:
        """One after the other, then to the disk."""
        for key, value in pairs:
            self.base[key] = value
        self.base.sync()


STORES: dict[str, type[Store]] = {
    "bdb": BerkeleyDb,
    "gdbm": Gdbm,
    "leveldb": Leveldb,
    "lmdb": Lmdb,
    "tdb": Tdb,
}


def value_of(draw: random.Random, size: int) -> bytes:
    """A value of a size from half to one and a half of `size`."""
    return draw.randbytes(max(1, int(size * (0.5 + draw.random()))))


def fill(store: Store, count: int, size: int, seed: int) -> None:
    """Set values for `count` items in a random order."""
    draw = random.Random(seed)
    order = list(range(count))
    draw.shuffle(order)
    for first in range(0, count, BATCH):
        store.put((key_of(item), value_of(draw, size)) for item in order[first : first + BATCH])


class Stores(Commands):
    """Operations on the recipe's items in a store of the kind that its values name, in $root/store."""

    def open(self) -> None:
        """Open the store."""
        self._store = STORES[self.values["store"]](self.root / "store")

    def close(self) -> None:
        """Close it."""
        self._store.close()

    def gets(self) -> None:
        """Read values."""
        for item in self.set():
            self._store.get(key_of(item))

    def puts(self) -> None:
        """Set values in one transaction."""
        self._store.put((key_of(item), value_of(self.random, self.values["value_bytes"])) for item in self.set())

    def scans(self) -> None:
        """Read a range from an item on."""
        self._store.scan(key_of(self.item(self.plan["items"])), self.values["scanned"])


if __name__ == "__main__":
    if len(sys.argv) > 2:
        made = STORES[sys.argv[1]](Path(sys.argv[2]))
        fill(made, *map(int, sys.argv[3:]))
        made.close()
    else:
        main(Stores)
