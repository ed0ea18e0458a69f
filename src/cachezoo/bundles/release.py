"""`make release`: bundles as archives with their checksums, and docs/zoo.md, which lists them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from cachezoo.bundles.figures import headline
from cachezoo.bundles.measured import promotion
from cachezoo.bundles.protocol import MANIFEST
from cachezoo.bundles.reader import Bundle, load
from cachezoo.bundles.signature import sign
from cachezoo.bundles.writer import write_archive
from cachezoo.errors import BundleError
from cachezoo.io import atomic_file, sha256_file
from cachezoo.systems.registry import SYSTEMS

SUMS = "SHA256SUMS"
HEAD = """# The zoo

What `make release` packs: one archive for each bundle, with `SHA256SUMS`. `sha256sum -c SHA256SUMS` checks them, and
`cachezoo-bundle verify FILE.zip` recomputes their golden rows. Equal models give equal archives, byte for byte.

*Profile* block: a block layer can run it; full: it also wants names of processes or namespaces. *Promoted*: it beat its
baseline on validation, with the interval of the difference above 0. *Headline*: of the test traces at home, as shipped;
MLflow has the same figure by the same name ([tracking.md](tracking.md)). Who runs, the champion of each seat, is in
`zoo.json`; `cachezoo zoo` prints it with this list.

| model | version | what it does | profile | archive, KiB | promoted | headline | model digest |
|---|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Released:
    """A bundle of a release.

    Attributes:
        bundle: the bundle.
        archive: its file.
        sha256: of the archive.
        size: bytes.
    """

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
        message = f"{folder}: holds no bundle; make repro exports them"
        raise BundleError(message)
    return found


def release(folders: Sequence[Path], out: Path, key: Path | None = None) -> list[Released]:
    """Write archives, SHA256SUMS and, with a key, signatures.

    Args:
        folders: of the bundles.
        out: the folder that they are written to; files of earlier releases in it stay.
        key: an Ed25519 private key's PEM file.

    Raises:
        BundleError: a bundle is damaged, or the key is none.
    """
    out.mkdir(parents=True, exist_ok=True)
    found = []
    for folder in folders:
        bundle = load(folder)
        archive = out / f"{bundle.id}-{bundle.version}.zip"
        write_archive(folder, archive)
        if key is not None:
            sign(archive, key)
        found.append(Released(bundle, archive, sha256_file(archive), archive.stat().st_size))
    with atomic_file(out / SUMS) as temporary:
        temporary.write_text("".join(f"{one.sha256}  {one.archive.name}\n" for one in found), encoding="utf-8")
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
    told = headline(bundle.manifest["measured"], bundle.kind, unseen)
    return [
        f"`{bundle.id}`", bundle.version, SYSTEMS[bundle.kind].title, str(bundle.manifest.get("profile", "full")),
        str(-(-one.size // 1024)), "yes" if good else "no", "-" if told is None else f"{told[0]} {told[1]:.3f}",
        f"`{bundle.model_digest[:16]}`",
    ]  # fmt: skip
