"""Web servers under wrk: a site of articles, with publishing, crawls and a backup."""

import os
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

import numpy as np

from cachezoo.seeds import derive_seed
from tools.capture.installed import program
from tools.capture.loads import SiteLoad
from tools.capture.programs.base import Closed, Paced, Player
from tools.capture.programs.draws import LEAST_BYTES, lognormal_sizes
from tools.capture.programs.jobs import back_up, endless_backup
from tools.capture.programs.servers import Apache, Caddy, Lighttpd, Nginx, WebServer
from tools.capture.programs.wrk import check_wrk_log, wrk_command, wrk_version
from tools.capture.recipe import Phase, Recipe, given
from tools.capture.sandbox import Sandbox
from tools.capture.schedule import Job, Segment

ARTICLES_PER_FOLDER = 64
MOST_ASSETS = 40
JOB_S = 600.0
ENDLESS_S = 3600
CRAWLERS = 2
PUBLISHED_SETS = 8
TOOLS = {"wrk": "wrk", "tar": "tar"}
# Each file comes whole under its name, so that no visitor gets a part of it.
PUBLISH = """cd "$0" && while :; do for part in *; do
  for file in "$part"/*/*; do
    cp "$file" "$1/.new" && mv "$1/.new" "$1/${file#*/}"
  done
  sleep 0.2
done; done"""


class Site(Closed[SiteLoad], Paced[SiteLoad]):
    """A site under one of the servers.

    Attributes:
        kind: the server.
    """

    kind: ClassVar[type[WebServer]]
    jobs = ("publish", "crawl", "backup")
    operations = ("visits", "crawls")
    beside = ("publish", "backup")
    server: WebServer

    def __init__(self, recipe: Recipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        self.site = box.mount / "site"
        self.index = box.work / "site.txt"
        self.access_log = box.mount / "log" / "access.log"
        self.server = self.kind(box, self.site, self.access_log)
        rng = np.random.default_rng(derive_seed(recipe.seed, "capture_site"))
        # Popularity is by age, and age has nothing to do with the place on disk but for runs of a folder.
        self._order = rng.permutation(self.load.articles)
        drawn = rng.geometric(1 / (1 + self.load.assets), self.load.articles) - 1
        self._assets = np.minimum(drawn, MOST_ASSETS)

    def _paths(self, articles: Iterable[int]) -> list[str]:
        paths = []
        for article in articles:
            folder = f"/{article // ARTICLES_PER_FOLDER:04d}/{article:06d}"
            paths += [f"{folder}.html", *(f"{folder}-{asset}.jpg" for asset in range(int(self._assets[article])))]
        return paths

    def _sizes(self, count: int, seed: int) -> list[int]:
        least = self.load.min_bytes or LEAST_BYTES
        return [int(size) for size in lognormal_sizes(self.load, count, seed, least)]

    def prepare(self) -> None:
        """Write the site, what will be published in a closed loop, and the site's index for wrk."""
        self._write(self.site, range(self.load.articles), "capture_sizes")
        self.access_log.parent.mkdir()
        for number in range(PUBLISHED_SETS) if self.recipe.phases else ():
            first = number * self.load.publish_articles
            chosen = [int(self._order[(first + step) % len(self._order)]) for step in range(self.load.publish_articles)]
            self._write(self.box.work / f"publish/{number}", chosen, f"capture_publish_{number}")
        lines = [" ".join(self._paths([int(article)])) for article in self._order]
        self.index.write_text("\n".join(lines) + "\n")

    def _write(self, root: Path, articles: Iterable[int], context: str) -> None:
        paths = self._paths(articles)
        block = os.urandom(self.load.max_kib * 1024)
        for folder in sorted({Path(path[1:]).parent for path in paths}):
            (root / folder).mkdir(parents=True, exist_ok=True)
        sizes = self._sizes(len(paths), derive_seed(self.recipe.seed, context))
        for path, size in zip(paths, sizes, strict=True):
            (root / path[1:]).write_bytes(block[:size])

    def start(self) -> None:
        """Start the server in the memory group."""
        self.server.start()

    def _wrk(
        self, name: str, seconds: int, clients: int, *arguments: object, stop_signal: int = signal.SIGTERM
    ) -> Player:
        command = wrk_command(self.server.port, seconds, clients, self.index, *arguments)
        return self.player(f"wrk-{name}", command, False, stop_signal)

    def finish(self, player: Player, timeout_s: float = 30.0) -> None:
        """See that the server answered wrk."""
        super().finish(player, timeout_s)
        check_wrk_log(self.box, player.log)

    def segment(self, segment: Segment) -> Player:
        """Start wrk at the segment's rate, with the articles that are new by then."""
        pace = given(self.load.paced)
        values = (f"{segment.rate:.3f}", segment.seed, pace.theta, int(segment.elapsed_days * pace.drift), 1, 1)
        return self._wrk(str(segment.index), segment.seconds, self.load.clients, "visit", *values)

    def job(self, job: Job) -> None:
        """Publish writes articles anew; the crawler reads pages in order; the backup reads part of the tree."""
        pace = given(self.load.paced)
        name = f"{job.kind}-{job.start_s:.0f}"
        if job.kind == "publish":
            self._publish(job, pace.drift)
        elif job.kind == "crawl":
            pages = max(1, int(self.load.articles * pace.crawl_share))
            seconds = max(1, round(pages / pace.crawl_rate))
            player = self._wrk(name, seconds, CRAWLERS, "crawl", pace.crawl_rate, 1, 0, 0, 1, pages)
            self.finish(player, seconds + 30)
        else:
            back_up(self.box, self.site, self._saved(), pace.backup_mib_s, self.log(name))

    def _publish(self, job: Job, drift: float) -> None:
        """Copy new versions of the articles that enter next, which are the most popular from then on."""
        staging = self.box.work / f"publish-{job.start_s:.0f}"
        rng = np.random.default_rng(derive_seed(self.recipe.seed, "capture_publish", int(job.start_s * 1000)))
        newest = int(job.start_s / self.schedule.day_s * drift)
        for step in range(self.load.publish_articles):
            article = int(self._order[-(newest + step + 1) % self.load.articles])
            for path in self._paths([article]):
                file = staging / path[1:]
                file.parent.mkdir(parents=True, exist_ok=True)
                (size,) = self._sizes(1, int(rng.integers(2**31)))
                file.write_bytes(rng.bytes(size))
        self.box.run([program("cp"), "-r", f"{staging}/.", str(self.site)], self.log("cp"), timeout_s=JOB_S)

    def _saved(self) -> list[str]:
        """The folders that a backup reads, the same each time."""
        folders = sorted(path.name for path in self.site.iterdir())
        return folders[: max(1, int(len(folders) * self.load.backup_share))]

    def play(self, phase: Phase, number: int) -> list[Player]:
        """Start wrk, and the jobs that run meanwhile."""
        visits, crawls = (phase.mix.get(name, 0) for name in self.operations)
        shift, articles = -int(phase.move * self.load.articles), self.load.articles
        values = ("loop", visits, self.seed(number), phase.theta, shift, 2, articles, crawls)
        players = [self._wrk(str(number), ENDLESS_S, self.load.clients, *values, stop_signal=signal.SIGINT)]
        if "backup" in phase.beside:
            players.append(self.player(f"tar-{number}", endless_backup(self.site, self._saved())))
        if "publish" in phase.beside:
            command = ["/bin/sh", "-c", PUBLISH, str(self.box.work / "publish"), str(self.site)]
            players.append(self.player(f"cp-{number}", command))
        return players

    def check(self, player: Player) -> None:
        """See that the program ended well, and that the server answered wrk."""
        super().check(player)
        if player.name.startswith("wrk"):
            check_wrk_log(self.box, player.log)

    @classmethod
    def versions(cls) -> dict[str, str]:
        """The server and wrk."""
        return {cls.kind.kind: cls.kind.version(), "wrk": wrk_version()}


class NginxSite(Site):
    """The site under nginx."""

    program, kind = "nginx", Nginx
    packages: ClassVar[dict[str, str]] = {**Nginx.packages, **TOOLS}


class LighttpdSite(Site):
    """The site under lighttpd."""

    program, kind = "lighttpd", Lighttpd
    packages: ClassVar[dict[str, str]] = {**Lighttpd.packages, **TOOLS}


class ApacheSite(Site):
    """The site under Apache."""

    program, kind = "apache", Apache
    packages: ClassVar[dict[str, str]] = {**Apache.packages, **TOOLS}


class CaddySite(Site):
    """The site under Caddy."""

    program, kind = "caddy", Caddy
    packages: ClassVar[dict[str, str]] = {**Caddy.packages, **TOOLS}
