"""Mail in a closed loop: postmark, Maildirs, Dovecot and notmuch."""

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from typing import ClassVar

import numpy as np

from cachezoo.capture.closed.base import ClosedWorkload, Player
from cachezoo.capture.closed.clients.imap import fill as fill_imap
from cachezoo.capture.closed.clients.messages import message
from cachezoo.capture.closed.loads import DovecotLoad, MailboxLoad, MaildirLoad, NotmuchLoad, PostmarkLoad
from cachezoo.capture.closed.recipe import ClosedRecipe, Phase
from cachezoo.capture.closed.trees import backup_command
from cachezoo.capture.programs import program, version_line
from cachezoo.capture.sandbox import Sandbox, stop_process
from cachezoo.capture.workloads.office import lognormal_sizes
from cachezoo.capture.workloads.postmark import Postmarks
from cachezoo.capture.workloads.servers import ADDRESS
from cachezoo.errors import CaptureError
from cachezoo.seeds import derive_seed

LEAST_MESSAGES = 5
POOL_SIGMA = 0.8
OWNER = "www-data"
START_TRIES = 100
FOLDERS = 50
SUBFOLDERS = ("cur", "new", "tmp")
MAILBOX_OPERATIONS = ("deliver", "listings", "reads", "flags", "expunge", "searches")


def message_sizes(load: MailboxLoad, seed: int) -> list[list[int]]:
    """For each user the sizes in bytes of the messages at the start; users differ in how many they have."""
    rng = np.random.default_rng(derive_seed(seed, "capture_users"))
    parts = np.exp(rng.normal(0.0, POOL_SIGMA, load.users))
    counts = np.maximum(LEAST_MESSAGES, load.messages * parts / parts.sum()).astype(np.int64)
    sizes = lognormal_sizes(
        load.median_kib, load.sigma, load.max_kib, int(counts.sum()), derive_seed(seed, "capture_sizes")
    )
    return [part.tolist() for part in np.split(sizes, np.cumsum(counts)[:-1])]


class PostmarkWorkload(ClosedWorkload):
    """Postmarks, of which a few run at once, each for a visit."""

    program = "postmark"
    title = "postmark: visits of mail domains whose popularity differs"
    packages: ClassVar[dict[str, str]] = {**Postmarks.packages, "tar": "tar"}
    operations = ("visits",)
    jobs = ("backup",)

    def __init__(self, recipe: ClosedRecipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        assert isinstance(recipe.load, PostmarkLoad)
        self.load = recipe.load
        self.postmarks = Postmarks(box, self.load, recipe.seed)

    def prepare(self) -> None:
        """Make the domains' folders and postmark's orders."""
        self.postmarks.prepare()

    def start(self) -> None:
        """Start each domain's postmark in the memory group; they wait, with their messages made."""
        self.postmarks.start()

    def play(self, phase: Phase, number: int) -> list[Player]:
        """Start the client that lets postmarks run, and a backup where the phase has one."""
        drawn = {"mix": phase.mix, "theta": phase.theta, "move": phase.move, "layout": self.recipe.seed}
        pids = [server.pid for server in self.postmarks.servers]
        own = {"pids": pids, "at_once": self.load.clients, "calls": self.load.visit_calls}
        plan = {**drawn, **own, "seed": self.seed(number)}
        name = f"visits-{number}"
        players = [self.player(name, self.client("visits", name, plan), limited=False)]
        if "backup" in phase.beside:
            names = [self.postmarks.folder(domain).name for domain in range(max(1, self.load.domains // 4))]
            players.append(self.player(f"tar-{number}", backup_command(self.postmarks.spool, names)))
        return players

    def check(self, player: Player) -> None:
        """See that the program ended well and that no postmark ended."""
        self.postmarks.check()
        super().check(player)

    def stop(self) -> None:
        """End the postmarks; they clean up nothing."""
        self.postmarks.stop()

    @staticmethod
    def versions() -> dict[str, str]:
        """Postmark."""
        return {"postmark": Postmarks.version()}


class MaildirWorkload(ClosedWorkload):
    """Maildirs of many users, each client a delivery and mail program on the files themselves."""

    program = "maildir"
    title = "Maildirs through Python's mailbox module: deliveries, listings, reads, flags, expunges, searches"
    packages: ClassVar[dict[str, str]] = {}
    operations = MAILBOX_OPERATIONS

    def __init__(self, recipe: ClosedRecipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        assert isinstance(recipe.load, MaildirLoad)
        self.load = recipe.load
        self.spool = box.mount / "mail"

    def prepare(self) -> None:
        """Write the users' Maildirs; users' deliveries alternate, as they do in time."""
        draw = random.Random(self.recipe.seed)
        users = message_sizes(self.load, self.recipe.seed)
        for user in range(self.load.users):
            for part in SUBFOLDERS:
                (self.spool / f"u{user:04d}" / part).mkdir(parents=True)
        order = [user for user, sizes in enumerate(users) for _ in sizes]
        draw.shuffle(order)
        for number, user in enumerate(order):
            path = self.spool / f"u{user:04d}" / "cur" / f"{number:08d}.M1P1.host:2,S"
            path.write_bytes(message(draw, number, users[user].pop()))

    def play(self, phase: Phase, number: int) -> list[Player]:
        """Start the clients."""
        load = self.load
        values = {"root": str(self.spool), "users": load.users, "kib": load.median_kib, "sigma": load.sigma}
        return self.clients("maildir", phase, number, {**values, "max_kib": load.max_kib})

    @staticmethod
    def versions() -> dict[str, str]:
        """Python, whose mailbox module it is."""
        return {"python": sys.version.split()[0]}


class DovecotWorkload(ClosedWorkload):
    """Dovecot, to which the clients speak IMAP."""

    program = "dovecot"
    title = "Dovecot and IMAP clients: deliveries, listings, reads, flags, expunges, searches"
    packages: ClassVar[dict[str, str]] = {"dovecot": "dovecot-imapd", "doveadm": "dovecot-imapd"}
    operations = MAILBOX_OPERATIONS

    def __init__(self, recipe: ClosedRecipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        assert isinstance(recipe.load, DovecotLoad)
        self.load = recipe.load
        self.spool = box.mount / "mail"
        self.config = box.work / "dovecot.conf"
        self._server: subprocess.Popen[bytes] | None = None
        self.port = 0

    def prepare(self) -> None:
        """Deliver the messages to Dovecot itself, without the limit and without waiting for the disk."""
        self.spool.mkdir()
        shutil.chown(self.spool, OWNER, OWNER)
        os.chmod(self.box.work, 0o755)
        self._serve(limited=False, fsync="never")
        fill_imap(self.port, message_sizes(self.load, self.recipe.seed), self.recipe.seed)
        self.stop()

    def _write_config(self, fsync: str) -> None:
        run = self.box.work / "dovecot"
        run.mkdir(exist_ok=True)
        self.config.write_text(
            f"base_dir = {run}\nstate_dir = {run}\nprotocols = imap\nlisten = {ADDRESS}\nssl = no\n"
            f"disable_plaintext_auth = no\nlog_path = {self.log('dovecot')}\nmail_fsync = {fsync}\n"
            f"mail_location = {self.load.format}:{self.spool}/%u\nmail_uid = {OWNER}\nmail_gid = {OWNER}\n"
            "first_valid_uid = 1\nmail_max_userip_connections = 100\n"
            "passdb {\n  driver = static\n  args = nopassword=y\n}\n"
            f"userdb {{\n  driver = static\n  args = uid={OWNER} gid={OWNER} home={self.spool}/%u\n}}\n"
            f"service imap-login {{\n  chroot =\n  inet_listener imap {{\n    port = {self.port}\n  }}\n"
            "  service_count = 0\n  process_min_avail = 1\n}\nservice imap {\n  service_count = 200\n}\n"
            "service anvil {\n  chroot =\n}\n"
        )

    def _serve(self, limited: bool, fsync: str) -> None:
        with socket.socket() as free:
            free.bind((ADDRESS, 0))
            self.port = free.getsockname()[1]
        self._write_config(fsync)
        log = self.log("dovecot-out")
        self._server = self.box.spawn([program("dovecot"), "-F", "-c", str(self.config)], log, limited)
        for _ in range(START_TRIES):
            if self._server.poll() is not None:
                self.box.finish(self._server, "dovecot", log, 1)
            with socket.socket() as probe:
                if probe.connect_ex((ADDRESS, self.port)) == 0:
                    return
            time.sleep(0.1)
        message = f"dovecot did not answer within {START_TRIES / 10:.0f} s"
        raise CaptureError(message)

    def start(self) -> None:
        """Start Dovecot in the memory group."""
        self._serve(limited=True, fsync="optimized")

    def play(self, phase: Phase, number: int) -> list[Player]:
        """Start the clients."""
        load = self.load
        values = {"port": self.port, "users": load.users, "kib": load.median_kib, "sigma": load.sigma}
        return self.clients("imap", phase, number, {**values, "max_kib": load.max_kib})

    def stop(self) -> None:
        """Stop Dovecot; harmless when it does not run."""
        if self._server is not None:
            stop_process(self._server, signal.SIGTERM)
            self._server = None

    @staticmethod
    def versions() -> dict[str, str]:
        """Dovecot and Python, whose imaplib the clients use."""
        return {"dovecot": version_line("dovecot", "--version"), "python": sys.version.split()[0]}


class NotmuchWorkload(ClosedWorkload):
    """Notmuch over a Maildir."""

    program = "notmuch"
    title = "notmuch: new mail into an index, searches, reads, tags, dumps"
    packages: ClassVar[dict[str, str]] = {"notmuch": "notmuch"}
    operations = ("deliver", "searches", "reads", "tags", "scans")

    def __init__(self, recipe: ClosedRecipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        assert isinstance(recipe.load, NotmuchLoad)
        self.load = recipe.load
        self.mail = box.mount / "mail"
        self.config = box.work / "notmuch.conf"

    def prepare(self) -> None:
        """Write the messages and index them."""
        load = self.load
        draw = random.Random(self.recipe.seed)
        for folder in range(FOLDERS):
            for part in SUBFOLDERS:
                (self.mail / f"f{folder:02d}" / part).mkdir(parents=True)
        seed = derive_seed(self.recipe.seed, "capture_sizes")
        sizes = lognormal_sizes(load.median_kib, load.sigma, load.max_kib, load.messages, seed)
        for number, size in enumerate(sizes.tolist()):
            path = self.mail / f"f{number % FOLDERS:02d}" / "cur" / f"{number:08d}.M1P1.host:2,S"
            path.write_bytes(message(draw, number, size, load.words))
        self.config.write_text(
            f"[database]\npath={self.mail}\n[user]\nname=A\nprimary_email=a@example.org\n[new]\ntags=new\n"
            "[search]\nexclude_tags=deleted\n[maildir]\nsynchronize_flags=false\n"
        )
        command = ["env", f"NOTMUCH_CONFIG={self.config}", program("notmuch"), "new", "--quiet"]
        self.box.run(command, self.log("notmuch"), limited=False)

    def play(self, phase: Phase, number: int) -> list[Player]:
        """Start the clients."""
        load = self.load
        values = {
            "root": str(self.mail),
            "config": str(self.config),
            "notmuch": program("notmuch"),
            "messages": load.messages,
            "folders": FOLDERS,
            "words": load.words,
            "batch": load.deliver,
            "kib": load.median_kib,
            "sigma": load.sigma,
            "max_kib": load.max_kib,
        }
        return self.clients("notmuch", phase, number, values)

    @staticmethod
    def versions() -> dict[str, str]:
        """Notmuch."""
        return {"notmuch": version_line("notmuch", "--version")}
