"""`make release`: bundles as archives with their checksums and a signed document, and docs/zoo.md, which lists them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cachezoo.bundles.measured import headline, promotion
from cachezoo.bundles.protocol import MANIFEST
from cachezoo.bundles.reader import Bundle, load
from cachezoo.bundles.released import DOCUMENT, SIGNATURE, Release, archive_name, read_release
from cachezoo.bundles.signature import VARIABLE, Key, floor_path, key_of, private_key, public_of
from cachezoo.bundles.writer import write_archive
from cachezoo.errors import BundleError, ConfigError
from cachezoo.io import atomic_file, dump_json, sha256_file
from cachezoo.zoo.registry import title_of

SUMS = "SHA256SUMS"
HEAD = """# The zoo

The bundles that `make release` packs, one archive each. A *bundle* is a model with all that a cache needs to run it.

```sh
sha256sum -c SHA256SUMS              # the archives are whole
cachezoo-bundle verify FILE.zip      # the model decides as it did when it was made
cachezoo models zoo                  # this list, and which bundle runs: the champion of each seat of zoo.json
```

*Profile* block: a block layer can run it; full: it also uses names of processes or namespaces. *Promoted*: it beat its
baseline on validation, with the interval of the difference above 0. *Headline*: as in MLflow ([tracking](tracking.md)),
over test traces: of admission and caching those of the programs that it learned from, of the other kinds all. Equal
models give equal archives, byte for byte. Models that [export refuses](bundles.md#what-export-refuses) have no bundle.

A *seat* of zoo.json is what one bundle is run as: the page cache of a category, such as `page/web`, or of all,
`page/all`, or the admission of a flash cache, such as `flash/web`. Its *champion* is the bundle that runs. A promoted
model takes an empty seat; if the champion of `page/all` served there, it must also beat that.

| model | version | what it does | profile | archive, KiB | promoted | headline | model digest |
|---|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Released:
    """A bundle of a release, with the sha256 and the bytes of its archive."""

    bundle: Bundle
    archive: Path
    sha256: str
    size: int


def bundles_below(folder: Path) -> list[Path]:
    """Folders of bundles, by name; refused models have none.

    Raises:
        BundleError: there is no bundle.
    """
    found = sorted(path.parent for path in folder.glob(f"*/{MANIFEST}"))
    if not found:
        raise BundleError(f"{folder}: holds no bundle; make repro exports them")
    return found


def release(folders: Sequence[Path], out: Path) -> list[Released]:
    """Write archives and SHA256SUMS.

    Args:
        folders: of the bundles.
        out: the folder that they are written to; files of earlier releases in it stay.

    Raises:
        BundleError: a bundle is damaged.
    """
    out.mkdir(parents=True, exist_ok=True)
    found = []
    for folder in folders:
        bundle = load(folder)
        archive = out / archive_name(bundle.id, bundle.version)
        write_archive(folder, archive)
        found.append(Released(bundle, archive, sha256_file(archive), archive.stat().st_size))
    with atomic_file(out / SUMS) as temporary:
        temporary.write_text(_sums((one.archive.name, one.sha256) for one in found), encoding="utf-8")
    return found


def _sums(archives: Iterable[tuple[str, str]]) -> str:
    """What `sha256sum -c` takes."""
    return "".join(f"{sha256}  {name}\n" for name, sha256 in archives)


def sign_release(
    found: Sequence[Released], out: Path, key: Path, number: int | None = None, floor: int | None = None
) -> Release:
    """Write release.json and release.sig next to the archives of a release.

    Args:
        found: the archives.
        out: their folder. The release before, if it is there, gives what is not given.
        key: an Ed25519 private key's PEM file.
        number: of the release; None: the one after that before, 1 where there is none, or the same where nothing
            changed.
        floor: the least number that the maker still supports; None: as in the release before.

    Raises:
        BundleError: the key is none, or the release before is another maker's.
        ConfigError: the number or the floor would fall.
    """
    private = private_key(key)
    before = _before(out / DOCUMENT, public_of(key, private), number is not None)
    bundles = tuple(
        {
            "id": one.bundle.id,
            "version": one.bundle.version,
            "kind": one.bundle.kind,
            "manifest_sha256": one.bundle.digest,
            "archive_sha256": one.sha256,
        }
        for one in found
    )
    least = (before.floor if before else 1) if floor is None else floor
    same = before is not None and (before.floor, before.bundles) == (least, bundles)
    if number is None:
        number = 1 if before is None else before.number + (not same)
    if before is not None and (least < before.floor or number < before.number + (not same)):
        message = f"{out / DOCUMENT}: is release {before.number} with floor {before.floor}; both rise, give larger ones"
        raise ConfigError(message)
    if not 1 <= least <= number:
        raise ConfigError(f"floor {least}: of release {number} it is 1 to {number}")
    own = Release(number, least, bundles)
    data = dump_json(own.document()).encode()
    for name, content in ((SIGNATURE, private.sign(data)), (DOCUMENT, data)):
        with atomic_file(out / name) as temporary:
            temporary.write_bytes(content)
    return own


def _before(document: Path, key: Key, numbered: bool) -> Release | None:
    """The release that lies in the folder already; of another maker it counts for nothing where a number is given."""
    if not document.exists():
        return None
    try:
        return read_release(document, key)
    except BundleError as error:
        if numbered:
            return None
        raise BundleError(f"{error}; or give --number, the number of this release") from error


def receive(folder: Path, given: Path | None = None) -> Release:
    """Check a release with all its archives, and raise the key's floor to the release's.

    Args:
        folder: of the archives.
        given: the public key's PEM file; None: as `key_of`.

    Raises:
        BundleError: there is no key, the release is refused, or an archive or SHA256SUMS is another.
    """
    key = key_of(given)
    if key is None:
        raise BundleError(f"{folder}: no key to check it with; give --key, or set {VARIABLE}")
    found = read_release(folder / DOCUMENT, key)
    archives = [(archive_name(one["id"], one["version"]), one["archive_sha256"]) for one in found.bundles]
    for name, sha256 in archives:
        path = folder / name
        if not path.is_file() or sha256_file(path) != sha256:
            raise BundleError(f"{path}: is not what release {found.number} has under this name; copy it again")
    sums = folder / SUMS
    if sums.exists() and sums.read_bytes() != _sums(archives).encode():
        raise BundleError(f"{sums}: is not that of release {found.number}; copy it again")
    if found.floor > key.floor:
        with atomic_file(floor_path(key.path)) as temporary:
            temporary.write_text(f"{found.floor}\n", encoding="ascii")
    return found


def zoo_page(found: Sequence[Released], unseen: Collection[str] = ()) -> str:
    """Markdown of docs/zoo.md.

    Args:
        found: the bundles.
        unseen: test traces of programs that no train trace came from, which no headline counts.
    """
    return HEAD + "".join(f"| {' | '.join(_cells(one, unseen))} |\n" for one in found)


def _cells(one: Released, unseen: Collection[str]) -> list[str]:
    bundle = one.bundle
    good, _ = promotion(bundle.manifest["measured"])
    figure = headline(bundle.manifest["measured"], bundle.kind, unseen)
    return [
        f"`{bundle.id}`", bundle.version, title_of(bundle.kind), str(bundle.manifest.get("profile", "full")),
        str(-(-one.size // 1024)), "yes" if good else "no", "-" if figure is None else f"{figure[0]} {figure[1]:.3f}",
        f"`{bundle.model_digest[:16]}`",
    ]  # fmt: skip
