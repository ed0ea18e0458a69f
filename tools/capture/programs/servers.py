"""Servers of programs: their configuration, start and stop."""

import os
import shutil
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from cachezoo.errors import CaptureError
from tools.capture.installed import program, version_line
from tools.capture.sandbox import Sandbox, stop_process

ADDRESS = "127.0.0.1"
START_TRIES = 300


def free_port() -> int:
    """A port of this machine that nobody has."""
    with socket.socket() as free:
        free.bind((ADDRESS, 0))
        return int(free.getsockname()[1])


def connects(port: int) -> bool:
    """Whether somebody answers on a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex((ADDRESS, port)) == 0


class Server:
    """A server in a sandbox.

    Attributes:
        name: of its program.
        log: where its output goes.
        process: it, while it runs.
    """

    def __init__(self, box: Sandbox, name: str, stop_signal: int = signal.SIGTERM) -> None:
        """Describe the server; nothing happens yet.

        Args:
            box: the sandbox.
            name: of its program.
            stop_signal: what it ends at in order.
        """
        self.box = box
        self.name = name
        self.log = box.work / f"{name}.out"
        self.process: subprocess.Popen[bytes] | None = None
        self._stop_signal = stop_signal

    def serve(
        self, command: list[str], answers: Callable[[], bool], limited: bool = True, user: str | None = None
    ) -> None:
        """Start it and wait until it answers.

        Args:
            command: which stays in the foreground.
            answers: whether it does by now.
            limited: in the memory group.
            user: whose rights it takes.

        Raises:
            CaptureError: it ends or does not answer.
        """
        self.process = self.box.spawn(command, self.log, limited, user)
        for _ in range(START_TRIES):
            if self.process.poll() is not None:
                self.box.finish(self.process, self.name, self.log, 1)
            if answers():
                return
            time.sleep(0.1)
        raise CaptureError(f"{self.name} did not answer within {START_TRIES / 10:.0f} s")

    def stop(self) -> None:
        """Stop it, with what it still writes; harmless when it does not run."""
        if self.process is not None:
            stop_process(self.process, self._stop_signal)
            self.process = None


class WebServer(Server, ABC):
    """A web server in the sandbox's memory group, on a free port of this machine.

    Attributes:
        kind: its program.
        packages: program to the Debian package that has it.
        port: once it is started.
    """

    kind: ClassVar[str]
    packages: ClassVar[dict[str, str]]
    # What it ends at when it has answered what it has begun.
    ends_at: ClassVar[int] = signal.SIGTERM

    def __init__(self, box: Sandbox, root: Path, log: Path) -> None:
        """Keep the places.

        Args:
            box: the sandbox.
            root: folder of the documents.
            log: access log, on the documents' filesystem.
        """
        super().__init__(box, self.kind, self.ends_at)
        self.port = 0
        self._root, self._access_log = root, log

    @abstractmethod
    def command(self, port: int) -> list[str]:
        """Write the configuration and return the command line, which stays in the foreground."""

    @staticmethod
    @abstractmethod
    def version() -> str:
        """What the program says of its version."""

    def start(self) -> None:
        """Start it and wait until it answers.

        Raises:
            CaptureError: it ends or does not answer.
        """
        self.port = free_port()
        # The server gives up root's rights and still has to reach the site.
        os.chmod(self.box.work, 0o755)
        self.serve(self.command(self.port), lambda: connects(self.port))


class Nginx(WebServer):
    """Nginx with a document root."""

    kind = "nginx"
    packages: ClassVar[dict[str, str]] = {"nginx": "nginx-light"}

    def http_block(self) -> str:
        """Directives of its http block."""
        return ""

    def server_block(self) -> str:
        """Directives of the one server of its http block."""
        return f"root {self._root}; access_log {self._access_log} combined; sendfile on; aio threads;"

    def command(self, port: int) -> list[str]:
        """Nginx with files of its own in the work folder."""
        work, config = self.box.work, self.box.work / "nginx.conf"
        places = " ".join(
            f"{kind}_temp_path {work}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        config.write_text(
            f"daemon off; worker_processes 2; pid {work}/nginx.pid; error_log {work}/nginx.log warn;\n"
            "user www-data;\nevents { worker_connections 1024; }\n"
            f"http {{\n  {self.http_block()}\n  keepalive_requests 1000000; {places}\n"
            f"  server {{ listen {ADDRESS}:{port}; {self.server_block()} }}\n}}\n"
        )
        return [program("nginx"), "-c", str(config)]

    @staticmethod
    def version() -> str:
        """As nginx says."""
        return version_line("nginx", "-v")


class Lighttpd(WebServer):
    """Lighttpd with a document root."""

    kind = "lighttpd"
    packages: ClassVar[dict[str, str]] = {"lighttpd": "lighttpd"}
    # It answers what it has begun and then ends.
    ends_at = signal.SIGINT

    def command(self, port: int) -> list[str]:
        """Lighttpd with the access log on the site's filesystem, as nginx's is; errors go where its output goes."""
        # It opens the log with the rights that it has left.
        shutil.chown(self._access_log.parent, "www-data", "www-data")
        config = self.box.work / "lighttpd.conf"
        config.write_text(
            'server.modules = ("mod_accesslog")\n'
            f'server.document-root = "{self._root}"\nserver.bind = "{ADDRESS}"\nserver.port = {port}\n'
            'server.username = "www-data"\nserver.groupname = "www-data"\n'
            f'accesslog.filename = "{self._access_log}"\n'
            "server.max-keep-alive-requests = 100000\nserver.max-connections = 512\n"
            'mimetype.assign = (".html" => "text/html", ".jpg" => "image/jpeg")\n'
        )
        return [program("lighttpd"), "-D", "-f", str(config)]

    @staticmethod
    def version() -> str:
        """As lighttpd says."""
        return version_line("lighttpd", "-v")


class Apache(WebServer):
    """Apache with a document root, its threads in processes (mpm_event)."""

    kind = "apache2"
    packages: ClassVar[dict[str, str]] = {"apache2": "apache2-bin"}

    def command(self, port: int) -> list[str]:
        """Apache with no module but what it needs."""
        config, work = self.box.work / "apache.conf", self.box.work
        modules = ("mpm_event", "authz_core", "mime")
        lines = [f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in modules]
        lines += [
            f"ServerRoot {work}",
            f"DefaultRuntimeDir {work}",
            f"PidFile {work}/apache.pid",
            f"Listen {ADDRESS}:{port}",
            "ServerName localhost",
            "User www-data",
            "Group www-data",
            "TypesConfig /dev/null",
            "AddType text/html .html",
            "AddType image/jpeg .jpg",
            f"DocumentRoot {self._root}",
            f"ErrorLog {work}/apache-error.log",
            'LogFormat "%h %l %u %t \\"%r\\" %>s %b" common',
            f"CustomLog {self._access_log} common",
            "MaxKeepAliveRequests 0",
            "StartServers 2",
            "ThreadsPerChild 25",
            "EnableSendfile On",
        ]
        config.write_text("\n".join(lines) + "\n")
        return [program("apache2"), "-DFOREGROUND", "-f", str(config)]

    @staticmethod
    def version() -> str:
        """As Apache says."""
        return version_line("apache2", "-v")


class Caddy(WebServer):
    """Caddy with a document root."""

    kind = "caddy"
    packages: ClassVar[dict[str, str]] = {"caddy": "caddy"}

    def command(self, port: int) -> list[str]:
        """Caddy without HTTPS, its administration and what it keeps of its own."""
        config = self.box.work / "Caddyfile"
        config.write_text(
            "{\n  admin off\n  auto_https off\n}\n"
            f"http://{ADDRESS}:{port} {{\n  bind {ADDRESS}\n  root * {self._root}\n  file_server\n"
            f"  log {{\n    output file {self._access_log} {{\n      roll_disabled\n    }}\n  }}\n}}\n"
        )
        home = f"HOME={self.box.work}"
        return ["env", home, program("caddy"), "run", "--config", str(config), "--adapter", "caddyfile"]

    @staticmethod
    def version() -> str:
        """As Caddy says."""
        return f"Caddy {version_line('caddy', 'version')}"
