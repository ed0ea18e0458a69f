"""Every bundle of a project with its seat, its verdict and its headline, as MLflow's registry has them."""

from dataclasses import dataclass
from pathlib import Path

from cachezoo import paths
from cachezoo.bundles.integrity import read_checked
from cachezoo.bundles.measured import headline, promotion, seat_of, unseen_traces
from cachezoo.bundles.protocol import MANIFEST
from cachezoo.tracking.seats import read_zoo


@dataclass(frozen=True)
class Listed:
    """A bundle.

    Attributes:
        id: `kind[.category].arch`.
        version: of the bundle.
        model_digest: of what acts.
        seat: that it may take; None where its kind does not run alone.
        standing: `champion` or `challenger` of its seat; None where it is neither.
        promoted: it beat its baseline on validation.
        headline: name and value of its kind's first figure over the test traces at home; None without one.
    """

    id: str
    version: str
    model_digest: str
    seat: str | None
    standing: str | None
    promoted: bool
    headline: tuple[str, float] | None


def listed(root: Path) -> list[Listed]:
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
            Listed(
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
