"""Loads a bundle on numpy alone.

    from cachezoo.bundles import Coded, RequestBatch, load
    bundle = load("models/bundles/admission.database.lgbm")
    model = bundle.serving()          # fresh state
    batch = RequestBatch(time_us, op, offset, size, Coded.of(volume))
    admit = model.decide(model.features(batch))

Everything is checked before it is used: see `cachezoo.bundles.integrity`.
"""

import os
import struct
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from cachezoo.bundles.golden import Golden, compare, read_golden
from cachezoo.bundles.integrity import Checked, read_checked
from cachezoo.bundles.protocol import ACTING, ACTS, GOLDEN, one_line
from cachezoo.bundles.schema import MODEL_SCHEMA, check_document
from cachezoo.errors import BundleError, ConfigError
from cachezoo.serving.kind import Kind, Recomputed, Session
from cachezoo.serving.ranges import check_sizes
from cachezoo.serving.requests import RequestBatch
from cachezoo.serving.synthetic import SyntheticSet, changed
from cachezoo.zoo.registry import bundling_of


class Bundle:
    """A loaded bundle: its bytes are checked, its model is ready.

    Attributes:
        manifest: the parsed manifest, with the keys of model.json among its own.
        digest: sha256 of manifest.json, which lists all files.
        model_digest: of what acts, whatever was measured of it.
        where: where it was loaded from.
        files: the listed ones by path.
        id: `kind[.category].arch`.
        kind: what the model decides: the id of its system.
        profile: what the model reads of requests: `block` or `full`, see `Kind.profile`.
        conformance: what runtimes have to reach, by precision.
    """

    def __init__(self, checked: Checked) -> None:
        """Take over files that `read_checked` returned.

        Raises:
            BundleError: weights or a model that do not fit the manifest.
        """
        self.manifest, self.where = checked.manifest, checked.where
        self.digest, self.model_digest = checked.digest, checked.model_digest
        self.files: Mapping[str, bytes] = checked.files
        names = ("id", "version", "kind", "profile")
        self.id, self.version, self.kind, self.profile = (str(self.manifest[name]) for name in names)
        self.conformance: Mapping[str, str | float] = self.manifest["conformance"]
        self._kind: Kind = bundling_of(self.kind).kind.load()
        self._check_model()
        if self.manifest["id"].split(".")[0] != self.kind:
            raise BundleError(f"{self.where}: the id {self.id} is not of kind {self.kind}; export the bundle again")
        self.serving()

    def _check_model(self) -> None:
        """Sizes are in their ranges, rules between values hold, and what follows from others is so.

        Raises:
            BundleError: they do not hold.
        """
        golden = self.manifest["golden"]
        try:
            check_sizes(self.manifest, self._kind.sizes)
            self._kind.check(self.manifest)
            derived = {
                "profile": (self.profile, self._kind.profile(self.manifest)),
                "golden.outputs": (tuple(golden["outputs"]), tuple(self._kind.outputs(self.manifest))),
                "golden.decisions": (tuple(golden["decisions"]), self._kind.decisions),
            }
        except (ConfigError, KeyError, TypeError) as error:
            raise self._no_model(error) from error
        for name, (value, wanted) in derived.items():
            if value != wanted:
                raise self._no_model(ConfigError(f"{name} is {value}, its values make it {wanted}"))

    def _no_model(self, error: Exception) -> BundleError:
        what = f"no {error}" if isinstance(error, KeyError) else one_line(error)
        return BundleError(
            f"{self.where}: the manifest does not describe a {self.kind} model ({what}); export it again"
        )

    @cached_property
    def engine(self) -> Session:
        """The model on its weights' files.

        Raises:
            BundleError: a file is not that of the manifest's model.
        """
        try:
            return self._kind.open_weights(self.manifest, self.files)
        except BundleError as error:
            raise BundleError(f"{self.where}/{error}") from error
        except (ConfigError, ValueError, KeyError, struct.error, RecursionError) as error:
            raise BundleError(f"{self.where}: {one_line(error)}; export the bundle again") from error

    def serving(self) -> Any:  # noqa: ANN401 - the serving class of the kind
        """The serving object with fresh state: AdmissionServing, CachingServing, StreamsServing … by kind.

        Raises:
            BundleError: the manifest's values do not make a model of its kind.
        """
        return self._serving(self.manifest)

    def _serving(self, manifest: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as `serving`
        try:
            return self._kind.serve(manifest, self.engine)
        except (ConfigError, KeyError, ValueError, TypeError, IndexError) as error:
            raise self._no_model(error) from error

    def golden_sets(self) -> list[Golden]:
        """The real golden rows, then the synthetic sets.

        Raises:
            BundleError: the golden files do not fit the manifest.
        """
        return read_golden(self.manifest, self.files, self.where)

    def golden(self) -> Golden:
        """The golden requests with the features, outputs and decisions that they must give; see `golden_sets`."""
        return self.golden_sets()[0]

    def under(self, golden: Golden) -> dict[str, Any]:
        """The manifest with a golden set's changes.

        Raises:
            BundleError: a place does not exist, or the changed values break the schema or a rule.
        """
        if not golden.changes:
            return self.manifest
        where = f"{self.where}: {golden.folder}"
        try:
            acting = changed({name: self.manifest[name] for name in ACTING}, golden.changes)
            check_document(acting, MODEL_SCHEMA, where)
            document = {**self.manifest, **acting}
            check_sizes(document, self._kind.sizes)
            self._kind.check(document)
        except (ConfigError, KeyError, TypeError) as error:
            message = f"{where}: its changes make no model ({one_line(error)}); export the bundle again"
            raise BundleError(message) from error
        return document

    def recompute(self, requests: RequestBatch) -> Recomputed:
        """Run raw requests through a fresh serving object, in the context of the golden rows.

        Raises:
            BundleError: the model fails on them.
        """
        return self._guarded(lambda: self._kind.recompute(self.serving(), requests, self.manifest["golden"]["context"]))

    def replay(self, golden: Golden) -> Recomputed:
        """Run a golden set's requests through a fresh serving object, under the set's changes.

        Raises:
            BundleError: the changes make no model, or it fails on the requests.
        """
        context = golden.entry["context"]
        self.under(golden)
        if golden.folder == GOLDEN:
            return self._guarded(lambda: self._kind.recompute(self.serving(), golden.requests, context))
        own = SyntheticSet(golden.entry["name"], golden.requests, golden.changes, context, golden.given)
        return self._guarded(lambda: self._kind.recompute_synthetic(self.manifest, self._serving, own))

    def verify(self) -> dict[str, Any]:
        """Recompute the golden rows.

        Returns:
            `id`, `version`, `kind`, `profile`, `digest`, `model_digest`, `files` (count), `bytes`, `golden_rows`,
            `synthetic_rows`, `branches` of the golden rows, and `output_difference`, the largest between a golden
            output and this runtime's.

        Raises:
            BundleError: the first thing that is wrong, in one line.
        """
        golden, *synthetic = self.golden_sets()
        weights = bundling_of(self.kind).files(self.manifest["policy"]) or (ACTS,)
        worst = max(compare(one, self.replay(one), self.where, weights) for one in (golden, *synthetic))
        return {
            "ok": True,
            "id": self.id,
            "version": self.version,
            "kind": self.kind,
            "profile": self.profile,
            "digest": self.digest,
            "model_digest": self.model_digest,
            "files": len(self.files),
            "bytes": sum(len(data) for data in self.files.values()),
            "golden_rows": len(golden.requests),
            "synthetic_rows": sum(len(one.requests) for one in synthetic),
            "branches": golden.entry["branches"],
            "output_difference": worst,
        }

    def _guarded(self, run: Callable[[], Recomputed]) -> Recomputed:
        try:
            return run()
        except BundleError:
            raise
        except Exception as error:
            message = f"{self.where}: the model fails on the requests ({one_line(error)}); export the bundle again"
            raise BundleError(message) from error


def load(path: str | os.PathLike[str]) -> Bundle:
    """Check and load a bundle.

    Args:
        path: its folder, or its .zip.

    Raises:
        BundleError: whatever its PROTOCOL refuses, in one line that names the file.
    """
    return Bundle(read_checked(Path(path)))
