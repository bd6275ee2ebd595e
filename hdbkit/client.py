"""A typed client of the service. Its requests and answers are the service's own models.

    client = Client("https://loadhost:8448", certificate="certificate.pem")
    job = client.wait(client.start(RunRequest(target="lab", load=Load(virtual_users=8))).job_id)
    print(client.get_result(job.job_id))

It needs no database, driver or workspace, and no library that the service needs.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from hdbkit.api.documents import Document, ExperimentDocument, ResultDocument, RunDocument
from hdbkit.errors import HdbkitError, InputError
from hdbkit.service.job_folder import Job, State
from hdbkit.service.models import ErrorAnswer, ExperimentList, JobList, ProblemAnswer, TargetList
from hdbkit.service.requests import Request

Answer = TypeVar("Answer", bound=BaseModel)
_RESULT: TypeAdapter[RunDocument | ResultDocument | Document] = TypeAdapter(
    Annotated[RunDocument | ResultDocument | Document, Field(union_mode="left_to_right")]
)


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
        >>> job = client.start(RunRequest(target="lab", load=Load(virtual_users=8)))  # doctest: +SKIP
        >>> client.wait(job.job_id).state.value  # doctest: +SKIP
        'done'
    """

    def __init__(
        self, url: str, token: str | None = None, *, certificate: Path | str | None = None, timeout_s: float = 60.0
    ) -> None:
        self._service = Connection(url, token, certificate, timeout_s)

    def start(self, request: Request) -> Job:
        """Start the job that a request of ``hdbkit.service.requests`` asks for."""
        content = request.model_dump(mode="json", exclude_unset=True)
        return Job.model_validate(self._service.json("POST", f"/api/jobs/{request.verb}", content))

    def wait(self, job_id: str) -> Job:
        """Wait until a job has ended."""
        for _ in self.get_live(job_id):
            pass
        return self.get_job(job_id)

    def list_jobs(
        self, search: str = "", *, state: State | None = None, verb: str = "", limit: int = 100, offset: int = 0
    ) -> JobList:
        """List the jobs that contain all words of ``search``, newest first."""
        wanted = {"search": search, "state": state or "", "verb": verb, "limit": limit, "offset": offset}
        query = urlencode({name: value for name, value in wanted.items() if value != ""})
        return self._get(JobList, f"jobs?{query}")

    def get_job(self, job_id: str) -> Job:
        """A job as it is now."""
        return self._get(Job, f"jobs/{_part(job_id)}")

    def stop_job(self, job_id: str) -> Job:
        """Stop a job as Ctrl-C does: a run keeps its result, a sweep restores the settings."""
        return Job.model_validate(self._service.json("POST", f"/api/jobs/{_part(job_id)}/stop", {}))

    def get_result(self, job_id: str) -> RunDocument | ResultDocument | Document:
        """What the verb returned: a run or the result of an experiment as a value, else a document."""
        return _RESULT.validate_python(self._service.json("GET", f"/api/jobs/{_part(job_id)}/result"))

    def get_live(self, job_id: str) -> Iterator[Document]:
        """The state and figures of a job, once per second until it has ended."""
        for line in self._service.lines(f"/api/jobs/{_part(job_id)}/live"):
            if line.startswith("data: {"):  # a list has seconds before
                yield json.loads(line.removeprefix("data: "))

    def get_chart(self, run_id: str, key: str, *, svg: bool = False) -> Document | str:
        """One chart of a run: question, words, figure and CSV, or an image; `hdbkit chart RUN` lists the keys."""
        path = f"/api/runs/{_part(run_id)}/charts/{_part(key)}"
        if svg:
            return "\n".join(self._service.lines(f"{path}?svg=true"))
        found: Document = self._service.json("GET", path)
        return found

    def get_metrics(self) -> str:
        """The figures of the running runs as OpenMetrics."""
        return "\n".join(self._service.lines("/api/metrics"))

    def list_experiments(self, limit: int = 50, offset: int = 0) -> ExperimentList:
        """List the experiments, newest first, whoever started them."""
        return self._get(ExperimentList, f"experiments?{urlencode({'limit': limit, 'offset': offset})}")

    def get_experiment(self, experiment_id: str) -> ExperimentDocument:
        """An experiment as it is now."""
        return self._get(ExperimentDocument, f"experiments/{_part(experiment_id)}")

    def stop_experiment(self, experiment_id: str) -> ExperimentDocument:
        """Stop an experiment as Ctrl-C does: the server is restored, and ``resume`` continues it."""
        found = self._service.json("POST", f"/api/experiments/{_part(experiment_id)}/stop", {})
        return ExperimentDocument.model_validate(found)

    def list_targets(self) -> TargetList:
        """The targets of the workspace."""
        return self._get(TargetList, "targets")

    def _get(self, model: type[Answer], path: str) -> Answer:
        return model.model_validate(self._service.json("GET", f"/api/{path}"))


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
        answer = ErrorAnswer.model_validate_json(text)
        return RequestFailed(status, answer.error, answer.problems)
    except ValidationError:
        return RequestFailed(status, f"status {status}: {text[:_MAX_REASON].decode(errors='replace')}")
