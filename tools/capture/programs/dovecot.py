"""Dovecot: mailboxes of users u0000, u0001, ..., to which its clients speak IMAP."""

import os
import shutil
import sys
from typing import ClassVar

from tools.capture.clients.imap import fill
from tools.capture.installed import program
from tools.capture.loads import DovecotLoad
from tools.capture.programs.base import Closed, Player
from tools.capture.programs.draws import sizes_plan
from tools.capture.programs.mail import MAILBOX_OPERATIONS, USER_SIGMA, message_sizes
from tools.capture.programs.servers import ADDRESS, Server, connects, free_port
from tools.capture.recipe import Phase, Recipe
from tools.capture.sandbox import Sandbox

OWNER = "www-data"
PACKAGES = {"dovecot": "dovecot-imapd", "doveadm": "dovecot-imapd"}


class Dovecot(Server):
    """The server.

    Attributes:
        spool: folder of the mailboxes.
        config: its configuration.
        port: for IMAP, once it is started.
    """

    def __init__(self, box: Sandbox, stored: str) -> None:
        """Describe the server; nothing happens yet.

        Args:
            box: the sandbox.
            stored: format of the mailboxes, such as sdbox.
        """
        super().__init__(box, "dovecot")
        self.spool = box.mount / "mail"
        self.config = box.work / "dovecot.conf"
        self.port = 0
        self._stored = stored

    def prepare(self) -> None:
        """Make the folder of the mailboxes, and start the server without the limit and without waiting for the disk."""
        self.spool.mkdir()
        shutil.chown(self.spool, OWNER, OWNER)
        os.chmod(self.box.work, 0o755)
        self._start(limited=False, fsync="never")

    def _write_config(self, fsync: str) -> None:
        run = self.box.work / "dovecot"
        run.mkdir(exist_ok=True)
        self.config.write_text(
            f"base_dir = {run}\nstate_dir = {run}\nprotocols = imap\nlisten = {ADDRESS}\nssl = no\n"
            f"disable_plaintext_auth = no\nlog_path = {self.box.work / 'dovecot.log'}\nmail_fsync = {fsync}\n"
            f"mail_location = {self._stored}:{self.spool}/%u\nmail_uid = {OWNER}\nmail_gid = {OWNER}\n"
            "first_valid_uid = 1\nmail_max_userip_connections = 100\n"
            "passdb {\n  driver = static\n  args = nopassword=y\n}\n"
            f"userdb {{\n  driver = static\n  args = uid={OWNER} gid={OWNER} home={self.spool}/%u\n}}\n"
            f"service imap-login {{\n  chroot =\n  inet_listener imap {{\n    port = {self.port}\n  }}\n"
            "  service_count = 0\n  process_min_avail = 1\n}\nservice imap {\n  service_count = 200\n}\n"
            "service anvil {\n  chroot =\n}\n"
        )

    def _start(self, limited: bool, fsync: str) -> None:
        self.port = free_port()
        self._write_config(fsync)
        self.serve([program("dovecot"), "-F", "-c", str(self.config)], lambda: connects(self.port), limited)

    def start(self) -> None:
        """Start it in the memory group, with the waiting for the disk that it has by default."""
        self._start(limited=True, fsync="optimized")


class DovecotImap(Closed[DovecotLoad]):
    """Dovecot, to which the clients speak IMAP."""

    program = "dovecot"
    packages: ClassVar[dict[str, str]] = PACKAGES
    asks: ClassVar[dict[str, tuple[str, ...]]] = {"dovecot": ("--version",)}
    operations = MAILBOX_OPERATIONS
    server: Dovecot

    def __init__(self, recipe: Recipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        self.server = Dovecot(box, self.load.format)

    def prepare(self) -> None:
        """Deliver the messages to Dovecot itself, without the limit and without waiting for the disk."""
        self.server.prepare()
        sizes = message_sizes(self.load, self.load.messages, USER_SIGMA, self.recipe.seed)
        fill(self.server.port, {"INBOX": sizes}, self.recipe.seed)
        self.server.stop()

    def start(self) -> None:
        """Start Dovecot in the memory group."""
        self.server.start()

    def play(self, phase: Phase, number: int) -> list[Player]:
        """Start the clients."""
        values = {"port": self.server.port, "users": self.load.users, **sizes_plan(self.load)}
        return self.clients("imap", phase, number, values)

    @classmethod
    def versions(cls) -> dict[str, str]:
        """Dovecot and Python, whose imaplib the clients use."""
        return {**super().versions(), "python": sys.version.split()[0]}
