"""Web servers under wrk in a closed loop: a site of articles, publishing and a backup beside the visits."""

import os
import signal
from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

import numpy as np

from cachezoo.seeds import derive_seed
from tools.capture.closed.base import ClosedWorkload, Player
from tools.capture.closed.loads import SiteLoad
from tools.capture.closed.recipe import ClosedRecipe, Phase
from tools.capture.closed.trees import backup_command
from tools.capture.programs import program
from tools.capture.sandbox import Sandbox
from tools.capture.workloads.office import lognormal_sizes
from tools.capture.workloads.servers import ADDRESS, Apache, Caddy, Lighttpd, Nginx, WebServer
from tools.capture.workloads.web import ARTICLES_PER_FOLDER, SITE
from tools.capture.workloads.wrk import check_wrk_log, wrk_version

SCRIPT = Path(__file__).with_name("loop.lua")
MOST_ASSETS = 40
PUBLISHED_SETS = 8
# Each file comes whole under its name, so that no visitor gets a part of it.
PUBLISH = """cd "$0" && while :; do for part in *; do
  for file in "$part"/*/*; do
    cp "$file" "$1/.new" && mv "$1/.new" "$1/${file#*/}"
  done
  sleep 0.2
done; done"""


class SiteWorkload(ClosedWorkload):
    """A site under one of the servers."""

    operations = ("visits", "crawls")
    jobs = ("publish", "backup")

    def __init__(self, recipe: ClosedRecipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        assert isinstance(recipe.load, SiteLoad)
        self.load = recipe.load
        self.site = box.mount / "site"
        self.index = box.work / "site.txt"
        self.access_log = box.mount / "log" / "access.log"
        self.running = self.make_server()
        rng = np.random.default_rng(derive_seed(recipe.seed, "capture_site"))
        self._order = rng.permutation(self.load.articles)
        drawn = rng.geometric(1 / (1 + self.load.assets), self.load.articles) - 1
        self._assets = np.minimum(drawn, MOST_ASSETS)

    @abstractmethod
    def make_server(self) -> WebServer:
        """The server, not yet started."""

    def _paths(self, article: int) -> list[str]:
        folder = f"/{article // ARTICLES_PER_FOLDER:04d}/{article:06d}"
        return [f"{folder}.html", *(f"{folder}-{asset}.jpg" for asset in range(int(self._assets[article])))]

    def _sizes(self, count: int, context: str) -> list[int]:
        seed = derive_seed(self.recipe.seed, context)
        load = self.load
        return [int(size) for size in lognormal_sizes(load.median_kib, load.sigma, load.max_kib, count, seed)]

    def prepare(self) -> None:
        """Write the site, what will be published, and the site's index for wrk."""
        self._write(self.site, range(self.load.articles), "capture_sizes")
        self.access_log.parent.mkdir()
        for number in range(PUBLISHED_SETS):
            first = number * self.load.publish_articles
            chosen = [int(self._order[(first + step) % len(self._order)]) for step in range(self.load.publish_articles)]
            self._write(self.box.work / f"publish/{number}", chosen, f"capture_publish_{number}")
        lines = [" ".join(self._paths(int(article))) for article in self._order]
        self.index.write_text("\n".join(lines) + "\n")

    def _write(self, root: Path, articles: "range | list[int]", context: str) -> None:
        paths = [path for article in articles for path in self._paths(article)]
        block = os.urandom(self.load.max_kib * 1024)
        for folder in {Path(path[1:]).parent for path in paths}:
            (root / folder).mkdir(parents=True, exist_ok=True)
        for path, size in zip(paths, self._sizes(len(paths), context), strict=True):
            (root / path[1:]).write_bytes(block[:size])

    def start(self) -> None:
        """Start the server in the memory group."""
        self.running.start()

    def play(self, phase: Phase, number: int) -> list[Player]:
        """Start wrk, and the jobs beside it."""
        values = (self.seed(number), phase.theta, phase.move, *(phase.mix.get(name, 0) for name in self.operations))
        command = [program("wrk"), "-t", "1", "-c", str(self.load.clients), "-d", "3600s", "--timeout", "10s"]
        command += ["-s", str(SCRIPT), f"http://{ADDRESS}:{self.running.port}", "--", str(self.index)]
        players = [self.player(f"wrk-{number}", [*command, *map(str, values)], False, signal.SIGINT)]
        if "backup" in phase.beside:
            folders = sorted(path.name for path in self.site.iterdir())
            chosen = folders[: max(1, int(len(folders) * self.load.backup_share))]
            players.append(self.player(f"tar-{number}", backup_command(self.site, chosen)))
        if "publish" in phase.beside:
            command = ["/bin/sh", "-c", PUBLISH, str(self.box.work / "publish"), str(self.site)]
            players.append(self.player(f"cp-{number}", command))
        return players

    def check(self, player: Player) -> None:
        """See that the program ended well, and that the server answered wrk."""
        super().check(player)
        if player.name.startswith("wrk"):
            check_wrk_log(self.box, player.log)

    def stop(self) -> None:
        """Stop the server when it has answered what it has begun."""
        self.running.stop()


class NginxSite(SiteWorkload):
    """The site under nginx."""

    program = "nginx"
    title = "nginx and wrk: a site larger than memory"
    packages: ClassVar[dict[str, str]] = {**Nginx.packages, "wrk": "wrk", "tar": "tar"}

    def make_server(self) -> WebServer:
        """Nginx, which logs to the site's filesystem."""
        return Nginx(self.box, "", SITE.format(site=self.site, log=self.access_log))

    @staticmethod
    def versions() -> dict[str, str]:
        """Nginx and wrk."""
        return {"nginx": Nginx.version(), "wrk": wrk_version()}


class LighttpdSite(SiteWorkload):
    """The site under lighttpd."""

    program = "lighttpd"
    title = "lighttpd and wrk: a site larger than memory"
    packages: ClassVar[dict[str, str]] = {**Lighttpd.packages, "wrk": "wrk", "tar": "tar"}

    def make_server(self) -> WebServer:
        """Lighttpd, which logs to the site's filesystem."""
        return Lighttpd(self.box, self.site, self.access_log)

    @staticmethod
    def versions() -> dict[str, str]:
        """Lighttpd and wrk."""
        return {"lighttpd": Lighttpd.version(), "wrk": wrk_version()}


class ApacheSite(SiteWorkload):
    """The site under Apache."""

    program = "apache"
    title = "Apache and wrk: a site larger than memory"
    packages: ClassVar[dict[str, str]] = {**Apache.packages, "wrk": "wrk", "tar": "tar"}

    def make_server(self) -> WebServer:
        """Apache, which logs to the site's filesystem."""
        return Apache(self.box, self.site, self.access_log)

    @staticmethod
    def versions() -> dict[str, str]:
        """Apache and wrk."""
        return {"apache2": Apache.version(), "wrk": wrk_version()}


class CaddySite(SiteWorkload):
    """The site under Caddy."""

    program = "caddy"
    title = "Caddy and wrk: a site larger than memory"
    packages: ClassVar[dict[str, str]] = {**Caddy.packages, "wrk": "wrk", "tar": "tar"}

    def make_server(self) -> WebServer:
        """Caddy, which logs to the site's filesystem."""
        return Caddy(self.box, self.site, self.access_log)

    @staticmethod
    def versions() -> dict[str, str]:
        """Caddy and wrk."""
        return {"caddy": Caddy.version(), "wrk": wrk_version()}
