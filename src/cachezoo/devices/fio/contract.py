"""What a replay asks of the thing it replays on: a device, a file, or an emulated disk behind a socket."""

from typing import Protocol


class ReplayTarget(Protocol):
    """What fio is pointed at.

    Attributes:
        label: what an error calls it: the path, or what the emulated disk is.
        engine: fio's I/O engine: `psync` (queue depth 1 only), `libaio` or `nbd`.
        data_offset: bytes, added to every address of the trace; a multiple of the logical block.
        data_bytes: requests lie within so many bytes from there.
        writable: whether it was made to be overwritten: a replay writes nowhere else.
    """

    @property
    def label(self) -> str:
        """What an error calls it."""

    @property
    def engine(self) -> str:
        """Fio's I/O engine."""

    @property
    def data_offset(self) -> int:
        """Bytes added to every address."""

    @property
    def data_bytes(self) -> int:
        """Bytes that requests may touch."""

    @property
    def writable(self) -> bool:
        """Whether it was made to be overwritten."""

    def fio_options(self) -> list[str]:
        """What points fio at it, without the engine: `--replay_redirect=/dev/sdx --direct=1`, or `--uri=nbd+unix://…`."""

    def describe(self) -> dict[str, str]:
        """For the provenance: `name`, `kind`, and what else is known, e.g. `model`, `rotational`, `virtual`."""
