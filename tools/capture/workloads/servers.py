"""Web servers as programs of a workload: their configuration, start and stop."""

import os
import shutil
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from cachezoo.errors import CaptureError
from tools.capture.programs import program, version_line
from tools.capture.sandbox import Sandbox, stop_process

ADDRESS = "127.0.0.1"
START_TRIES = 100


class WebServer(ABC):
    """A web server in the sandbox's memory group, on a free port of this machine.

    Attributes:
        name: of the program.
        packages: program to the Debian package that has it.
        port: once it is started.
    """

    name: ClassVar[str]
    packages: ClassVar[dict[str, str]]
    _stop_signal: ClassVar[int] = signal.SIGTERM

    def __init__(self, box: Sandbox) -> None:
        """Keep the sandbox."""
        self.box = box
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None

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
        with socket.socket() as free:
            free.bind((ADDRESS, 0))
            self.port = free.getsockname()[1]
        # The server gives up root's rights and still has to reach the site.
        os.chmod(self.box.work, 0o755)
        log = self.box.work / f"{self.name}.out"
        self._process = self.box.spawn(self.command(self.port), log)
        for _ in range(START_TRIES):
            if self._process.poll() is not None:
                self.box.finish(self._process, self.name, log, 1)
            with socket.socket() as probe:
                if probe.connect_ex((ADDRESS, self.port)) == 0:
                    return
            time.sleep(0.1)
        message = f"{self.name} did not answer within {START_TRIES / 10:.0f} s"
        raise CaptureError(message)

    def stop(self) -> None:
        """Stop it, with what it still writes; harmless when it does not run."""
        if self._process is not None:
            stop_process(self._process, self._stop_signal)
            self._process = None


class Nginx(WebServer):
    """Nginx with a server block of the workload's own."""

    name = "nginx"
    packages: ClassVar[dict[str, str]] = {"nginx": "nginx-light"}

    def __init__(self, box: Sandbox, http: str, server: str) -> None:
        """Keep the workload's part of the configuration.

        Args:
            box: the sandbox.
            http: directives of the http block.
            server: directives of its one server.
        """
        super().__init__(box)
        self._http, self._server = http, server

    def command(self, port: int) -> list[str]:
        """Nginx with files of its own in the work folder."""
        work, config = self.box.work, self.box.work / "nginx.conf"
        places = " ".join(
            f"{kind}_temp_path {work}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        config.write_text(
            f"daemon off; worker_processes 2; pid {work}/nginx.pid; error_log {work}/nginx.log warn;\n"
            "user www-data;\nevents { worker_connections 1024; }\n"
            f"http {{\n  {self._http}\n  keepalive_requests 1000000; {places}\n"
            f"  server {{ listen {ADDRESS}:{port}; {self._server} }}\n}}\n"
        )
        return [program("nginx"), "-c", str(config)]

    @staticmethod
    def version() -> str:
        """As nginx says."""
        return version_line("nginx", "-v")


class Lighttpd(WebServer):
    """Lighttpd with a document root."""

    name = "lighttpd"
    packages: ClassVar[dict[str, str]] = {"lighttpd": "lighttpd"}
    # It answers what it has begun and then ends.
    _stop_signal = signal.SIGINT

    def __init__(self, box: Sandbox, root: Path, log: Path) -> None:
        """Keep the places.

        Args:
            box: the sandbox.
            root: folder of the documents.
            log: access log.
        """
        super().__init__(box)
        self._root, self._log = root, log

    def command(self, port: int) -> list[str]:
        """Lighttpd with the access log on the site's filesystem, as nginx's is; errors go where its output goes."""
        # It opens the log with the rights that it has left.
        shutil.chown(self._log.parent, "www-data", "www-data")
        config = self.box.work / "lighttpd.conf"
        config.write_text(
            'server.modules = ("mod_accesslog")\n'
            f'server.document-root = "{self._root}"\nserver.bind = "{ADDRESS}"\nserver.port = {port}\n'
            'server.username = "www-data"\nserver.groupname = "www-data"\n'
            f'accesslog.filename = "{self._log}"\n'
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

    name = "apache2"
    packages: ClassVar[dict[str, str]] = {"apache2": "apache2-bin"}

    def __init__(self, box: Sandbox, root: Path, log: Path) -> None:
        """Keep the places.

        Args:
            box: the sandbox.
            root: folder of the documents.
            log: access log.
        """
        super().__init__(box)
        self._root, self._log = root, log

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
            f"CustomLog {self._log} common",
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

    name = "caddy"
    packages: ClassVar[dict[str, str]] = {"caddy": "caddy"}

    def __init__(self, box: Sandbox, root: Path, log: Path) -> None:
        """Keep the places.

        Args:
            box: the sandbox.
            root: folder of the documents.
            log: access log.
        """
        super().__init__(box)
        self._root, self._log = root, log

    def command(self, port: int) -> list[str]:
        """Caddy without HTTPS, its administration and what it keeps of its own."""
        config = self.box.work / "Caddyfile"
        config.write_text(
            "{\n  admin off\n  auto_https off\n}\n"
            f"http://{ADDRESS}:{port} {{\n  bind {ADDRESS}\n  root * {self._root}\n  file_server\n"
            f"  log {{\n    output file {self._log} {{\n      roll_disabled\n    }}\n  }}\n}}\n"
        )
        home = f"HOME={self.box.work}"
        return ["env", home, program("caddy"), "run", "--config", str(config), "--adapter", "caddyfile"]

    @staticmethod
    def version() -> str:
        """As Caddy says."""
        return f"Caddy {version_line('caddy', 'version')}"
