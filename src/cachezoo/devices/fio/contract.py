"""What a replay asks of the thing it replays on: a device, a file, or an emulated disk behind a socket."""

from contextlib import AbstractContextManager
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

    def held(self, writes: bool) -> "AbstractContextManager[ReplayTarget]":
        """The target, kept from others for the time of a replay; itself where it is held already.

        Raises:
            DeviceError: others use it, or it is not what passed its checks.
        """

    def check_again(self, writes: bool) -> None:
        """Refuse a target, which is held, that may be written no longer.

        Raises:
            DeviceError: it is in use, or marked otherwise than when it passed its checks.
        """

    def plain(self, text: str) -> str:
        """A text of fio's or for it, with the target's name as the user knows it."""

    def describe(self) -> dict[str, str]:
        """For the provenance: `name`, `kind`, and what else is known, e.g. `model`, `rotational`, `virtual`."""
