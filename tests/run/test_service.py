"""A service that is killed and restarted: its jobs continue, and are listed, stopped and watched as before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from hdbkit.api.documents import RunDocument
from hdbkit.client import Client
from hdbkit.config import Target
from hdbkit.results.manifest import Status
from tests.run.conftest import NullTarget
from tests.run.faults import until

_PROGRAM = """
import json, sys
from hdbkit.service import ServiceOptions, serve_verbs
from hdbkit.api import Workspace
options = ServiceOptions(listen="127.0.0.1:0", tls=False, state=sys.argv[1])
say = lambda one: print(json.dumps({"url": one.url, "token": one.token}), flush=True)
serve_verbs(options, Workspace(), say)
"""


@dataclass
class Service:
    """A service in a process of its own, which is started again where it was."""

    folder: Path
    targets: dict[str, Target]
    token: str = ""
    process: subprocess.Popen[str] | None = None
    port: int = 0

    def start(self) -> None:
        named = {name: one.model_dump(mode="json", exclude_defaults=True) for name, one in self.targets.items()}
        (self.folder / "targets.yaml").write_text(yaml.safe_dump(named))
        places = {"HDBKIT_RESULTS": "results", "HDBKIT_TARGETS": "targets.yaml"}
        environment = os.environ | {name: str(self.folder / one) for name, one in places.items()}
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(self.folder / "state")],
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        assert self.process.stdout is not None
        told = json.loads(self.process.stdout.readline())
        self.token, self.port = told["token"] or self.token, int(told["url"].rpartition(":")[2])

    def kill(self) -> None:
        """As ``kill -9``."""
        assert self.process is not None
        assert self.process.stdout is not None
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def ask(self, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        head = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        try:
            connection.request("GET" if body is None else "POST", f"/api/{path}", json.dumps(body or {}), head)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def job(self, job_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.ask(f"jobs/{job_id}")[1]
        return found

    def await_state(self, job_id: str, state: str) -> dict[str, Any]:
        until(lambda: self.job(job_id)["state"] != "running", f"job {job_id} has ended")
        found = self.job(job_id)
        assert found["state"] == state, found
        return found


@pytest.fixture
def service(null_target: NullTarget, tmp_path: Path) -> Iterator[Service]:
    made = Service(tmp_path, {"lab": null_target(latency_us=2000), "other": null_target(latency_us=2000)})
    made.start()
    yield made
    made.kill()


def pid_of(service: Service, job_id: str) -> int:
    """The process of a job."""
    return int(json.loads((service.folder / "results" / "jobs" / job_id / "job.json").read_text())["pid"])


def run_of(target: str, duration_s: float) -> dict[str, Any]:
    return {"target": target, "load": {"rate": 50, "rampup_s": 0.2, "duration_s": duration_s}}


def test_a_job_continues_while_its_service_is_killed_and_is_stopped_by_the_next_one_with_its_result(
    service: Service,
) -> None:
    status, job = service.ask("jobs/run", run_of("lab", 600))
    assert status == 202
    job_id = job["job_id"]
    until(lambda: service.job(job_id)["run_id"], "the job has a run")
    processes = service.process, psutil.Process(pid_of(service, job_id))
    assert [psutil.Process(one.pid).nice() for one in processes if one] == [
        10 + os.nice(0),
        os.nice(0),
    ]  # requests give way to runs
    status, busy = service.ask("jobs/run", run_of("lab", 1))
    assert status == 409
    assert busy["error"].startswith(f"the target 'lab' is in use by job {job_id} (run)")
    service.kill()
    service.start()
    (listed,) = service.ask("jobs?state=running")[1]["jobs"]
    assert listed["job_id"] == job_id
    assert service.ask("jobs/run", run_of("lab", 1))[0] == 409
    manifest = service.folder / "results" / listed["run_id"] / "manifest.json"
    until(lambda: json.loads(manifest.read_text())["status"] == "measuring", "the run measures")
    assert service.ask(f"jobs/{job_id}/stop", {})[0] == 202
    ended = service.await_state(job_id, "stopped")
    result = Client(f"http://127.0.0.1:{service.port}", service.token).get_result(job_id)
    assert isinstance(result, RunDocument)
    assert (result.run_id, result.status) == (ended["run_id"], Status.STOPPED)
