"""Postmarks as the mail domains of a server: each with a pool of messages of its own, made once and then stopped."""

import signal
import subprocess
import time
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np

from cachezoo.errors import CaptureError
from cachezoo.seeds import derive_seed
from tools.capture.disk import call, last_line
from tools.capture.programs import program, version_line
from tools.capture.sandbox import Sandbox, stop_process

KIB = 1024
BLOCK = 4096
FOLDERS = 8
LEAST_MESSAGES = 50
NO_BIAS, MORE_MAIL = -1, 6
READY = b"Performing transactions"
READY_S = 120.0
TRANSACTIONS = 2_000_000_000
CONFIG = """set location {folder}
set number {messages}
set size {low} {high}
set subdirectories {folders}
set read {block}
set write {block}
set buffering false
set bias read {read_bias}
set bias create {create_bias}
set transactions {transactions}
set seed {seed}
run
quit
"""


class Pools(Protocol):
    """What a recipe says of the domains; see `tools.capture.loads.MailLoad`."""

    @property
    def domains(self) -> int: ...  # noqa: D102
    @property
    def messages(self) -> int: ...  # noqa: D102
    @property
    def pool_sigma(self) -> float: ...  # noqa: D102
    @property
    def mean_kib(self) -> float: ...  # noqa: D102
    @property
    def size_sigma(self) -> float: ...  # noqa: D102
    @property
    def read_bias(self) -> int: ...  # noqa: D102
    @property
    def archives(self) -> float: ...  # noqa: D102


def domains_of(load: Pools, seed: int) -> list[dict[str, int]]:
    """The domains: how many messages, of which sizes in bytes, with which biases of postmark's (1 to 10, -1 none).

    Domains that are no archives get more mail than they delete: postmark ends when its pool is empty, and keeps it
    below twice its size.

    Args:
        load: the recipe's part.
        seed: of the draw.
    """
    rng = np.random.default_rng(derive_seed(seed, "capture_domains"))
    parts = np.exp(rng.normal(0.0, load.pool_sigma, load.domains))
    counts = np.maximum(LEAST_MESSAGES, load.messages * parts / parts.sum()).astype(np.int64)
    middle = load.mean_kib * KIB * np.exp(rng.normal(-0.5 * load.size_sigma**2, load.size_sigma, load.domains))
    archive = rng.permutation(load.domains) < round(load.archives * load.domains)
    shift = rng.integers(-1, 2, load.domains)
    rows = zip(counts.tolist(), middle.tolist(), shift.tolist(), archive.tolist(), strict=True)
    return [
        {
            "messages": count,
            "low": max(256, int(0.25 * mean)),
            "high": max(512, int(1.75 * mean)),
            "read_bias": min(10, max(1, load.read_bias + more)),
            "create_bias": NO_BIAS if kept else MORE_MAIL,
        }
        for count, mean, more, kept in rows
    ]


class Postmarks:
    """A postmark for each domain.

    Attributes:
        packages: program to the Debian package that has it.
        domains: as `domains_of` draws them.
        servers: the processes, once they are started; all are stopped.
    """

    packages: ClassVar[dict[str, str]] = {"postmark": "postmark"}

    def __init__(self, box: Sandbox, load: Pools, seed: int) -> None:
        """Draw the domains; nothing happens yet.

        Args:
            box: the sandbox.
            load: the recipe's part.
            seed: of all draws.
        """
        self.box = box
        self.spool = box.mount / "spool"
        self.domains = domains_of(load, seed)
        self.servers: list[subprocess.Popen[bytes]] = []
        self._seed = seed

    def folder(self, domain: int) -> Path:
        """Where a domain's messages lie."""
        return self.spool / f"d{domain:03d}"

    def log(self, domain: int) -> Path:
        """Where a domain's postmark writes."""
        return self.box.work / f"postmark-{domain}.log"

    def prepare(self) -> None:
        """Make the domains' folders and postmark's orders; the messages are postmark's to make."""
        for domain, values in enumerate(self.domains):
            self.folder(domain).mkdir(parents=True)
            fixed = {"folder": self.folder(domain), "folders": FOLDERS, "block": BLOCK, "transactions": TRANSACTIONS}
            seed = derive_seed(self._seed, "capture_postmark", domain)
            text = CONFIG.format(**values, **fixed, seed=seed)
            (self.box.work / f"postmark-{domain}.cfg").write_text(text)

    def start(self) -> None:
        """Start each domain's postmark in the memory group, wait for its messages, and stop it there.

        Raises:
            CaptureError: one makes no messages.
        """
        for domain in range(len(self.domains)):
            log = self.log(domain)
            command = [program("postmark"), str(self.box.work / f"postmark-{domain}.cfg")]
            process = self.box.spawn(command, log)
            deadline = time.monotonic() + READY_S
            while READY not in log.read_bytes():
                if process.poll() is not None or time.monotonic() > deadline:
                    stop_process(process)
                    said = last_line(log.read_text(errors="replace"))
                    message = f"postmark made no messages for domain {domain}: {said}"
                    raise CaptureError(message)
                time.sleep(0.002)
            process.send_signal(signal.SIGSTOP)
            self.servers.append(process)
        call(["sync", "-f", str(self.spool)])

    def check(self) -> None:
        """See that none has ended.

        Raises:
            CaptureError: one has.
        """
        for domain, server in enumerate(self.servers):
            if server.poll() is not None and not self.box.closing.is_set():
                said = last_line(self.log(domain).read_text(errors="replace"))
                message = f"postmark of domain {domain} ended: {said}"
                raise CaptureError(message)

    def stop(self) -> None:
        """End the postmarks; they clean up nothing."""
        while self.servers:
            stop_process(self.servers.pop(), signal.SIGKILL)

    @staticmethod
    def version() -> str:
        """As postmark says."""
        return version_line("postmark", "/dev/null")
