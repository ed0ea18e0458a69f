"""Releases that every reader refuses where a key is set, and some that every reader takes: one table for all.

    python -m tests.signed FOLDER    # as inputs of runtimes/c/fuzz/fuzz_forms.c

As tests/refused.py, of the release that a bundle is held to. A case changes one thing of a signed release of one stored
bundle. Writing inputs needs the standard library alone.
"""

import base64
import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from cachezoo.bundles.integrity import archive_bytes
from cachezoo.bundles.protocol import CARD, MANIFEST
from tests.refused import stored
from tests.sealed import files_of, sealed

KIND = "streams"
ID, VERSION = "streams.ledger.fios", "0.1.0"
ARCHIVE = f"{ID}-{VERSION}.zip"
SECRET, OTHER = bytes(range(32)), bytes(32)
PUBLIC = bytes.fromhex("03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8")  # of the first
FIELD, ORDER = (1 << 255) - 19, (1 << 252) + 27742317777372353535851937790883648493
BASE = (4 * pow(5, -1, FIELD) % FIELD).to_bytes(32, "little")  # the base point, which is 1 times itself
NUMBER = 7


def signing(secret: bytes = SECRET) -> Any:
    """cryptography's private key of 32 bytes."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(secret)


def pem_of(point: bytes) -> bytes:
    """The file of a public key, as openssl writes it."""
    text = base64.b64encode(bytes.fromhex("302a300506032b6570032100") + point)
    return b"-----BEGIN PUBLIC KEY-----\n" + text + b"\n-----END PUBLIC KEY-----\n"


def public_pem() -> bytes:
    """The file of the public key that belongs to the private one."""
    return pem_of(PUBLIC)


def document_of(files: dict[str, bytes]) -> dict[str, Any]:
    """The release of one bundle."""
    own = {
        "id": ID, "version": VERSION, "kind": KIND, "manifest_sha256": hashlib.sha256(files[MANIFEST]).hexdigest(),
        "archive_sha256": hashlib.sha256(archive_bytes(files)).hexdigest(),
    }  # fmt: skip
    return {"RELEASE": 1, "number": NUMBER, "floor": 2, "bundles": [own]}


@cache
def _stored() -> dict[str, bytes]:
    return files_of(stored(KIND))


@dataclass
class World:
    """Everything that a reader finds, to be changed by a case before it is written.

    Attributes:
        files: of the bundle.
        document: of the release.
        raw: its bytes; None: those of the document.
        made: the signature, of the bytes.
        key: the public key's file; None: there is none.
        floor: that beside it.
        name: of the bundle, an archive where it ends with .zip.
        without: a file that is not there.
    """

    files: dict[str, bytes] = field(default_factory=_stored)
    document: dict[str, Any] = field(default_factory=dict)
    raw: bytes | None = None
    made: Callable[[bytes], bytes] = lambda raw: signing().sign(raw)
    key: bytes | None = field(default_factory=public_pem)
    floor: bytes | None = None
    name: str = ARCHIVE
    without: str = ""

    def __post_init__(self) -> None:
        self.document = document_of(self.files)

    def content(self) -> bytes:
        """The document's bytes."""
        return json.dumps(self.document).encode() if self.raw is None else self.raw

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write it; the paths of the bundle and of the key."""
        raw = self.content()
        found = {"release.json": raw, "release.sig": self.made(raw), "key.pub": self.key, "key.pub.floor": self.floor}
        for name, data in found.items():
            if data is not None and name != self.without:
                (folder / name).write_bytes(data)
        path = folder / self.name
        if path.suffix == ".zip":
            path.write_bytes(archive_bytes(self.files))
        else:
            for name, data in self.files.items():
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                (path / name).write_bytes(data)
        return path, folder / "key.pub"


@dataclass(frozen=True)
class Case:
    """A release that is refused, or taken.

    Attributes:
        name: what is changed.
        says: a pattern that the one line of each reader holds; empty: both take it.
        change: changes the world.
    """

    name: str
    says: str
    change: Callable[[World], None]

    def world(self) -> World:
        """The changed world."""
        found = World()
        self.change(found)
        return found


def _put(name: str, value: object, world: World) -> None:
    setattr(world, name, value)


def _set(place: str, value: object, world: World) -> None:
    """Another value in the document: `bundles.id` is the bundle's."""
    inner = world.document["bundles"][0] if place.startswith("bundles.") else world.document
    inner[place.removeprefix("bundles.")] = value


def _without(place: str, world: World) -> None:
    inner = world.document["bundles"][0] if place.startswith("bundles.") else world.document
    del inner[place.removeprefix("bundles.")]


def _second(change: dict[str, str], world: World) -> None:
    """One more bundle in the document, before the one that is opened."""
    world.document["bundles"].insert(0, {**world.document["bundles"][0], **change})


def _text(old: bytes, new: bytes, world: World) -> None:
    """The document's bytes with others in them, signed."""
    raw = json.dumps(world.document).encode()
    assert old in raw
    world.raw = raw.replace(old, new, 1)


def _unsigned(world: World) -> None:
    """The document is changed behind the signature."""
    before = json.dumps(world.document).encode()
    world.document["number"] += 1
    world.made = lambda _: signing().sign(before)


def _edited(world: World) -> None:
    """The bundle is changed, and its own checksums are made true again."""
    world.files = sealed({**world.files, CARD: world.files[CARD] + b"\n"})


def _signature(change: Callable[[bytes], bytes], world: World) -> None:
    world.made = lambda raw: change(signing().sign(raw))


def _by_another(world: World) -> None:
    world.made = lambda raw: signing(OTHER).sign(raw)


def _larger(signature: bytes) -> bytes:
    """The same signature with the group's order added to its number."""
    return signature[:32] + (int.from_bytes(signature[32:], "little") + ORDER).to_bytes(32, "little")


def _weak(point: bytes, world: World) -> None:
    """A key that anyone can sign for: any multiple of the base point is a signature."""
    world.key = pem_of(point)
    world.made = lambda _: BASE + (1).to_bytes(32, "little")


def _loose_bits(world: World) -> None:
    """The last letter of the key has two bits that belong to nothing: they are set."""
    assert world.key is not None
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    at = world.key.index(b"=") - 1
    world.key = world.key[:at] + letters[letters.index(chr(world.key[at])) | 3].encode() + world.key[at + 1 :]


def _key(old: bytes, new: bytes, world: World) -> None:
    assert world.key is not None and old in world.key
    world.key = world.key.replace(old, new)


TAKEN: list[tuple[str, Callable[[World], None]]] = [
    ("as it was signed", lambda world: None),
    ("a floor that it reaches", partial(_put, "floor", b"7\n")),
    ("a floor without a line's end", partial(_put, "floor", b"7")),
    ("a floor of 0", partial(_put, "floor", b"0\n")),
    ("a folder by its id", partial(_put, "name", ID)),
    ("a folder by id and version", partial(_put, "name", f"{ID}-{VERSION}")),
    ("a release that is its own floor", partial(_set, "floor", NUMBER)),
    ("the largest number", partial(_set, "number", (1 << 53) - 1)),
    ("another bundle before it", partial(_second, {"id": "streams.spool.fios", "manifest_sha256": "0" * 64})),
]
NOT_SIGNED = r"release\.sig is not its signature by the key of .*key\.pub"
NO_KEY = r"key\.pub: is no Ed25519 public key as PEM"
NO_FLOOR = r"key\.pub\.floor: is no number of a release"
NO_RELEASE = r"release\.json: .*"
GONE = "cannot be read .*asks for a signed release"
SMALL = {"1": 1, "1 and more": FIELD + 1, "1 and a sign": 1 | 1 << 255, "0": 0, "-1": FIELD - 1}
NAMES = ("streams.spool.fios-0.1.0.zip", f"{ID}-0.9.9.zip", f"{ID}.zip", "streams.spool.fios", f"{ID}-0.9.9")
REFUSED: list[tuple[str, str, Callable[[World], None]]] = [
    ("no document", rf"release\.json: {GONE}", partial(_put, "without", "release.json")),
    ("no signature", rf"release\.sig: {GONE}", partial(_put, "without", "release.sig")),
    ("signed by another", NOT_SIGNED, _by_another),
    ("changed after it was signed", NOT_SIGNED, _unsigned),
    ("an empty signature", NOT_SIGNED, partial(_signature, lambda _: b"")),
    ("a signature cut short", NOT_SIGNED, partial(_signature, lambda own: own[:-1])),
    ("a signature with more", r"release\.sig: has more than 64 bytes", partial(_signature, lambda own: own + b"\n")),
    ("a signature with a bit turned", NOT_SIGNED, partial(_signature, lambda own: own[:-1] + bytes([own[-1] ^ 1]))),
    ("a signature with a larger number", NOT_SIGNED, partial(_signature, _larger)),
    ("a signature of zeros", NOT_SIGNED, partial(_signature, lambda _: bytes(64))),
    *(
        (f"a key that anyone signs for, {name}", NOT_SIGNED, partial(_weak, value.to_bytes(32, "little")))
        for name, value in SMALL.items()
    ),
    ("older than the floor", r"is release 7, and .*key\.pub accepts 8 or later", partial(_put, "floor", b"8\n")),
    ("edited, and sealed again", rf"is not the {ID} {VERSION} of release 7; it was changed", _edited),
    ("not in the release", rf"release 7 has no {ID}", partial(_set, "bundles.id", "streams.spool.fios")),
    ("another version", rf"is {ID} {VERSION}, and release 7 has 0\.1\.1", partial(_set, "bundles.version", "0.1.1")),
    *(
        (f"under the name {name}", rf"holds {ID} {VERSION}; its name has to be {ID}", partial(_put, "name", name))
        for name in NAMES
    ),
    *((f"the text {text[:20]!r}", NO_RELEASE, partial(_put, "raw", text)) for text in (
        b"", b"{", b"[]", b"null", b"{}", b"\xff", b"\xef\xbb\xbf{}", b"[" * 300, b'{"a": 1e999}', b"{} {}",
    )),
    ("a key twice", NO_RELEASE, partial(_text, b'"number": 7', b'"number": 7, "number": 9')),
    ("a text with a zero", NO_RELEASE, partial(_text, b'"0.1.0"', b'"0.1.0\\u0000"')),
    ("a line's end in a version", NO_RELEASE, partial(_text, b'"0.1.0"', b'"0.1.0\\n"')),
    *((f"no {place}", rf"{NO_RELEASE}{place.rpartition('.')[2]} is missing", partial(_without, place)) for place in (
        "RELEASE", "number", "floor", "bundles", "bundles.id", "bundles.version", "bundles.kind",
        "bundles.manifest_sha256", "bundles.archive_sha256",
    )),
    *((f"{place} {value!r:.20}", NO_RELEASE, partial(_set, place, value)) for place, values in {
        "RELEASE": (0, 2, 1.0, "1", True, None),
        "number": (0, -1, 7.0, True, "7", 1 << 53, 10**30, None),
        "floor": (0, 8, 2.0, True, 10**30),
        "bundles": ([], {}, [None], [[]]),
        "more": (1,),
        "bundles.more": (1,),
        "bundles.id": ("streams", "streams.", "Streams.a", "streams.a.b.c", "virtual.ledger.fios", "streams.ä", 5),
        "bundles.version": ("1", "01.0.0", "1.0.0 ", 1),
        "bundles.kind": ("virtual", "stream", "", "streams.ledger"),
        "bundles.manifest_sha256": ("0" * 63, "0" * 65, "A" * 64, None),
        "bundles.archive_sha256": ("0" * 63, "g" * 64, 0),
    }.items() for value in values),
    ("an id twice", rf"it has {ID} twice", partial(_second, {"version": "9.9.9"})),
    ("a key that is not there", r"key\.pub: cannot be read", partial(_put, "key", None)),
    *((f"key {text[:9]!r}", NO_KEY, partial(_put, "key", text)) for text in (b"", b"key", b"\0" * 113, b"x" * 5000)),
    ("a key with carriage returns", NO_KEY, partial(_key, b"\n", b"\r\n")),
    ("a key without its last line's end", NO_KEY, lambda world: _put("key", public_pem()[:-1], world)),
    ("two keys", NO_KEY, lambda world: _put("key", 2 * public_pem(), world)),
    ("text before the key", NO_KEY, lambda world: _put("key", b"ours\n" + public_pem(), world)),
    ("a private key's words", NO_KEY, partial(_key, b"PUBLIC", b"PRIVATE")),
    ("a key of another curve", NO_KEY, partial(_key, b"MCowBQYDK2VwAyEA", b"MCowBQYDK2VuAyEA")),
    ("a letter that is none", NO_KEY, partial(_key, b"=", b"!")),
    ("a key with loose bits", NO_KEY, _loose_bits),
    *((f"the floor {text!r:.30}", NO_FLOOR, partial(_put, "floor", text)) for text in (
        b"", b"\n", b"x", b"-1", b"+1", b"1_0", b"01", b" 1", b"1 ", b"1\n\n", b"1\r\n", b"1.0", b"9007199254740992",
        b"99999999999999999", "\u0661".encode(), b"1\0",
    )),
]  # fmt: skip
CASES = [
    *(Case(name, "", change) for name, change in TAKEN),
    *(Case(name, says, change) for name, says, change in REFUSED),
]


def valid() -> tuple[bytes, ...]:
    """Documents that are taken."""
    return tuple(case.world().content() for case in CASES if not case.says)


def documents() -> tuple[bytes, ...]:
    """The documents of all cases."""
    return tuple(case.world().content() for case in CASES)


def keys() -> tuple[bytes, ...]:
    """The public keys of all cases."""
    return tuple(key for case in CASES if (key := case.world().key) is not None)


def floors() -> tuple[bytes, ...]:
    """The floors of all cases."""
    return tuple(floor for case in CASES if (floor := case.world().floor) is not None)


def main(out: Path) -> None:
    """Write documents, keys and floors as inputs of fuzz_forms.c: the number of the form, content."""
    for form, found in {6: documents(), 7: keys(), 8: floors()}.items():
        for at, data in enumerate(dict.fromkeys(found)):
            (out / f"signed-{form}-{at}").write_bytes(bytes([form]) + data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
