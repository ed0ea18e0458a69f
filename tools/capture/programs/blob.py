"""Nginx as an object store under wrk: tenants on disks of their own, read in large ranges, written by ingest jobs.

The server reads a range with one call for as much of it as a buffer holds, not with sendfile, whose small steps would
cut it up; with the device's large read-ahead a range is one access of the disk or few. Uploads go through the page
cache and are written back by the kernel.
"""

import http.client
import os
import shutil
from typing import ClassVar

from cachezoo.errors import CaptureError
from tools.capture.disk import MIB
from tools.capture.loads import BatchTenant, BlobLoad, Tenant
from tools.capture.programs.base import Paced, Player
from tools.capture.programs.blob_plan import (
    Read,
    disk_order,
    object_path,
    object_sizes,
    plan_ingest,
    plan_reads,
    plan_scan,
)
from tools.capture.programs.servers import ADDRESS, Nginx
from tools.capture.programs.wrk import REPLAYED, check_wrk_log, wrk_command, wrk_version
from tools.capture.recipe import Recipe
from tools.capture.sandbox import Sandbox
from tools.capture.schedule import Job, Segment, build_schedule

HTTP = "access_log off; aio threads; sendfile off; output_buffers 1 {read_kib}k;"
SERVER = "root {root}; client_max_body_size 0; client_body_buffer_size 1m;"
TENANT = " location /{name}/ {{ dav_methods PUT; client_body_temp_path {root}/{name}/uploads; }}"
FILL = b"\x5a"
SCAN_SLACK_S = 5
PUT_S = 60.0
PUT_DONE = ("status 201", "status 204")
# No request for as long as any load lasts.
NOTHING = "1e9 / bytes=0-0\n"


class ObjectServer(Nginx):
    """Nginx with folders that take uploads."""

    def __init__(self, box: Sandbox, load: BlobLoad) -> None:
        """Keep the tenants."""
        super().__init__(box, box.mount, box.work)
        self._load = load

    def http_block(self) -> str:
        """With reads of a size of the recipe's."""
        return HTTP.format(read_kib=self._load.read_kib)

    def server_block(self) -> str:
        """With a folder for each tenant."""
        places = "".join(TENANT.format(root=self._root, name=tenant.name) for tenant in self._load.tenants)
        return SERVER.format(root=self._root) + places


class Blob(Paced[BlobLoad]):
    """The object store."""

    program = "blob"
    packages: ClassVar[dict[str, str]] = {**Nginx.packages, "wrk": "wrk"}
    jobs = ("scan", "ingest")
    server: ObjectServer

    def __init__(self, recipe: Recipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        self.server = ObjectServer(box, self.load)
        self._plan: dict[int, list[Read]] = {}

    @classmethod
    def volumes(cls, recipe: Recipe) -> tuple[str, ...]:
        """The tenants."""
        assert isinstance(recipe.load, BlobLoad)
        return tuple(tenant.name for tenant in recipe.load.tenants)

    def prepare(self) -> None:
        """Write every tenant's objects in an order of their own, and plan who reads what when."""
        for tenant in self.load.tenants:
            self._fill(tenant)
        segments = build_schedule(self.schedule, self.recipe.seed).segments
        length = self.schedule.segment_s
        for read in plan_reads(self.load, segments, self.recipe.seed):
            self._plan.setdefault(int(read.due_s // length), []).append(read)

    def _fill(self, tenant: Tenant) -> None:
        folder, uploads = self.box.mount / tenant.name / "objects", self.box.mount / tenant.name / "uploads"
        for path in (folder, uploads):
            path.mkdir()
            shutil.chown(path, "www-data", "www-data")
        block = FILL * MIB
        sizes = object_sizes(tenant, self.recipe.seed).tolist()
        for index in disk_order(tenant, self.recipe.seed):
            path = self.box.mount / object_path(tenant.name, index)[1:]
            with path.open("wb", buffering=0) as file:
                # In one piece where there is room for it.
                os.posix_fallocate(file.fileno(), 0, sizes[index])
                for start in range(0, sizes[index], MIB):
                    file.write(block[: sizes[index] - start])
            shutil.chown(path, "www-data", "www-data")

    def start(self) -> None:
        """Start nginx in the memory group."""
        self.server.start()

    def segment(self, segment: Segment) -> Player:
        """Start wrk on what the plan has for the segment; the warm-up, which it has not, is drawn by itself."""
        reads = self._plan.get(segment.index)
        if reads is None:
            reads = plan_reads(self.load, [segment], self.recipe.seed) if segment.index < 0 else []
        return self._replay(str(segment.index), reads, segment.start_s, segment.seconds, self.load.clients)

    def _replay(self, name: str, reads: list[Read], start_s: float, seconds: int, clients: int) -> Player:
        index = self.box.work / f"reads-{name}.txt"
        index.write_text("".join(f"{read.line(start_s)}\n" for read in reads) or NOTHING)
        return self.player(f"wrk-{name}", wrk_command(self.server.port, seconds, clients, index, *REPLAYED), False)

    def finish(self, player: Player, timeout_s: float = 30.0) -> None:
        """See that nginx answered."""
        super().finish(player, timeout_s)
        check_wrk_log(self.box, player.log)

    def job(self, job: Job) -> None:
        """A scan reads the newest objects of the batch tenants in order; an ingest writes those that come next."""
        days = job.start_s / self.schedule.day_s
        for tenant in self.load.tenants:
            if self.box.closing.is_set():
                return
            if job.kind == "ingest":
                self._ingest(tenant, days)
            elif isinstance(tenant, BatchTenant):
                self._scan(tenant, job, days)

    def _scan(self, tenant: BatchTenant, job: Job, days: float) -> None:
        reads = plan_scan(tenant, days, self.recipe.seed)
        name, seconds = f"{tenant.name}-{job.start_s:.0f}", int(reads[-1].due_s) + SCAN_SLACK_S
        self.finish(self._replay(name, reads, 0.0, seconds, self.load.scan_clients), seconds + 30)

    def _ingest(self, tenant: Tenant, days: float) -> None:
        sizes = object_sizes(tenant, self.recipe.seed)
        for index in plan_ingest(tenant, days):
            size = int(sizes[index])
            self._put(object_path(tenant.name, index), size)
            if self.box.closing.wait(size / MIB / self.load.ingest_mib_s):
                return

    def _put(self, path: str, size: int) -> None:
        """Upload an object; the server replaces the old one when it has the whole of it."""
        connection = http.client.HTTPConnection(ADDRESS, self.server.port, timeout=PUT_S)
        try:
            connection.request("PUT", path, FILL * size)
            answer = f"status {connection.getresponse().status}"
        except (OSError, http.client.HTTPException) as error:
            answer = str(error) or type(error).__name__
        finally:
            connection.close()
        if answer not in PUT_DONE and not self.box.closing.is_set():
            raise CaptureError(f"nginx did not take {path} of {size} bytes: {answer}")

    @classmethod
    def versions(cls) -> dict[str, str]:
        """Nginx and wrk."""
        return {"nginx": Nginx.version(), "wrk": wrk_version()}
