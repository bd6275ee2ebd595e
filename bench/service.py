"""The service: CPU time per read request, the list of 1,000 jobs, 50 viewers of one job, and what reads cost a run.

The service is a process of its own, asked over connections that stay open, without TLS. Reads are those of a program
that follows jobs: a job, the list of 20 jobs, the targets. Four such programs read beside the run, on the same host,
so what the run loses includes what they need themselves.
"""

from __future__ import annotations

import json
import os
import random
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import yaml

import hdbkit
from bench.common import quick_or, scratch, server, show, title
from hdbkit.paths import results_folder
from hdbkit.results.manifest import Status
from hdbkit.service.job_folder import JOBS, Asked, JobFolder, State

JOBS_LISTED = 1000
READS_PER_S = 200
LATE_S = 0.1
"""What a reader that is late catches up; more would exceed the limit of a token."""
VIEWERS = 50
REPEATS = quick_or(5, 30)
ASKED = quick_or(200, 2000)
WATCHED_S = quick_or(5, 15)
PAIRS, SETTLE_S, PHASE_S = quick_or(4, 40), 0.5, 3.0
READERS = 4
CLIENTS = WAREHOUSES = 2
LOAD = hdbkit.Load(virtual_users=CLIENTS, rampup_s=1, duration_s=600)


def received(opened: socket.socket) -> bytes:
    """What has arrived. Raises ``RuntimeError`` if the service has closed the connection."""
    found = opened.recv(1 << 20)
    if not found:
        raise RuntimeError("the service has closed the connection")
    return found


@dataclass(frozen=True)
class Service:
    """A service in a process of its own."""

    process: psutil.Process
    port: int
    token: str

    def cpu_s(self) -> float:
        """The CPU time of the process so far."""
        used = self.process.cpu_times()
        return float(used.user + used.system)

    def request(self, path: str, body: str = "") -> bytes:
        """A request as bytes."""
        method = "POST" if body else "GET"
        head = f"{method} {path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {self.token}\r\n"
        return f"{head}content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()

    def connection(self) -> socket.socket:
        """An open connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def ask(self, opened: socket.socket, path: str, body: str = "") -> bytes:
        """The content of an answer. Raises ``RuntimeError`` if it is an error."""
        opened.sendall(self.request(path, body))
        found = received(opened)
        while b"\r\n\r\n" not in found:
            found += received(opened)
        head, _, content = found.partition(b"\r\n\r\n")
        if head[9:12] not in {b"200", b"202"}:
            raise RuntimeError(f"{path}: {head!r} {content!r}")
        size = int(head.lower().partition(b"content-length: ")[2].split(b"\r")[0])
        while len(content) < size:
            content += received(opened)
        return content


@contextmanager
def service() -> Iterator[Service]:
    """A service whose workspace has a target, ``lab``, and 1,000 jobs."""
    folder = results_folder()
    null = hdbkit.Target(kind="nulldb", database=f"bench-{os.getpid()}", options={"latency_us": "2000"})
    hdbkit.connect(null).build(hdbkit.WorkloadSpec())
    named = {"lab": null.model_dump(mode="json", exclude_defaults=True) | {"kind": null.kind}}
    folder.mkdir(exist_ok=True)
    file = folder / "targets.yaml"
    file.write_text(yaml.safe_dump(named))
    for number in range(JOBS_LISTED):
        write_job(folder, number)
    command = [sys.executable, "-m", "hdbkit", "serve", "--listen", "127.0.0.1:0", "--no-tls", "--json"]
    environment = {**os.environ, "HDBKIT_TARGETS": str(file)}
    with subprocess.Popen(
        [*command, "--state", str(folder / "state")], stdout=subprocess.PIPE, env=environment
    ) as one:
        assert one.stdout is not None
        text = b""
        while not text.rstrip().endswith(b"}"):
            text += one.stdout.readline()
        started = json.loads(text)
        try:
            yield Service(psutil.Process(one.pid), urlsplit(started["url"]).port or 0, started["token"])
        finally:
            one.terminate()


def write_job(results: Path, number: int) -> None:
    """A job that has ended."""
    folder = JobFolder(results / JOBS / f"20261124T0245{number:05}-run-abcdef")
    folder.path.mkdir(parents=True)
    load = {"virtual_users": 8, "rampup_s": 30, "duration_s": 120}
    asked = {"verb": "run", "request": {"target": "lab", "label": f"nightly-{number}", "load": load}}
    process = {"holder": "nightly", "created": "2026-11-24T02:45:00Z", "pid": 1, "birth": ""}
    folder.note(Asked.model_validate({"job_id": folder.path.name, **asked, **process}))
    folder.end(State.DONE)


def read(one: Service, opened: socket.socket, number: int) -> None:
    """One of the reads."""
    job = f"20261124T0245{number % JOBS_LISTED:05}-run-abcdef"
    one.ask(opened, (f"/api/jobs/{job}", "/api/jobs?limit=20", "/api/targets")[number % 3])


def cost_us(one: Service) -> float:
    """CPU time of the service per read request, in microseconds."""
    with one.connection() as opened:
        before = one.cpu_s()
        for number in range(ASKED):
            read(one, opened, number)
            time.sleep(1 / 400)  # below the limit of a token
        return (one.cpu_s() - before) / ASKED * 1e6


def listed_ms(one: Service) -> list[float]:
    """The times of lists of 1,000 jobs, in milliseconds."""
    found = []
    with one.connection() as opened:
        for _ in range(REPEATS):
            began = time.perf_counter()
            content = one.ask(opened, f"/api/jobs?limit={JOBS_LISTED}")
            found.append((time.perf_counter() - began) * 1000)
            if not content.count(b'"job_id"') == JOBS_LISTED:
                raise RuntimeError("the list is not complete")
    return found


def watching(one: Service, job: str) -> socket.socket:
    """A connection with the events of a job, of which the first has come."""
    viewer = one.connection()
    viewer.sendall(one.request(f"/api/jobs/{job}/live"))
    found = b""
    while b"event: " not in found:
        found += received(viewer)
    return viewer


def watched_percent(one: Service) -> float:
    """The CPU of the service while 50 viewers watch a run, in percent of a core."""
    load = {"virtual_users": 1, "rate": 50, "rampup_s": 0, "duration_s": WATCHED_S + 30}
    with ExitStack() as stack:
        opened = stack.enter_context(one.connection())
        job = json.loads(one.ask(opened, "/api/jobs/run", json.dumps({"target": "lab", "load": load})))["job_id"]
        while not (found := json.loads(one.ask(opened, f"/api/jobs/{job}")))["run_id"]:
            if found["state"] != "running":
                raise RuntimeError(found["error"])
            time.sleep(0.1)
        viewers = [stack.enter_context(watching(one, job)) for _ in range(VIEWERS)]
        time.sleep(3)
        before, began = one.cpu_s(), time.monotonic()
        time.sleep(WATCHED_S)
        share = (one.cpu_s() - before) / (time.monotonic() - began)
        if not all(viewer.recv(1 << 20).count(b"event: tick") > WATCHED_S / 2 for viewer in viewers):
            raise RuntimeError("a viewer received no events")
        opened = stack.enter_context(one.connection())  # the service has closed the first one, which was silent
        one.ask(opened, f"/api/jobs/{job}/stop", "{}")
        while json.loads(one.ask(opened, f"/api/jobs/{job}"))["state"] == "running":
            time.sleep(0.2)
    return 100 * share


def ask(one: Service, wanted: Event, over: Event, count: Any) -> None:
    """Send this connection's part of the reads whenever they are wanted, and count them."""
    due, number = time.monotonic(), 0
    with one.connection() as opened:
        while not over.is_set():
            if not wanted.is_set():
                one.ask(opened, "/health")  # the service closes silent connections
                wanted.wait(1)
                due = time.monotonic()
                continue
            read(one, opened, number)
            number += 1
            with count.get_lock():
                count.value += 1
            due = max(due + READERS / READS_PER_S, time.monotonic() - LATE_S)
            time.sleep(max(due - time.monotonic(), 0))


@dataclass(frozen=True)
class Beside:
    """Phases of one run: operations per second with reads / without, by pair; reads per second and CPU with reads."""

    ratios: list[float]
    reads_per_s: list[float]
    cpu_percent: list[float]


def beside(one: Service, target: hdbkit.Target) -> Beside:
    """Measure a run in which phases with and without reads alternate, in random order within each pair."""
    context, shuffler = get_context("fork"), random.Random(1)
    wanted, over, count = context.Event(), context.Event(), context.Value("q", 0)
    readers = [context.Process(target=ask, args=(one, wanted, over, count)) for _ in range(READERS)]
    phases: list[tuple[int, bool, int, float]] = []
    running = hdbkit.start(target, load=LOAD)
    for reader in readers:
        reader.start()
    try:
        while running.status in {Status.STARTING, Status.RAMPUP}:
            time.sleep(0.1)
        for _ in range(PAIRS):
            for asked in shuffler.sample((True, False), 2):
                (wanted.set if asked else wanted.clear)()
                time.sleep(SETTLE_S)
                began_ns, reads, cpu_s = time.monotonic_ns(), count.value, one.cpu_s()
                time.sleep(PHASE_S)
                phases.append((began_ns, asked, count.value - reads, one.cpu_s() - cpu_s))
    finally:
        over.set()
        wanted.set()
        running.stop()
        for reader in readers:
            reader.join()
    result, clock = running.wait(), running.manifest.clock
    assert clock is not None
    done = result.executions()
    ends_s = (done["start_s"] + done["elapsed_s"]).to_numpy()
    found: dict[bool, list[float]] = {True: [], False: []}
    for began_ns, asked, _, _ in phases:
        at_s = (began_ns - clock.start_monotonic_ns) / 1e9
        found[asked].append(float(((ends_s >= at_s) & (ends_s < at_s + PHASE_S)).sum()) / PHASE_S)
    with_reads = [phase for phase in phases if phase[1]]
    return Beside(
        [beside / alone for beside, alone in zip(found[True], found[False], strict=True)],
        [reads / PHASE_S for _, _, reads, _ in with_reads],
        [100 * cpu_s / PHASE_S for *_, cpu_s in with_reads],
    )


def main() -> None:
    """Print the figures."""
    title(f"service: reads, the list of {JOBS_LISTED:,} jobs, {VIEWERS} viewers, and a run beside reads")
    with scratch(), server(WAREHOUSES) as own, service() as one:
        listed_ms(one)  # warm up
        show(f"the list of {JOBS_LISTED:,} jobs", listed_ms(one), unit="ms", at_most=100)
        show("CPU of the service per read request", [cost_us(one) for _ in range(quick_or(1, 3))], unit="us")
        show(
            f"{VIEWERS} viewers of a job: CPU",
            [watched_percent(one) for _ in range(quick_or(1, 3))],
            unit="% of a core",
            at_most=5,
        )
        found = beside(one, own.target)
        show("CPU of the service with reads", found.cpu_percent, unit="% of a core")
        show("reads per second", found.reads_per_s)
        half = 2 * statistics.stdev(found.ratios) / len(found.ratios) ** 0.5
        show(
            f"run beside {READS_PER_S} reads/s / alone",
            found.ratios,
            at_least=0.98,
            note=f"mean {statistics.mean(found.ratios):.4f} +- {half:.4f}",
        )


if __name__ == "__main__":
    main()
