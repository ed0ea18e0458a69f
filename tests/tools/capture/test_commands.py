"""Clients of scripts: what the scripts are given, and the clients made for files and for key-value stores."""

import random
import subprocess
from pathlib import Path
from typing import ClassVar

import pytest

from tools.capture.clients import arrays, files, stores
from tools.capture.clients.commands import Commands

ROOT = Path(__file__).resolve().parents[3]
ITEMS, BATCH = 50, 4


def plan(folder, **changes):
    environment = {"PATH": "/usr/bin:/bin", "root": str(folder), "port": "1", "word": "two words"}
    drawn = {"mix": {"says": 1}, "theta": 0.8, "move": 0.0, "layout": 7, "seed": 5, "client": 2, "phase": 1}
    own = {"items": ITEMS, "batch": BATCH, "values": {}, "environment": environment, "operations": {}}
    return {**drawn, **own, **changes}


def test_a_script_has_its_variables_and_draws_of_its_own(tmp_path):
    script = 'echo "$item/$set/$draw/$number/$client/$word" >> $root/said'
    client = Commands(plan(tmp_path, operations={"says": script}))
    for _ in range(30):
        client.do("says")
    rows = [line.split("/") for line in (tmp_path / "said").read_text().splitlines()]
    items, sets, draws, numbers, clients, words = zip(*rows, strict=True)
    assert all(0 <= int(item) < ITEMS for item in items) and len(set(items)) > 3
    assert all(len(drawn.split()) == BATCH for drawn in sets)
    assert all(0 <= int(draw) < 2**31 for draw in draws) and len(set(draws)) == 30
    assert len(set(numbers)) == 30
    assert (set(clients), set(words)) == ({"2"}, {"two words"})


def test_no_two_operations_of_a_recipe_have_a_number(tmp_path):
    numbers = set()
    for phase in (-1, 0, 1):
        for client in (0, 1, 2):
            made = Commands(plan(tmp_path, phase=phase, client=client, operations={"says": ":"}))
            made.do("says")
            numbers.add(made.number)
    assert len(numbers) == 9


def test_a_script_ends_at_its_first_failure_and_the_client_with_it(tmp_path):
    client = Commands(plan(tmp_path, operations={"says": "false; touch $root/said", "reads": "echo $none"}))
    for name in ("says", "reads"):
        with pytest.raises(subprocess.CalledProcessError):
            client.do(name)
    assert list(tmp_path.iterdir()) == []


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("f0*")}


def test_files_are_a_function_of_the_seed_and_operations_change_those_drawn(tmp_path):
    for name in "ab":
        files.write(tmp_path / name / "files", ITEMS, (2.0, 0.5, 8), "words", 3)
    before = contents(tmp_path / "a")
    assert before == contents(tmp_path / "b") and len(before) == ITEMS
    values = {"median_kib": 2.0, "sigma": 0.5, "max_kib": 8, "content": "bytes"}
    client = files.Files(plan(tmp_path / "a", values=values, operations={"reads": None, "changes": None}))
    client.do("reads")
    assert contents(tmp_path / "a") == before
    client.do("changes")
    after = contents(tmp_path / "a")
    assert set(after) == set(before) and 1 <= sum(after[name] != before[name] for name in after) <= BATCH
    assert all(512 <= len(text) <= 8 * 1024 for text in after.values())


class Dictionary(stores.Store):
    """The naive store."""

    module = "builtins"
    pairs: ClassVar[dict] = {}

    def open(self, folder):
        self.base = self.pairs

    def put(self, pairs):
        self.base.update(pairs)

    def scan(self, key, count):
        self.read = sorted(found for found in self.base if found >= key)[:count]

    def close(self):
        pass


# Debian's Python has the stores' modules, where they are installed.
SAME = """
import sys
from pathlib import Path
from tools.capture.clients import stores
name, folder = sys.argv[1:]
store = stores.STORES[name](Path(folder))
naive = {}
class Both:
    def put(self, pairs):
        pairs = list(pairs)
        naive.update(pairs)
        store.put(pairs)
stores.fill(Both(), 300, 40, 9)
Both().put([(stores.key_of(7), b"seven"), (stores.key_of(10**6), b"new")])
store.close()
store = stores.STORES[name](Path(folder))
assert len(naive) == 301 and all(store.get(key) == value for key, value in naive.items())
assert store.get(b"none") is None
for first in (0, 298):
    store.scan(stores.key_of(first), 50)
store.close()
"""


@pytest.mark.parametrize("name", sorted(stores.STORES))
def test_a_store_has_what_was_put(tmp_path, name):
    python = ["env", f"PYTHONPATH={ROOT}", "/usr/bin/python3"]
    if subprocess.run([*python, "-c", f"import {stores.STORES[name].module}"], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("Debian's package of the store is not installed")
    subprocess.run([*python, "-c", SAME, name, str(tmp_path)], check=True)


def test_operations_on_a_store_are_on_the_items(tmp_path, monkeypatch):
    monkeypatch.setitem(stores.STORES, "naive", Dictionary)
    Dictionary.pairs.clear()
    stores.fill(Dictionary(tmp_path), ITEMS, 40, 9)
    before = dict(Dictionary.pairs)
    values = {"store": "naive", "value_bytes": 30, "scanned": 5}
    client = stores.Stores(plan(tmp_path, values=values, operations=dict.fromkeys(("gets", "puts", "scans"))))
    client.open()
    for _ in range(20):
        for name in ("gets", "scans", "puts"):
            client.do(name)
    client.close()
    after = Dictionary.pairs
    assert set(after) == set(before) == {stores.key_of(item) for item in range(ITEMS)}
    changed = [key for key in after if after[key] != before[key]]
    assert 5 < len(changed) and all(15 <= len(after[key]) <= 45 for key in changed)


def test_values_have_about_their_size():
    sizes = [len(stores.value_of(random.Random(seed), 100)) for seed in range(300)]
    assert 50 <= min(sizes) and max(sizes) <= 150 and 90 < sum(sizes) / 300 < 110


# Whatever is written to an array is read back, whichever way.
ARRAY = """
import sys
from pathlib import Path
from tools.capture.clients import arrays
kind, folder = sys.argv[1:]
path, rows, columns = Path(folder) / "field", 1024, 256
arrays.fill(kind, path, rows, columns, 5)
file, array = arrays.opened(kind, path)
for first in (0, 512):
    assert (array[first : first + 512] == arrays.drawn(5 + first, 512, columns)).all()
array[64:128, 128:192] = arrays.drawn(1, 64, 64)
if file is not None:
    file.close()
file, array = arrays.opened(kind, path)
assert (array[64:128, 128:192] == arrays.drawn(1, 64, 64)).all()
assert (array[:64] == arrays.drawn(5, 512, columns)[:64]).all()
"""


@pytest.mark.parametrize("kind", sorted(arrays.KINDS))
def test_an_array_has_what_was_written(tmp_path, kind):
    python = ["env", f"PYTHONPATH={ROOT}", "/usr/bin/python3"]
    if subprocess.run([*python, "-c", f"import {arrays.KINDS[kind]}"], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("Debian's package of the arrays is not installed")
    subprocess.run([*python, "-c", ARRAY, kind, str(tmp_path)], check=True)
