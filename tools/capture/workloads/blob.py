"""Nginx as an object store under wrk: tenants on disks of their own, read in large ranges, written by ingest jobs.

The server reads a range with one call for as much of it as a buffer holds, not with sendfile, whose small steps would
cut it up; with the device's large read-ahead a range is one access of the disk or few. Uploads go through the page
cache and are written back by the kernel.
"""

import http.client
import os
import shutil
import subprocess
from typing import ClassVar

from cachezoo.errors import CaptureError
from tools.capture.disk import MIB
from tools.capture.loads import BatchTenant, BlobLoad, Tenant
from tools.capture.recipe import Recipe
from tools.capture.sandbox import Sandbox
from tools.capture.schedule import Job, Segment, build_schedule
from tools.capture.workloads.base import Workload
from tools.capture.workloads.blob_plan import (
    Read,
    disk_order,
    object_path,
    object_sizes,
    plan_ingest,
    plan_reads,
    plan_scan,
)
from tools.capture.workloads.servers import ADDRESS, Nginx
from tools.capture.workloads.wrk import REPLAYED, check_wrk, start_wrk, wrk_version

HTTP = "access_log off; aio threads; sendfile off; output_buffers 1 {read_kib}k;"
SERVER = "root {root}; client_max_body_size 0; client_body_buffer_size 1m;"
TENANT = " location /{name}/ {{ dav_methods PUT; client_body_temp_path {root}/{name}/uploads; }}"
FILL = b"\x5a"
SCAN_SLACK_S = 5
PUT_S = 60.0
PUT_DONE = ("status 201", "status 204")
# No request for as long as any load lasts.
NOTHING = "1e9 / bytes=0-0\n"


class BlobWorkload(Workload):
    """The object store."""

    id = "blob"
    title = "nginx and wrk: an object store's tenants (streams, columns, scans) on disks of their own, with ingest"
    packages: ClassVar[dict[str, str]] = {**Nginx.packages, "wrk": "wrk"}
    jobs: ClassVar[tuple[str, ...]] = ("scan", "ingest")

    def __init__(self, recipe: Recipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        if recipe.blob is None:
            message = "the recipe lacks its section blob"
            raise CaptureError(message)
        self.load: BlobLoad = recipe.blob
        places = "".join(TENANT.format(root=box.mount, name=tenant.name) for tenant in self.load.tenants)
        http_part = HTTP.format(read_kib=self.load.read_kib)
        self._server = Nginx(box, http_part, SERVER.format(root=box.mount) + places)
        self._plan: dict[int, list[Read]] = {}

    @classmethod
    def volumes(cls, recipe: Recipe) -> tuple[str, ...]:
        """The tenants."""
        return tuple(tenant.name for tenant in recipe.blob.tenants) if recipe.blob is not None else ()

    def prepare(self) -> None:
        """Write every tenant's objects in an order of their own, and plan who reads what when."""
        for tenant in self.load.tenants:
            self._fill(tenant)
        segments = build_schedule(self.recipe.schedule, self.recipe.seed).segments
        length = self.recipe.schedule.segment_s
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
        self._server.start()

    def segment(self, segment: Segment) -> "subprocess.Popen[bytes]":
        """Start wrk on what the plan has for the segment; the warm-up, which it has not, is drawn by itself."""
        reads = self._plan.get(segment.index)
        if reads is None:
            reads = plan_reads(self.load, [segment], self.recipe.seed) if segment.index < 0 else []
        return self._replay(str(segment.index), reads, segment.start_s, segment.seconds, self.load.clients)

    def _replay(
        self, name: str, reads: list[Read], start_s: float, seconds: int, clients: int
    ) -> "subprocess.Popen[bytes]":
        index = self.box.work / f"reads-{name}.txt"
        index.write_text("".join(f"{read.line(start_s)}\n" for read in reads) or NOTHING)
        return start_wrk(self.box, name, self._server.port, seconds, clients, index, REPLAYED)

    def check(self, segment: Segment, process: "subprocess.Popen[bytes]") -> None:
        """See that nginx answered."""
        check_wrk(self.box, str(segment.index), process, 30)

    def job(self, job: Job) -> None:
        """A scan reads the newest objects of the batch tenants in order; an ingest writes those that come next."""
        days = job.start_s / self.recipe.schedule.day_s
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
        process = self._replay(name, reads, 0.0, seconds, self.load.scan_clients)
        check_wrk(self.box, name, process, seconds + 30)

    def _ingest(self, tenant: Tenant, days: float) -> None:
        sizes = object_sizes(tenant, self.recipe.seed)
        for index in plan_ingest(tenant, days):
            size = int(sizes[index])
            self._put(object_path(tenant.name, index), size)
            if self.box.closing.wait(size / MIB / self.load.ingest_mib_s):
                return

    def _put(self, path: str, size: int) -> None:
        """Upload an object; the server replaces the old one when it has the whole of it."""
        connection = http.client.HTTPConnection(ADDRESS, self._server.port, timeout=PUT_S)
        try:
            connection.request("PUT", path, FILL * size)
            answer = f"status {connection.getresponse().status}"
        except (OSError, http.client.HTTPException) as error:
            answer = str(error) or type(error).__name__
        finally:
            connection.close()
        if answer not in PUT_DONE and not self.box.closing.is_set():
            message = f"nginx did not take {path} of {size} bytes: {answer}"
            raise CaptureError(message)

    def stop(self) -> None:
        """Stop nginx."""
        self._server.stop()

    @staticmethod
    def versions() -> dict[str, str]:
        """Nginx and wrk."""
        return {"nginx": Nginx.version(), "wrk": wrk_version()}
