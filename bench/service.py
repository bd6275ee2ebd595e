"""The service: CPU time per read, the list of 1,000 jobs, and 50 viewers of one job.

The service is a process of its own, asked over connections that stay open, without TLS. Reads are those of a program
that follows jobs: a job, the list of 20 jobs, the targets; it names the version that it knows, and is answered 304.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import yaml

import hdbkit
from bench.common import quick_or, scratch, show, title
from hdbkit.paths import results_folder
from hdbkit.service.job_folder import JOBS, JobFolder, JobRequest, State

JOBS_LISTED = 1000
VIEWERS = 50
REPEATS = quick_or(5, 30)
ASKED = quick_or(100, 600)
WATCHED_S = quick_or(5, 15)


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

    def request(self, path: str, body: str = "", known: str = "") -> bytes:
        """A request as bytes; ``known``: the version that the client knows."""
        method = "POST" if body else "GET"
        head = f"{method} {path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {self.token}\r\n"
        head += f"if-none-match: {known}\r\n" if known else ""
        return f"{head}content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()

    def connection(self) -> socket.socket:
        """An open connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def ask(self, opened: socket.socket, path: str, body: str = "") -> bytes:
        """The content of an answer. Raises ``RuntimeError`` if it is an error."""
        return self.answer(opened, path, body)[1]

    def answer(self, opened: socket.socket, path: str, body: str = "", known: str = "") -> tuple[bytes, bytes]:
        """The head and the content of an answer. Raises ``RuntimeError`` if it is an error."""
        opened.sendall(self.request(path, body, known))
        found = received(opened)
        while b"\r\n\r\n" not in found:
            found += received(opened)
        head, _, content = found.partition(b"\r\n\r\n")
        if head[9:12] not in {b"200", b"202", b"304"}:
            raise RuntimeError(f"{path}: {head!r} {content!r}")
        if head[9:12] == b"304":
            return head, b""
        size = int(head.lower().partition(b"content-length: ")[2].split(b"\r")[0])
        while len(content) < size:
            content += received(opened)
        return head, content


@contextmanager
def service() -> Iterator[Service]:
    """A service whose workspace has a target, ``lab``, and 1,000 jobs."""
    folder = results_folder()
    null = hdbkit.Target(kind="nulldb", database=f"bench-{os.getpid()}", options={"latency_us": "2000"})
    hdbkit.connect(null).build(hdbkit.TprocCSpec())
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
    folder.note(JobRequest.model_validate({"job_id": folder.path.name, **asked, **process}))
    folder.end(State.DONE)


def cost_us(one: Service) -> float:
    """CPU time of the service per read of clients that name the version they have, in microseconds."""
    job = f"20261124T0245{JOBS_LISTED // 2:05}-run-abcdef"
    paths = (f"/api/jobs/{job}", "/api/jobs?limit=20", "/api/targets")
    with one.connection() as opened:
        heads = [one.answer(opened, path)[0] for path in paths]
        tags = [head.partition(b"etag: ")[2].split(b"\r")[0].decode() for head in heads]
        before = one.cpu_s()
        for number in range(ASKED):
            head, _ = one.answer(opened, paths[number % 3], known=tags[number % 3])
            if head[9:12] != b"304":
                raise RuntimeError(f"{paths[number % 3]}: {head!r}")
            time.sleep(1 / 40)  # below the limit of a token
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


def main() -> None:
    """Print the figures."""
    title(f"service: reads, the list of {JOBS_LISTED:,} jobs, {VIEWERS} viewers")
    with scratch(), service() as one:
        listed_ms(one)  # warm up
        show(f"the list of {JOBS_LISTED:,} jobs", listed_ms(one), unit="ms", at_most=100)
        repeats = quick_or(1, 3)
        polled = [cost_us(one) / 1e3 for _ in range(repeats)]
        show("10 programs that each ask once per second: CPU", polled, unit="% of a core", at_most=5)
        viewed = [watched_percent(one) for _ in range(repeats)]
        show(f"{VIEWERS} viewers of a job: CPU", viewed, unit="% of a core", at_most=5)


if __name__ == "__main__":
    main()
