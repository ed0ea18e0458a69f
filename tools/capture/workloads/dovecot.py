"""A Dovecot server in the sandbox: mailboxes of users u0000, u0001, ..., to which its clients speak IMAP."""

import os
import shutil
import signal
import socket
import subprocess
import time
from typing import ClassVar

from cachezoo.errors import CaptureError
from tools.capture.programs import program, version_line
from tools.capture.sandbox import Sandbox, stop_process
from tools.capture.workloads.servers import ADDRESS

OWNER = "www-data"
START_TRIES = 100


class Dovecot:
    """The server.

    Attributes:
        packages: program to the Debian package that has it.
        spool: folder of the mailboxes.
        config: its configuration.
        port: for IMAP, once it is started.
    """

    packages: ClassVar[dict[str, str]] = {"dovecot": "dovecot-imapd", "doveadm": "dovecot-imapd"}

    def __init__(self, box: Sandbox, stored: str) -> None:
        """Describe the server; nothing happens yet.

        Args:
            box: the sandbox.
            stored: format of the mailboxes, such as sdbox.
        """
        self.box = box
        self.spool = box.mount / "mail"
        self.config = box.work / "dovecot.conf"
        self.port = 0
        self._stored = stored
        self._server: subprocess.Popen[bytes] | None = None

    def prepare(self) -> None:
        """Make the folder of the mailboxes, and start the server without the limit and without waiting for the disk."""
        self.spool.mkdir()
        shutil.chown(self.spool, OWNER, OWNER)
        os.chmod(self.box.work, 0o755)
        self._serve(limited=False, fsync="never")

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

    def _serve(self, limited: bool, fsync: str) -> None:
        with socket.socket() as free:
            free.bind((ADDRESS, 0))
            self.port = free.getsockname()[1]
        self._write_config(fsync)
        log = self.box.work / "dovecot-out.log"
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
        """Start it in the memory group, with the waiting for the disk that it has by default."""
        self._serve(limited=True, fsync="optimized")

    def stop(self) -> None:
        """Stop it; harmless when it does not run."""
        if self._server is not None:
            stop_process(self._server, signal.SIGTERM)
            self._server = None

    @staticmethod
    def version() -> str:
        """As Dovecot says."""
        return version_line("dovecot", "--version")
