"""A web server under wrk: a site of articles whose newest are read most, publishing, a crawler, a nightly backup."""

import os
import subprocess
from pathlib import Path
from typing import ClassVar

import numpy as np

from cachezoo.errors import CaptureError
from cachezoo.seeds import derive_seed
from tools.capture.disk import MIB
from tools.capture.loads import WebLoad
from tools.capture.programs import program
from tools.capture.recipe import Recipe
from tools.capture.sandbox import Sandbox, stop_process
from tools.capture.schedule import Job, Segment
from tools.capture.workloads.base import Workload
from tools.capture.workloads.servers import Lighttpd, Nginx, WebServer
from tools.capture.workloads.wrk import check_wrk, start_wrk, wrk_version

ARTICLES_PER_FOLDER = 64
JOB_S = 600.0
READ_BYTES = 1 << 16
SITE = "root {site}; access_log {log} combined; sendfile on; aio threads;"


def file_sizes(load: WebLoad, count: int, seed: int) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Lognormal sizes in bytes, at least 64 and at most `max_kib`.

    Args:
        load: median and sigma.
        count: files.
        seed: of the draw.
    """
    rng = np.random.default_rng(seed)
    sizes = np.exp(rng.normal(np.log(load.median_kib * 1024), load.sigma, count))
    return np.clip(sizes, 64, load.max_kib * 1024).astype(np.int64)


class WebWorkload(Workload):
    """The web server."""

    id = "web"
    title = "nginx and wrk: a site larger than memory, newest articles first, publishing, crawler, backup"
    packages: ClassVar[dict[str, str]] = {**Nginx.packages, "wrk": "wrk", "tar": "tar"}
    jobs: ClassVar[tuple[str, ...]] = ("publish", "crawl", "backup")

    def __init__(self, recipe: Recipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        if recipe.web is None:
            message = "the recipe lacks its section web"
            raise CaptureError(message)
        self.load: WebLoad = recipe.web
        self.site = box.mount / "site"
        self.index = box.work / "site.txt"
        self.access_log = box.mount / "log" / "access.log"
        self._server = self._make_server()
        rng = np.random.default_rng(derive_seed(recipe.seed, "capture_site"))
        # Popularity is by age, and age has nothing to do with the place on disk but for runs of a folder.
        self._order = rng.permutation(self.load.articles)
        self._assets = np.minimum(rng.geometric(1 / (1 + self.load.assets), self.load.articles) - 1, 40)
        self._published = 0

    def _make_server(self) -> WebServer:
        return Nginx(self.box, "", SITE.format(site=self.site, log=self.access_log))

    def _paths(self, article: int) -> list[str]:
        folder = f"/{article // ARTICLES_PER_FOLDER:04d}/{article:06d}"
        assets = [f"{folder}-{asset}.jpg" for asset in range(int(self._assets[article]))]
        return [f"{folder}.html", *assets]

    def prepare(self) -> None:
        """Write the document tree and its index for wrk."""
        count = self.load.articles + int(self._assets.sum())
        sizes = iter(file_sizes(self.load, count, derive_seed(self.recipe.seed, "capture_sizes")).tolist())
        block = os.urandom(self.load.max_kib * 1024)
        for folder in range(-(-self.load.articles // ARTICLES_PER_FOLDER)):
            (self.site / f"{folder:04d}").mkdir(parents=True)
        self.access_log.parent.mkdir()
        for article in range(self.load.articles):
            for path in self._paths(article):
                (self.site / path[1:]).write_bytes(block[: next(sizes)])
        lines = [" ".join(self._paths(int(article))) for article in self._order]
        self.index.write_text("\n".join(lines) + "\n")

    def start(self) -> None:
        """Start the server in the memory group."""
        self._server.start()

    def _wrk(self, name: str, seconds: int, clients: int, *arguments: object) -> "subprocess.Popen[bytes]":
        return start_wrk(self.box, name, self._server.port, seconds, clients, self.index, arguments)

    def segment(self, segment: Segment) -> "subprocess.Popen[bytes]":
        """Start wrk at the segment's rate, with the articles that are new by then."""
        load = self.load
        shift = int(segment.elapsed_days * load.drift_articles)
        values = ("visit", f"{segment.rate:.3f}", segment.seed, load.theta, shift, 1, 1)
        return self._wrk(str(segment.index), segment.seconds, load.clients, *values)

    def check(self, segment: Segment, process: "subprocess.Popen[bytes]") -> None:
        """See that the server answered."""
        check_wrk(self.box, str(segment.index), process, 30)

    def job(self, job: Job) -> None:
        """Publish writes articles anew; the crawler reads pages in order; the backup reads part of the tree."""
        if job.kind == "publish":
            self._publish(job)
        elif job.kind == "crawl":
            pages = max(1, int(self.load.articles * self.load.crawl_share))
            seconds = max(1, round(pages / self.load.crawl_rate))
            name = f"crawl-{job.start_s:.0f}"
            values = ("crawl", self.load.crawl_rate, 1, 0, 0, 1, pages)
            check_wrk(self.box, name, self._wrk(name, seconds, 2, *values), seconds + 30)
        else:
            self._backup(job)

    def _log(self, name: str) -> Path:
        return self.box.work / f"{name}.log"

    def _publish(self, job: Job) -> None:
        """Copy new versions of the articles that enter next, which are the most popular from then on."""
        staging = self.box.work / f"publish-{job.start_s:.0f}"
        rng = np.random.default_rng(derive_seed(self.recipe.seed, "capture_publish", int(job.start_s * 1000)))
        day = job.start_s / self.recipe.schedule.day_s
        newest = int(day * self.load.drift_articles)
        for step in range(self.load.publish_articles):
            article = int(self._order[-(newest + step + 1) % self.load.articles])
            for path in self._paths(article):
                file = staging / path[1:]
                file.parent.mkdir(parents=True, exist_ok=True)
                size = int(file_sizes(self.load, 1, int(rng.integers(2**31)))[0])
                file.write_bytes(rng.bytes(size))
        self.box.run([program("cp"), "-r", f"{staging}/.", str(self.site)], self._log("cp"), timeout_s=JOB_S)

    def _backup(self, job: Job) -> None:
        """Read a part of the tree through tar at the backup's pace; each day the same part."""
        folders = sorted(path.name for path in self.site.iterdir())
        chosen = folders[: max(1, int(len(folders) * self.load.backup_share))]
        command = [program("tar"), "-C", str(self.site), "-cf", "-", *chosen]
        log = self._log(f"tar-{job.start_s:.0f}")
        process = self.box.spawn(command, log, stdout=subprocess.PIPE)
        pause = READ_BYTES / (self.load.backup_mib_s * MIB)
        if process.stdout is not None:
            while process.stdout.read(READ_BYTES) and not self.box.closing.wait(pause):
                pass
        if self.box.closing.is_set():
            stop_process(process)
        # Status 1 is tar's word for a file that changed while it was read, as a published one may.
        self.box.finish(process, "tar", log, 30, accepted=(0, 1))

    def stop(self) -> None:
        """Stop the server when it has answered what it has begun."""
        self._server.stop()

    @staticmethod
    def versions() -> dict[str, str]:
        """Nginx and wrk."""
        return {"nginx": Nginx.version(), "wrk": wrk_version()}


class LighttpdWorkload(WebWorkload):
    """The same site under another server."""

    id = "lighttpd"
    title = "lighttpd and wrk: a site larger than memory, newest articles first, publishing, crawler, backup"
    packages: ClassVar[dict[str, str]] = {**Lighttpd.packages, "wrk": "wrk", "tar": "tar"}

    def _make_server(self) -> WebServer:
        return Lighttpd(self.box, self.site, self.access_log)

    @staticmethod
    def versions() -> dict[str, str]:
        """Lighttpd and wrk."""
        return {"lighttpd": Lighttpd.version(), "wrk": wrk_version()}
