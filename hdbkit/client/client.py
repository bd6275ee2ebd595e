"""The client: each verb of the service starts a job; ``wait`` and ``result`` give what it returned."""

from __future__ import annotations

import http.client
import json
import os
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Unpack, cast
from urllib.parse import quote, urlencode, urlsplit

from hdbkit.client import models
from hdbkit.client.models import ProblemAnswer
from hdbkit.errors import HdbkitError, InputError


class Client:
    """A service, as its token permits. Every method raises ``RequestFailed``.

    Args:
        url: the service's address, such as ``https://loadhost:8448``.
        token: the token; by default that of the environment variable ``HDBKIT_SERVICE_TOKEN``.
        certificate: a file (PEM) with the service's own certificate or its authority's; by default the system's
            authorities are trusted.
        timeout_s: the time to wait for an answer, in seconds.

    Example:
        >>> client = Client("https://loadhost:8448", certificate="certificate.pem")  # doctest: +SKIP
        >>> job = client.run(target="lab", load={"virtual_users": 8})  # doctest: +SKIP
        >>> client.wait(job["job_id"])["state"]  # doctest: +SKIP
        'done'
    """

    def __init__(
        self, url: str, token: str | None = None, *, certificate: Path | str | None = None, timeout_s: float = 60.0
    ) -> None:
        self._service = Connection(url, token, certificate, timeout_s)

    def list_jobs(
        self,
        search: str = "",
        *,
        state: models.State | None = None,
        verb: str = "",
        limit: int = 100,
        offset: int = 0,
    ) -> models.JobList:
        """List the jobs that contain all words of ``search``, newest first."""
        wanted = {"search": search, "state": state or "", "verb": verb, "limit": limit, "offset": offset}
        query = urlencode({name: value for name, value in wanted.items() if value != ""})
        return cast(models.JobList, self._service.json("GET", f"/api/jobs?{query}"))

    def get_job(self, job_id: str) -> models.Job:
        """A job as it is now."""
        return cast(models.Job, self._service.json("GET", f"/api/jobs/{_part(job_id)}"))

    def stop_job(self, job_id: str) -> models.Job:
        """Stop a job as Ctrl-C does: a run keeps its result, a sweep restores the settings."""
        return cast(models.Job, self._service.json("POST", f"/api/jobs/{_part(job_id)}/stop", {}))

    def get_result(self, job_id: str) -> dict[str, Any]:
        """The document that the verb returned, as ``--json`` of the command line."""
        return cast(dict[str, Any], self._service.json("GET", f"/api/jobs/{_part(job_id)}/result"))

    def get_chart(self, run_id: str, key: str, *, svg: bool = False) -> dict[str, Any] | str:
        """One chart of a run: question, words, figure and CSV, or an image; `hdbkit chart RUN` lists the keys."""
        path = f"/api/runs/{_part(run_id)}/charts/{_part(key)}"
        if svg:
            return "\n".join(self._service.lines(f"{path}?svg=true"))
        return cast(dict[str, Any], self._service.json("GET", path))

    def get_metrics(self) -> str:
        """The figures of the running runs as OpenMetrics."""
        return "\n".join(self._service.lines("/api/metrics"))

    def get_live(self, job_id: str) -> Iterator[dict[str, Any]]:
        """The state and figures of a job, once per second until it has ended."""
        for line in self._service.lines(f"/api/jobs/{_part(job_id)}/live"):
            if line.startswith("data: {"):  # a list has seconds before
                yield json.loads(line.removeprefix("data: "))

    def wait(self, job_id: str) -> models.Job:
        """Wait until a job has ended."""
        for _ in self.get_live(job_id):
            pass
        return self.get_job(job_id)

    def list_experiments(self, limit: int = 50, offset: int = 0) -> models.ExperimentList:
        """List the experiments, newest first, whoever started them."""
        query = urlencode({"limit": limit, "offset": offset})
        return cast(models.ExperimentList, self._service.json("GET", f"/api/experiments?{query}"))

    def get_experiment(self, experiment_id: str) -> models.ExperimentDocument:
        """An experiment as it is now."""
        found = self._service.json("GET", f"/api/experiments/{_part(experiment_id)}")
        return cast(models.ExperimentDocument, found)

    def stop_experiment(self, experiment_id: str) -> models.ExperimentDocument:
        """Stop an experiment as Ctrl-C does: the server is restored, and ``resume`` continues it."""
        found = self._service.json("POST", f"/api/experiments/{_part(experiment_id)}/stop", {})
        return cast(models.ExperimentDocument, found)

    def list_targets(self) -> models.TargetList:
        """The targets of the workspace."""
        return cast(models.TargetList, self._service.json("GET", "/api/targets"))

    def run(self, **request: Unpack[models.RunRequest]) -> models.Job:
        """Run a workload against its schema."""
        return self._start("run", request)

    def watch(self, **request: Unpack[models.WatchRequest]) -> models.Job:
        """Measure a server under the load of another program."""
        return self._start("watch", request)

    def build(self, **request: Unpack[models.BuildRequest]) -> models.Job:
        """Build a workload's schema and its data, and check the result."""
        return self._start("build", request)

    def check(self, **request: Unpack[models.CheckRequest]) -> models.Job:
        """Check a schema: row counts, indexes, routines and consistency conditions."""
        return self._start("check", request)

    def drop(self, **request: Unpack[models.SchemaRequest]) -> models.Job:
        """Drop a workload's tables and routines, and nothing else."""
        return self._start("drop", request)

    def doctor(self, **request: Unpack[models.SchemaRequest]) -> models.Job:
        """Examine a target before it is measured."""
        return self._start("doctor", request)

    def sweep(self, **request: Unpack[models.SweepRequest]) -> models.Job:
        """Measure combinations of settings in randomized blocks and compare each with the baseline."""
        return self._start("sweep", request)

    def plan(self, **request: Unpack[models.SweepRequest]) -> models.Job:
        """Plan every run of a sweep, and which effect the sweep would find."""
        return self._start("plan", request)

    def find_max(self, **request: Unpack[models.FindMaxRequest]) -> models.Job:
        """Find the highest rate of an open loop that keeps a limit on the response time."""
        return self._start("find-max", request)

    def profile(self, **request: Unpack[models.ProfileRequest]) -> models.Job:
        """Repeat the runs of a profile: one per block at each user count."""
        return self._start("profile", request)

    def compare(self, **request: Unpack[models.CompareRequest]) -> models.Job:
        """Compare stored runs: the ratio of their results with its 95 % confidence interval."""
        return self._start("compare", request)

    def measure_in_turn(self, **request: Unpack[models.MeasureInTurnRequest]) -> models.Job:
        """Measure two targets in turn, in one session, and compare them."""
        return self._start("measure-in-turn", request)

    def resume(self, **request: Unpack[models.ResumeRequest]) -> models.Job:
        """Continue an experiment that was stopped, failed or was killed, or give it more blocks."""
        return self._start("resume", request)

    def report(self, **request: Unpack[models.NamedRequest]) -> models.Job:
        """Write the one-page report of a run or an experiment."""
        return self._start("report", request)

    def history(self, **request: Unpack[models.HistoryRequest]) -> models.Job:
        """Show when the results of a profile changed."""
        return self._start("history", request)

    def profiles(self, **request: Unpack[models.EmptyRequest]) -> models.Job:
        """List the profiles with their runs, user counts and first run."""
        return self._start("profiles", request)

    def runs(self, **request: Unpack[models.RunsRequest]) -> models.Job:
        """List the runs, newest first."""
        return self._start("runs", request)

    def engines(self, **request: Unpack[models.EmptyRequest]) -> models.Job:
        """List what hdbkit can do with each engine."""
        return self._start("engines", request)

    def demo(self, **request: Unpack[models.DemoRequest]) -> models.Job:
        """Start a private server, build a schema, sweep settings, and write the report."""
        return self._start("demo", request)

    def _start(self, verb: str, request: object) -> models.Job:
        return cast(models.Job, self._service.json("POST", f"/api/jobs/{verb}", request))


def _part(text: str) -> str:
    """A part of a path, whatever it contains."""
    return quote(text, safe="")


TOKEN_VARIABLE = "HDBKIT_SERVICE_TOKEN"  # noqa: S105  the variable's name
_MAX_REASON = 300


class RequestFailed(HdbkitError):
    """The service did not accept a request, or cannot be reached (``status`` 0).

    ``problems`` has each key of the request that is invalid.
    """

    def __init__(self, status: int, reason: str, problems: list[ProblemAnswer] | None = None) -> None:
        super().__init__(status, reason, problems)
        self.status, self.reason, self.problems = status, reason, problems or []

    def __str__(self) -> str:
        return self.reason


class Connection:
    """Sends requests to a service. Its arguments are those of :class:`Client`."""

    def __init__(self, url: str, token: str | None, certificate: Path | str | None, timeout_s: float) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.path.strip("/"):
            raise InputError("the service's address must be such as https://loadhost:8448, without account and path")
        self._token = token or os.environ.get(TOKEN_VARIABLE, "")
        if not self._token:
            raise InputError(f"no token is given; set {TOKEN_VARIABLE}")
        self._url, self._host, self._port = url, parts.hostname, parts.port
        self._timeout_s = timeout_s
        self._tls = _tls(certificate) if parts.scheme == "https" else None

    def json(self, method: str, path: str, content: object = None) -> Any:
        """The answer's document. Raises ``RequestFailed``."""
        connection, answer = self._answer(method, path, content)
        try:
            return json.loads(answer.read())
        except (OSError, ValueError, http.client.HTTPException):
            raise RequestFailed(0, f"{self._url} did not send its whole answer") from None
        finally:
            connection.close()

    def lines(self, path: str) -> Iterator[str]:
        """The lines of an answer as they arrive. Raises ``RequestFailed``."""
        connection, answer = self._answer("GET", path, None)
        try:
            for line in answer:
                yield line.decode().rstrip("\r\n")
        except (OSError, http.client.HTTPException) as error:
            raise RequestFailed(0, f"the connection to {self._url} was lost: {error or 'no data'}") from None
        finally:
            connection.close()

    def _answer(
        self, method: str, path: str, content: object
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        connection = self._connection()
        head = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        try:
            connection.request(method, path, None if content is None else json.dumps(content), head)
            answer = connection.getresponse()
            if answer.status < 300:
                return connection, answer
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            reason = getattr(error, "verify_message", "") or str(error) or type(error).__name__
            raise RequestFailed(0, f"{self._url} cannot be reached: {reason}") from None
        connection.close()
        raise _failure(answer.status, text)

    def _connection(self) -> http.client.HTTPConnection:
        if self._tls:
            return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout_s, context=self._tls)
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout_s)


def _tls(certificate: Path | str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=certificate and str(certificate))
    except OSError as error:  # an SSLError is an OSError
        raise InputError(f"{certificate} has no certificates (PEM): {error.strerror or error}") from None


def _failure(status: int, text: bytes) -> RequestFailed:
    try:
        answer = json.loads(text)
        return RequestFailed(status, str(answer["error"]), answer.get("problems"))
    except (ValueError, KeyError, TypeError):
        return RequestFailed(status, f"status {status}: {text[:_MAX_REASON].decode(errors='replace')}")
