"""The readers of bundles, folders and archives, and of the files of weights.

An input is the one archive of a bundle's files; other archives are inputs of the archive's reader alone.
"""

import hashlib
import io
import shutil
import zipfile
from functools import cache, lru_cache, partial
from pathlib import Path, PurePosixPath
from random import Random

import numpy as np

from cachezoo.bundles.card import inspect, render
from cachezoo.bundles.integrity import archive_bytes, read_archive
from cachezoo.bundles.protocol import FILE_NAME, MANIFEST
from cachezoo.bundles.reader import load
from cachezoo.errors import BundleError, TrainingError
from cachezoo.models.forest import read_forest_text
from cachezoo.models.weights import WEIGHTS_FILE, read_weights
from cachezoo.serving.forest import read_forest
from cachezoo.serving.lstm import read_safetensors
from cachezoo.zoo.streams.dictionary import Dictionary
from tests import signed
from tests.fuzz import document_mutators, mutators
from tests.fuzz.target import Broken, Target
from tests.fuzz.trace_targets import told
from tests.judges import by_c, by_python, comparable
from tests.refused import CASES
from tests.sealed import files_of, sealed, with_seal
from tests.short import short_bundles

STORED = sorted(path.parent for path in (Path(__file__).parents[1] / "golden").glob("protocol2/*/manifest.json"))
DAMAGED = 0.05  # the share of archives with changed bytes
FOREST, TABLE = "model.lgb.txt", "sid.bin"


@cache
def stored_archives() -> tuple[bytes, ...]:
    """The stored bundles as archives."""
    return tuple(archive_bytes(files_of(folder)) for folder in STORED)


@cache
def short_archives() -> tuple[bytes, ...]:
    """The stored bundles with few golden rows, which many more mutants of are judged in a second."""
    return tuple(archive_bytes(files) for folder in STORED for files in short_bundles(folder))


@cache
def refused_archives() -> tuple[bytes, ...]:
    """Bundles that every reader refuses."""
    return tuple(archive_bytes(case.files()) for case in CASES)


@cache
def stored_files(ending: str) -> tuple[bytes, ...]:
    """The stored bundles' files of an ending."""
    return tuple(path.read_bytes() for folder in STORED for path in sorted(folder.rglob(f"*{ending}")))


@cache
def _digests() -> set[str]:
    return {hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest() for folder in STORED}


@lru_cache(256)
def _unpacked(data: bytes) -> dict[str, bytes] | None:
    """The files of an archive of ours, whose names can be put into a folder; None of any other."""
    try:
        files = read_archive(data, "input")
    except BundleError:
        return None
    parents = {parent.as_posix() for name in files for parent in PurePosixPath(name).parents}
    return files if all(FILE_NAME.fullmatch(name) and name not in parents for name in files) else None


def _write(files: dict[str, bytes], folder: Path) -> Path:
    root = folder / "bundle"
    shutil.rmtree(root, ignore_errors=True)
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


def _changed(path: Path, what: str) -> None:
    """Whatever is read is a stored bundle, unchanged."""
    try:
        bundle = load(path)
    except BundleError as error:
        told(error, path)
        return
    if bundle.digest not in _digests():
        message = f"{what}: a changed bundle was read"
        raise Broken(message)


def check_archive(data: bytes, folder: Path) -> None:
    """An archive is refused in one line, or is a stored bundle."""
    path = folder / "bundle.zip"
    path.write_bytes(data)
    _changed(path, "archive")


def check_folder(data: bytes, folder: Path) -> None:
    """A folder that was changed is refused in one line."""
    files = _unpacked(data)
    if files is not None:
        _changed(_write(files, folder), "folder")


def check_sealed(data: bytes, folder: Path) -> None:
    """A bundle whose checksums are true is refused by both readers, each in one line, or by none, and shown."""
    files = _unpacked(data)
    if files is None:
        return
    path = folder / "bundle.zip"
    check_judged(archive_bytes(sealed(files)), folder)
    try:
        render(inspect(path))
    except BundleError as error:
        told(error, path)


def check_judged(data: bytes, folder: Path) -> None:
    """An archive is refused by both readers, each in one line, or by none."""
    path = folder / "bundle.zip"
    path.write_bytes(data)
    python, c = by_python(path), by_c(path)
    for line in (python, c):
        if line is not None:
            told(BundleError(line), path)
    if comparable(python) and (python is None) != (c is None):
        message = f"judges: Python says {python!r}, libcachezoo {c!r}"
        raise Broken(message)


@cache
def _widths() -> list[int]:
    """Numbers of features of the stored bundles."""
    return sorted({len(load(folder).manifest["features"]) for folder in STORED})


def _one_line(what: str, error: Exception) -> None:
    """Raises Broken: an error has several lines."""
    if "\n" in str(error):
        message = f"{what}: an error of several lines: {error!r}"
        raise Broken(message) from error


def check_safetensors(data: bytes, folder: Path) -> None:
    """Weights are refused in one line by both readers, or read."""
    path = folder / WEIGHTS_FILE
    path.write_bytes(data)
    try:
        read_safetensors(data)
    except ValueError as error:
        _one_line("safetensors", error)
    try:
        read_weights(folder)
    except TrainingError as error:
        told(error, path)


def check_forest(data: bytes, folder: Path) -> None:
    """A forest's text is refused in one line by every reader, or read; LightGBM itself is not asked."""
    path = folder / FOREST
    path.write_bytes(data)
    try:
        read_forest_text(path)
    except TrainingError as error:
        told(error, path)
    for features in _widths():
        try:
            forest = read_forest(data, features)
        except ValueError as error:
            _one_line("forest", error)
            continue
        if not np.isfinite(forest.scores(np.zeros((3, features), np.float32))).all():
            message = "forest: a score that is not finite"
            raise Broken(message)


def check_table(data: bytes, folder: Path) -> None:
    """A dictionary of streams is refused in one line, or read, written as it was, and answers with its own streams."""
    where = folder / TABLE
    try:
        own = Dictionary.from_bytes(data, str(where))
    except BundleError as error:
        told(error, where)
        return
    chunks = np.concatenate([own.starts.astype(np.int64), [0, 1 << 32, (1 << 62) - 1]])
    if own.to_bytes() != data or own.look_up(chunks).max() >= own.count:
        message = "dictionary: other bytes or streams than it was read with"
        raise Broken(message)


def mutate_archive(data: bytes, rng: Random) -> bytes:
    """Changed bytes of an archive, or an archive of changed files, not always the one that there is."""
    files = _unpacked(data)
    if files is None or rng.random() < 0.5:
        return mutators.binary(data, rng, len(data) + 64)
    changed = document_mutators.files(files, rng)
    if rng.random() < 0.5:
        return archive_bytes(changed)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for name in rng.sample(sorted(changed), len(changed)):
            archive.writestr(zipfile.ZipInfo(rng.choice((name, name, name, f"../{name}", f"/{name}"))), changed[name])
    return buffer.getvalue()


def mutate_files(data: bytes, rng: Random) -> bytes:
    """The archive of changed files."""
    return archive_bytes(document_mutators.files(_unpacked(data) or {}, rng))


def mutate_sealed(data: bytes, rng: Random) -> bytes:
    """The archive of changed files, sealed again; now and then an archive with changed bytes."""
    if rng.random() < DAMAGED:
        return mutators.binary(data, rng, len(data) + 64)
    files = _unpacked(data) or {}
    changed = document_mutators.files(files, rng)
    others = {name for name in {*files, *changed} if files.get(name) != changed.get(name)}
    # A manifest's own bytes stay as they were changed; else its list and checksums are made true.
    as_it_is = others == {MANIFEST} and rng.random() < 0.5
    return archive_bytes(with_seal(changed) if as_it_is else sealed(changed))


def _mutate_table(data: bytes, rng: Random) -> bytes:
    """Changed bytes of a dictionary."""
    return mutators.binary(data, rng, len(data) + 64)


def _judge_release(world: signed.World, folder: Path) -> None:
    """Both readers take a bundle by a release and a key, or both refuse it, each in one line that names a file."""
    path, key = world.write(folder)
    python, c = by_python(path, key), by_c(path, key)
    for line in (python, c):
        if line is not None:
            told(BundleError(line), folder)
    if (python is None) != (c is None):
        message = f"judges: Python says {python!r}, libcachezoo {c!r}"
        raise Broken(message)


def check_release(data: bytes, folder: Path) -> None:
    """A document, signed whatever it is."""
    _judge_release(signed.World(raw=data), folder)


def check_key(data: bytes, folder: Path) -> None:
    """A public key's file."""
    _judge_release(signed.World(key=data), folder)


def check_floor(data: bytes, folder: Path) -> None:
    """A floor's file."""
    _judge_release(signed.World(floor=data), folder)


def bundle_targets() -> list[Target]:
    """A target for each way to read a bundle, and for each kind of weights."""
    return [
        Target("bundle-archive", stored_archives, mutate_archive, check_archive),
        Target("bundle-folder", stored_archives, mutate_files, check_folder),
        Target("bundle-sealed", stored_archives, mutate_files, check_sealed, refused_archives),
        Target("bundle-judged", short_archives, mutate_sealed, check_judged),
        Target("release", signed.valid, document_mutators.document, check_release, signed.documents),
        Target("release-key", lambda: (signed.public_pem(),), mutators.text, check_key, signed.keys),
        Target("release-floor", lambda: (b"7\n", b"0"), mutators.text, check_floor, signed.floors),
        Target(
            "weights-safetensors",
            partial(stored_files, ".safetensors"),
            document_mutators.safetensors,
            check_safetensors,
        ),
        Target("weights-forest", partial(stored_files, ".lgb.txt"), mutators.text, check_forest),
        Target("weights-table", partial(stored_files, ".bin"), _mutate_table, check_table),
    ]
