"""What a served disk counts, as metrics: over HTTP, and as a file for node_exporter."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cachezoo.serve.exposition import OPENMETRICS, PROMETHEUS, Family, openmetrics, prometheus
from cachezoo.serve.state import replace
from cachezoo.serve.words import ServeError

AROUND, BACK = "around", "back"
PATIENCE_S = 30.0  # for a client that sends nothing

# Name, key of the status, help. Samples of counters end in `_total`.
COUNTERS: tuple[tuple[str, str, str], ...] = (
    ("cachezoo_zeroes", "zeroes", "Requests to write zeroes."),
    ("cachezoo_trims", "trims", "Requests to discard."),
    ("cachezoo_read_bytes", "read_bytes", "Bytes that clients read."),
    ("cachezoo_written_bytes", "write_bytes", "Bytes that clients wrote."),
    ("cachezoo_ssd_read_bytes", "ssd_read_bytes", "Bytes read from the SSD."),
    ("cachezoo_ssd_written_bytes", "ssd_write_bytes", "Bytes of data written to the SSD."),
    ("cachezoo_disk_reads", "disk_reads", "Reads of the disk."),
    ("cachezoo_disk_read_bytes", "disk_read_bytes", "Bytes read from the disk."),
    ("cachezoo_admitted_units", "admitted", "Missed units that the policy let in."),
    ("cachezoo_refused_units", "refused", "Missed units that the policy did not let in."),
    ("cachezoo_prefetched_units", "prefetched", "Units that were read ahead into the cache."),
    ("cachezoo_evicted_units", "evicted", "Units that left to make room."),
    ("cachezoo_invalidated_units", "invalidated", "Units that left because they were overwritten or discarded."),
    ("cachezoo_hits_read_from_disk", "hits_read_from_disk", "Hits whose data was not on the SSD yet."),
    ("cachezoo_ssd_writes_cancelled", "ssd_writes_cancelled",
     "Units not written to the SSD, mostly because a client overwrote them first; grows where the SSD is too slow."),
    ("cachezoo_ssd_writes_over_budget", "ssd_writes_over_budget", "Units not written to keep the write budget."),
    ("cachezoo_writes_waited", "writes_waited", "Writes that waited for the SSD to record them."),
    ("cachezoo_ssd_writes_skipped", "ssd_writes_skipped",
     "Units that left the cache before they were written to the SSD."),
    ("cachezoo_written_back_units", "written_back", "Units that were written from the SSD to the disk."),
    ("cachezoo_writes_waited_for_room", "writes_waited_for_room",
     "Writes that waited until others had been written to the disk."),
    ("cachezoo_lost_units", "lost_units", "Written units that can be read nowhere."),
    ("cachezoo_ssd_errors", "ssd_errors", "Failed reads and writes of the SSD."),
    ("cachezoo_ssd_corrupt_units", "ssd_corrupt",
     "Units whose data on the SSD was wrong; the disk answers for those that it holds."),
    ("cachezoo_policy_failures", "policy_failures", "Requests that the policy could not decide on."),
    ("cachezoo_reloads", "reloads", "Changes of the policy while serving."),
    ("cachezoo_takeovers", "takeovers", "Changes of the model that decides, of models that take turns."),
    ("cachezoo_attaches", "attaches", "SSDs that replaced a failed one while serving."),
)  # fmt: skip
GAUGES: tuple[tuple[str, str, str], ...] = (
    ("cachezoo_cache_bytes", "cache_bytes", "Bytes of data that the cache can hold."),
    ("cachezoo_disk_bytes", "disk_bytes", "Bytes of the disk; 0 before the first client."),
    ("cachezoo_unit_bytes", "unit_bytes", "Bytes of a unit."),
    ("cachezoo_cached_units", "resident", "Units in the cache."),
    ("cachezoo_dirty_units", "dirty", "Units that are not on the disk yet."),
    ("cachezoo_ssd_write_bytes_per_second", "ssd_write_rate",
     "Bytes a second written to the SSD in the last minute."),
    ("cachezoo_uptime_seconds", "uptime_s", "Time since the start."),
    ("cachezoo_writes_refused", "writes_refused",
     "1 if writes to the disk are refused, as the SSD cannot be marked invalid."),
)  # fmt: skip
UNITS = ("bytes", "ratio", "seconds")  # as the last word of a name
LATENCIES = {"read_ssd": "ssd", "read_disk": "disk", "read_both": "both"}


def counts(mode: str, op: str) -> bool:
    """Whether an access counts for hits: a read does; a write in mode back alone, where a hit spares the disk."""
    return op == "read" or mode == BACK


def accesses(counters: dict[str, Any]) -> tuple[int, int]:
    """Units accessed of those that count, and those of them that hit."""
    ops = [op for op in ("read", "write") if counts(counters.get("writes", AROUND), op)]
    hits, misses = (sum(int(counters.get(f"{op}_{key}", 0)) for op in ops) for key in ("hits", "misses"))
    return hits + misses, hits


def families(note: dict[str, Any]) -> list[Family]:
    """All metrics of a served disk; a counter that the filter does not have is left out.

    Args:
        note: of `Served.note`.
    """
    counters, own = note["counters"], {"cache": str(note["name"])}
    info = Family("cachezoo_served", "info", "What is served, and by which policy.")
    info.add(1, **own, disk=note["disk"], ssd=note["ssd"], mode=note["mode"], policy=note["policy"],
             bundle=str(counters.get("bundle", "")), version=str(counters.get("version", "")))  # fmt: skip
    made = [info, _gauge("cachezoo_up", "1 if the filter answers.").add(int(bool(counters)), **own)]
    asked = Family("cachezoo_requests", "counter", "Requests of clients.")
    hits = Family("cachezoo_hit_units", "counter", "Units that hit.")
    misses = Family("cachezoo_missed_units", "counter", "Units that missed.")
    for op in ("read", "write"):
        for family, key in ((asked, f"{op}_requests"), (hits, f"{op}_hits"), (misses, f"{op}_misses")):
            family.add(counters.get(key), **own, op=op)
    made += [asked, hits, misses]
    decided = Family("cachezoo_model_decisions", "counter", "Decisions of a model, by what it decided.")
    for decision, count in (counters.get("model_decisions") or {}).items():
        decided.add(count, **own, decision=decision)
    made.append(decided)
    made += [_family(name, "counter", text).add(counters.get(key), **own) for name, key, text in COUNTERS]
    made += [_gauge(name, text).add(_plain(counters.get(key)), **own) for name, key, text in GAUGES]
    bypassed = _gauge("cachezoo_bypassed", "1 if the SSD has failed and the disk answers alone, with the reason.")
    if "bypassed" in counters:
        bypassed.add(int(counters["bypassed"]), **own, reason=str(counters.get("bypass_reason", "")))
    budget = note["write_rate"] if note["write_rate"] else counters.get("write_rate") or None
    missed = note["promise_missed"] if note["promised"] is not None else None
    made += [
        bypassed,
        _gauge("cachezoo_ssd_write_budget_bytes_per_second", "The most that is to be written to the SSD.").add(
            budget, **own
        ),
        _gauge("cachezoo_promised_hit_ratio", "Hits that were promised.").add(note["promised"], **own),
        _gauge("cachezoo_measured_hit_ratio", "Hits after the first half of the accesses, of a day at most.").add(
            note["measured"], **own
        ),
        _gauge("cachezoo_measured_seconds", "The time that hits are measured over.").add(
            note["measured_seconds"], **own
        ),
        _gauge("cachezoo_promise_missed", "1 if over a point less hits than was promised.").add(_plain(missed), **own),
    ]  # fmt: skip
    found = counters.get("latency") or {}
    latency = Family("cachezoo_read_latency_seconds", "histogram", "Time of a read, by who answered it.", "seconds")
    for key, source in LATENCIES.items():
        _histogram(latency, found.get(key), {**own, "answered_by": source})
    writes = Family("cachezoo_write_latency_seconds", "histogram", "Time of a write.", "seconds")
    decisions = Family("cachezoo_decision_seconds", "histogram", "Time of a decision of the policy.", "seconds")
    _histogram(writes, found.get("write"), own)
    _histogram(decisions, found.get("decision"), own)
    return [one for one in [*made, latency, writes, decisions] if one.samples]


def _family(name: str, kind: str, text: str) -> Family:
    unit = name.rpartition("_")[2]
    return Family(name, kind, text, unit if unit in UNITS else "")


def _gauge(name: str, text: str) -> Family:
    return _family(name, "gauge", text)


def _plain(value: Any) -> float | None:  # noqa: ANN401 - of JSON
    return int(value) if isinstance(value, bool) else value


def _histogram(family: Family, found: dict[str, Any] | None, labels: dict[str, str]) -> None:
    if found:
        family.histogram(found["bounds"], found["buckets"], found["sum"], **labels)


def write(path: Path, made: list[Family]) -> None:
    """Replace a textfile of node_exporter.

    Raises:
        OSError: it cannot be written.
    """
    replace(path, prometheus(made), 0o644)  # node_exporter is another user


class Server:
    """The HTTP endpoint ``/metrics``.

    Attributes:
        url: its address.
    """

    def __init__(self, listen: tuple[str, int], source: Callable[[], list[Family]]) -> None:
        """Listen, and answer from now on.

        Args:
            listen: host and port.
            source: gives the metrics of the moment.

        Raises:
            ServeError: the address cannot be had.
        """

        class Handler(BaseHTTPRequestHandler):
            timeout = PATIENCE_S

            def do_GET(self) -> None:
                if self.path.split("?")[0] != "/metrics":
                    self.send_error(404)
                    return
                accepted = self.headers.get("Accept", "")
                old = "openmetrics" not in accepted and "text/plain" in accepted
                body = (prometheus if old else openmetrics)(source()).encode()
                self.send_response(200)
                self.send_header("Content-Type", PROMETHEUS if old else OPENMETRICS)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Requests are not logged."""

        host, port = listen
        try:
            self._server = _Listening(host, port, Handler)
        except OSError as error:
            raise ServeError(f"--metrics {host}:{port}: {error.strerror or error}") from error
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self._server.server_address[1]}/metrics"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Listen no longer."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Listening(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, host: str, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        import socket

        self.address_family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        super().__init__((host, port), handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that has gone is not logged."""
