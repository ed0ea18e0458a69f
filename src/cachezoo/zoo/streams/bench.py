"""One drive that lives through a category's cycles, its last one counted, under any placement."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import product
from typing import Any

from cachezoo.arrays import U8
from cachezoo.errors import ConfigError
from cachezoo.kernels.ftl import SepBit
from cachezoo.settings.wear import Drive
from cachezoo.traces.chunks import FLASH_PAGE_BYTES
from cachezoo.traces.table import Trace
from cachezoo.wear.names import LEGACY, ORACLE, SEPBIT
from cachezoo.wear.placements import PLACEMENTS
from cachezoo.wear.run import Wear, wear
from cachezoo.wear.writes import DriveWrites, drive_writes
from cachezoo.zoo.streams.metrics import Kind, Tried
from cachezoo.zoo.streams.variants import Variant

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Candidate:
    """A placement with its arguments.

    Attributes:
        policy: its name.
        kind: what it is, see `Tried.kind`.
        place: the writes to uint8[n] streams; None where the drive chooses them itself (SepBIT).
        parameters: its arguments.
    """

    policy: str
    kind: Kind
    place: Callable[[DriveWrites], U8] | None
    parameters: Values = field(default_factory=dict)

    def tried(self, run: Wear) -> Tried:
        """What is said of it on validation."""
        parameters = dict(self.parameters)
        return Tried(policy=self.policy, kind=self.kind, streams=run.streams_used, parameters=parameters, waf=run.waf)


@dataclass
class Bench:
    """A drive and its writes.

    Attributes:
        writes: of all cycles, the last of which is counted.
        drive: settings of the drive.
        streams: K, that it has.
        since: the first page write that anything learned is asked for.
        runs: by what was placed where, so that placements that agree are run once.
    """

    writes: DriveWrites
    drive: Drive
    streams: int
    since: int
    runs: dict[str, Wear] = field(default_factory=dict)

    @classmethod
    def of(cls, train: Sequence[Trace], served: Sequence[Trace], drive: Drive, streams: int) -> "Bench":
        """A drive that lives through the train cycles, and then through others, of which the last is counted.

        Raises:
            ConfigError: the drive's flash pages are not those that labels and forests were learned in.
            TraceError: nothing is written.
        """
        if drive.page_bytes != FLASH_PAGE_BYTES:
            message = (
                f"policy.drive.page_bytes: {drive.page_bytes}, but streams are learned in flash pages of "
                f"{FLASH_PAGE_BYTES} bytes"
            )
            raise ConfigError(message)
        writes = drive_writes([*train, *served], drive.page_bytes)
        return cls(writes, drive, streams, int(writes.starts[len(train)]))

    def run(self, candidate: Candidate) -> Wear:
        """What a placement does to the drive.

        Raises:
            DeviceError: the drive has no room for its streams.
            TraceError: the counted cycle writes too little.
        """
        placed = None if candidate.place is None else candidate.place(self.writes)
        said = repr(sorted(candidate.parameters.items())).encode() if placed is None else placed.tobytes()
        key = sha256(said).hexdigest()
        if key not in self.runs:
            self.runs[key] = self._run(candidate, placed)
        return self.runs[key]

    def _run(self, candidate: Candidate, placed: U8 | None) -> Wear:
        if placed is None:
            return wear(self.writes, None, self.drive, sepbit=SepBit(**candidate.parameters))
        return wear(self.writes, placed, self.drive, n_streams=self.streams)

    def learned(self, variant: Variant) -> Candidate:
        """A variant as a placement on this drive."""
        return Candidate(variant.name, variant.kind, lambda writes: variant.streams_of(writes, self.since))


def untaught(policy: str, parameters: Values, streams: int) -> Candidate:
    """A placement that nobody taught, with arguments.

    Raises:
        ConfigError: there is none of that name.
    """
    kind: Kind = "legacy" if policy == LEGACY else "bound" if policy == ORACLE else "baseline"
    if policy == SEPBIT:
        return Candidate(policy, kind, None, parameters)
    if policy not in PLACEMENTS:
        message = f"judge.streams.baselines.{policy}: no such placement; use {', '.join([*PLACEMENTS, SEPBIT])}"
        raise ConfigError(message)
    own = {"streams": streams, **parameters} if policy != LEGACY else dict(parameters)
    return Candidate(policy, kind, lambda writes: PLACEMENTS[policy](writes, **own), parameters)


def grid(baselines: Mapping[str, Mapping[str, Sequence[Any]]], streams: int) -> list[Candidate]:
    """Every baseline with every combination of its arguments' values, the drive without streams first.

    Those of more streams than the drive has are left out.

    Raises:
        ConfigError: a name that no placement has.
    """
    found = [untaught(LEGACY, {}, streams)]
    for policy, values in baselines.items():
        for chosen in product(*values.values()):
            own = dict(zip(values, chosen, strict=True))
            if own.get("streams", streams) <= streams:
                found.append(untaught(policy, own, streams))
    return found
