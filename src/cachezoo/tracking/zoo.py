"""zoo.json: which bundles run, and which ran before; `cachezoo models promote` and `cachezoo models rollback` write it.

A *seat* is what one bundle is run as: the page cache of a category or of all, the flash cache of a category. It has a
champion, perhaps a challenger, and the champions before. Their archives lie in models/zoo, named by model digest, so
that going back needs no training. MLflow's aliases follow.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cachezoo import paths
from cachezoo.bundles.integrity import read_checked
from cachezoo.bundles.measured import ALL, FLASH, PAGE, headline, promotion, seat_of, unseen_traces
from cachezoo.bundles.protocol import MANIFEST
from cachezoo.bundles.reader import Bundle, load
from cachezoo.bundles.released import DOCUMENT, SIGNATURE, verify
from cachezoo.bundles.released import load as load_released
from cachezoo.bundles.signature import key_of
from cachezoo.bundles.writer import write_archive
from cachezoo.console import err
from cachezoo.errors import BundleError, CachezooError, ConfigError
from cachezoo.io import atomic_file, held, write_json
from cachezoo.questions.challenger import Contest, accepted, contest, flash_setting, role_of
from cachezoo.tracking.database import DATABASE
from cachezoo.tracking.seats import FILE, NOBODY, Entry, Seat, Zoo, read_zoo
from cachezoo.tracking.sync import follow

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

STORE = Path("models/zoo")


def archive(root: Path, digest: str) -> Path:
    """Where the archive of a model lies."""
    return root / STORE / f"{digest}.zip"


def _entry(bundle: Bundle, why: str, found: Contest | None) -> Entry:
    manifest, flash = bundle.manifest, role_of(bundle).startswith(FLASH)
    threshold, mode = flash_setting(bundle) if flash else (manifest["calibration"].get("threshold"), None)
    return Entry(
        id=bundle.id,
        version=bundle.version,
        model_digest=bundle.model_digest,
        profile=str(manifest.get("profile", "full")),
        threshold=threshold,
        prefetch=mode,
        why=why,
        lead=found.lead if found else None,
        interval=found.interval if found else None,
    )


def _written(root: Path, params: "Params", zoo: Zoo, role: str, seat: Seat) -> Zoo:
    """The zoo with a seat, after it is written."""
    seats, pages = {**zoo.seats, role: seat}, params.data.page_categories
    categories = sorted({*pages, *(name.partition("/")[2] for name in seats)} - {ALL})

    def champion(*names: str) -> str | None:
        places = (seats.get(name, NOBODY).champion for name in names)
        return next((entry.id for entry in places if entry is not None), None)

    sets: Any = {
        category: {
            "page": champion(f"{PAGE}/{category}", *([f"{PAGE}/{ALL}"] if category in pages else [])),
            "flash": champion(f"{FLASH}/{category}"),
        }
        for category in categories
    }
    found = Zoo(seats=dict(sorted(seats.items())), sets=sets)
    write_json(root / FILE, found.model_dump(mode="json"))
    _followed(root)
    return found


def promote(
    root: Path, params: "Params", path: Path, least_gain: float = 0.0, budget_us: float | None = None
) -> tuple[bool, str, Zoo]:
    """Let a bundle challenge the champion of its seat.

    It is verified, where a key is set as one of a signed release; then both run on the validation traces. An empty seat
    is taken by what its judge promoted; where that of all categories runs until then, if it gains over that.

    Args:
        root: the project.
        params: its parameters.
        path: the challenger's folder or .zip.
        least_gain: see `accepted`.
        budget_us: see `accepted`.

    Returns:
        Whether it is champion now, why, and the zoo.

    Raises:
        CachezooError: it is damaged, decides nothing in a cache, or the champion's archive is gone.
    """
    bundle = load_released(path)
    bundle.verify()
    role = role_of(bundle)
    (root / STORE).mkdir(parents=True, exist_ok=True)
    with held(root / STORE):
        zoo = read_zoo(root)
        seat = zoo.seats.get(role, NOBODY)
        if seat.champion is not None and seat.champion.model_digest == bundle.model_digest:
            return True, f"{bundle.id}: is champion of {role} already", zoo
        found, (good, why) = _judged(root, params, bundle, zoo, least_gain, budget_us)
        _keep(root, path, bundle)
        entry = _entry(bundle, why, found)
        if not good:
            return False, why, _written(root, params, zoo, role, seat.model_copy(update={"challenger": entry}))
        before = [*seat.previous, *([seat.champion] if seat.champion else [])]
        return True, why, _written(root, params, zoo, role, Seat(champion=entry, challenger=None, previous=before))


def _followed(root: Path) -> None:
    """Let MLflow's aliases follow; it is a view, and the seat is given whatever becomes of it."""
    if not (root / DATABASE).exists():
        return
    try:
        follow(root)
    except CachezooError as error:
        text = f"note: MLflow's aliases did not follow ({error}); cachezoo models track sync sets them"
        err().print(text, soft_wrap=True, markup=False)


def _of_all(zoo: Zoo, params: "Params", role: str) -> Entry | None:
    """The champion of all categories, which runs in a category that has none of its own."""
    name, _, category = role.partition("/")
    return zoo.seats.get(f"{name}/{ALL}", NOBODY).champion if category in params.data.page_categories else None


def _judged(
    root: Path, params: "Params", bundle: Bundle, zoo: Zoo, least_gain: float, budget_us: float | None
) -> tuple[Contest | None, tuple[bool, str]]:
    role = role_of(bundle)
    own, good, why = zoo.seats.get(role, NOBODY).champion, True, ""
    if own is None:
        good, why = promotion(bundle.manifest["measured"])
    running = own or _of_all(zoo, params, role)
    if running is None or not good:
        return None, (good, why)
    found = contest(params, bundle, load(_kept(root, running)))
    return found, accepted(found, least_gain, budget_us)


def _kept(root: Path, entry: Entry) -> Path:
    """The archive of a model; in a clone that has none, the bundle that the pipeline exported, if it is that model."""
    path, exported = archive(root, entry.model_digest), root / paths.bundle(entry.id)
    if path.exists():
        return path
    if (exported / MANIFEST).exists() and load(exported).model_digest == entry.model_digest:
        return exported
    raise BundleError(f"{path}: the archive of {entry.id} {entry.version} is gone; copy it back from a release")


def _keep(root: Path, path: Path, bundle: Bundle) -> None:
    """Keep a bundle's archive under its model digest, and where a key is set the release that has it."""
    target, signed = archive(root, bundle.model_digest), key_of() is not None
    if target.exists() and not signed:
        return
    if path.is_dir():
        write_archive(path, target)
    else:
        with atomic_file(target) as temporary:
            temporary.write_bytes(path.read_bytes())
    if signed:
        for name in (SIGNATURE, DOCUMENT):
            with atomic_file(target.with_suffix(Path(name).suffix)) as temporary:
                temporary.write_bytes(path.with_name(name).read_bytes())


def rollback(root: Path, params: "Params", role: str) -> Zoo:
    """Give a seat back to the champion before: where it had none, to that of all categories, and the seat is empty.

    Raises:
        ConfigError: there is none before.
        BundleError: its archive is gone or damaged, or its release is not one that the key accepts.
    """
    (root / STORE).mkdir(parents=True, exist_ok=True)
    with held(root / STORE):
        zoo = read_zoo(root)
        seat = zoo.seats.get(role, NOBODY)
        if seat.champion is not None and not seat.previous and (running := _of_all(zoo, params, role)):
            _verified(root, running)
            return _written(root, params, zoo, role, Seat(champion=None, challenger=seat.champion, previous=[]))
        if not seat.previous:
            message = f"{root / FILE}: {role} has no champion before; seats are {', '.join(zoo.seats) or 'none'}"
            raise ConfigError(message)
        *before, last = seat.previous
        _verified(root, last)
        return _written(root, params, zoo, role, Seat(champion=last, challenger=seat.champion, previous=before))


def _verified(root: Path, entry: Entry) -> None:
    path = _kept(root, entry)
    verify(path, kept=None if path.is_dir() else path.with_suffix(Path(DOCUMENT).suffix))


@dataclass(frozen=True)
class Exported:
    """A bundle."""

    id: str  # `kind[.category].arch`
    version: str  # of the bundle
    model_digest: str  # of what acts
    seat: str | None  # that it may take; None where its kind does not run alone
    standing: str | None  # `champion` or `challenger` of its seat; None where it is neither
    promoted: bool  # it beat its baseline on validation
    # name and value of its kind's first figure over the test traces at home; None without one
    headline: tuple[str, float] | None


def exported(root: Path) -> list[Exported]:
    """The bundles that the pipeline exported below a project's root, by id.

    Raises:
        CachezooError: a bundle, zoo.json or params.yaml is damaged.
    """
    zoo, unseen = read_zoo(root), unseen_traces(root)
    found = []
    for file in sorted((root / paths.BUNDLES).glob(f"*/{MANIFEST}")):
        bundle = read_checked(file.parent)
        manifest, kind = bundle.manifest, str(bundle.manifest["kind"])
        found.append(
            Exported(
                id=str(manifest["id"]),
                version=str(manifest["version"]),
                model_digest=bundle.model_digest,
                seat=seat_of(kind, manifest["category"]),
                standing=zoo.standing(str(manifest["id"]), bundle.model_digest),
                promoted=promotion(manifest["measured"])[0],
                headline=headline(manifest["measured"], kind, unseen),
            )
        )
    return found
