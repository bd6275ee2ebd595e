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
import re
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, TypeVar
from urllib.parse import quote, urlencode

from pydantic import Field, TypeAdapter, ValidationError

from hdbkit.api.documents import Document, ExperimentDocument, FindingDocument, RunDocument
from hdbkit.errors import HdbkitError, InputError
from hdbkit.service.job_folder import Job, State
from hdbkit.service.models import ErrorAnswer, ExperimentList, JobList, ProblemAnswer, TargetList
from hdbkit.service.requests import Request
from hdbkit.text import without_controls

_Value = TypeVar("_Value")
_RESULT: TypeAdapter[RunDocument | FindingDocument | Document] = TypeAdapter(
    Annotated[RunDocument | FindingDocument | Document, Field(union_mode="left_to_right")]
)
_DOCUMENT: TypeAdapter[Document] = TypeAdapter(Document)
_JOB, _EXPERIMENT = TypeAdapter(Job), TypeAdapter(ExperimentDocument)
_JOBS, _EXPERIMENTS, _TARGETS = TypeAdapter(JobList), TypeAdapter(ExperimentList), TypeAdapter(TargetList)


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
        self._service = _Connection(url, token, certificate, timeout_s)

    def start(self, request: Request) -> Job:
        """Start the job that a request of ``hdbkit.service.requests`` asks for."""
        content = request.model_dump(mode="json", exclude_unset=True)
        return self._service.value(_JOB, "POST", f"jobs/{request.verb}", content)

    def wait(self, job_id: str) -> Job:
        """Wait until a job has ended."""
        while (job := self.get_job(job_id)).state is State.RUNNING:
            for _ in self.get_live(job_id):
                pass
        return job

    def list_jobs(
        self, search: str = "", *, state: State | None = None, verb: str = "", limit: int = 100, offset: int = 0
    ) -> JobList:
        """List the jobs that contain all words of ``search``, newest first."""
        wanted = {"search": search, "state": state or "", "verb": verb, "limit": limit, "offset": offset}
        query = urlencode({name: value for name, value in wanted.items() if value != ""})
        return self._service.value(_JOBS, "GET", f"jobs?{query}")

    def get_job(self, job_id: str) -> Job:
        """A job as it is now."""
        return self._service.value(_JOB, "GET", f"jobs/{_part(job_id)}")

    def stop_job(self, job_id: str) -> Job:
        """Stop a job as Ctrl-C does: a run keeps its result, a sweep restores the settings."""
        return self._service.value(_JOB, "POST", f"jobs/{_part(job_id)}/stop", {})

    def get_result(self, job_id: str) -> RunDocument | FindingDocument | Document:
        """What the verb returned: a run or the result of an experiment as a value, else a document."""
        return self._service.value(_RESULT, "GET", f"jobs/{_part(job_id)}/result")

    def get_live(self, job_id: str) -> Iterator[Document]:
        """The state and figures of a job, once per second until it has ended."""
        for line in self._service.lines(f"jobs/{_part(job_id)}/live"):
            if line.startswith(b"data: {"):  # a list has seconds before
                yield self._service.read(_DOCUMENT, line.removeprefix(b"data: "))

    def get_chart(self, run_id: str, key: str, *, svg: bool = False) -> Document | str:
        """One chart of a run: question, words, figure and CSV, or an image; `hdbkit chart RUN` lists the keys."""
        path = f"runs/{_part(run_id)}/charts/{_part(key)}"
        return self._service.text(f"{path}?svg=true") if svg else self._service.value(_DOCUMENT, "GET", path)

    def get_metrics(self) -> str:
        """The figures of the running runs as OpenMetrics."""
        return self._service.text("metrics")

    def list_experiments(self, limit: int = 50, offset: int = 0) -> ExperimentList:
        """List the experiments, newest first, whoever started them."""
        query = urlencode({"limit": limit, "offset": offset})
        return self._service.value(_EXPERIMENTS, "GET", f"experiments?{query}")

    def get_experiment(self, experiment_id: str) -> ExperimentDocument:
        """An experiment as it is now."""
        return self._service.value(_EXPERIMENT, "GET", f"experiments/{_part(experiment_id)}")

    def stop_experiment(self, experiment_id: str) -> ExperimentDocument:
        """Stop an experiment as Ctrl-C does: the server is restored, and ``resume`` continues it."""
        return self._service.value(_EXPERIMENT, "POST", f"experiments/{_part(experiment_id)}/stop", {})

    def list_targets(self) -> TargetList:
        """The targets of the workspace."""
        return self._service.value(_TARGETS, "GET", "targets")


def _part(text: str) -> str:
    """A part of a path, whatever it contains."""
    return quote(text, safe="")


_TOKEN_VARIABLE = "HDBKIT_SERVICE_TOKEN"  # noqa: S105  the variable's name
_MAX_REASON = 300
_MAX_PORT = 0xFFFF
_ADDRESS = re.compile(r"(?P<scheme>https?)://(?P<host>\[[\da-fA-F:.]+\]|[\w.-]+)(:(?P<port>\d{1,5}))?/?", re.ASCII)
_MAX_BYTES = 256 << 20
"""The maximum length of an answer, and of a line of an answer that goes on."""


class RequestFailed(HdbkitError):
    """The service did not accept a request, or cannot be reached (``status`` 0).

    ``problems`` has each key of the request that is invalid.
    """

    def __init__(self, status: int, reason: str, problems: list[ProblemAnswer] | None = None) -> None:
        super().__init__(status, reason, problems)
        self.status, self.reason, self.problems = status, without_controls(reason), problems or []

    def __str__(self) -> str:
        return self.reason


class _Connection:
    """Sends requests to a service. Its arguments are those of :class:`Client`."""

    def __init__(self, url: str, token: str | None, certificate: Path | str | None, timeout_s: float) -> None:
        if not (found := _ADDRESS.fullmatch(url)) or int(found["port"] or 0) > _MAX_PORT:
            raise InputError("the service's address must be such as https://loadhost:8448, without account and path")
        self._host, self._port = found["host"].strip("[]"), int(found["port"]) if found["port"] else None
        self._token = token or os.environ.get(_TOKEN_VARIABLE, "")
        if not self._token:
            raise InputError(f"no token is given; set {_TOKEN_VARIABLE}")
        if not re.fullmatch("[!-~]+", self._token):
            raise InputError("the token has a character that no token has; copy it again")
        self._url, self._timeout_s = url, timeout_s
        self._tls = _tls(certificate) if found["scheme"] == "https" else None

    def value(self, kind: TypeAdapter[_Value], method: str, path: str, content: object = None) -> _Value:
        """The value that is the answer. Raises ``RequestFailed``."""
        return self.read(kind, self._whole(method, path, content))

    def text(self, path: str) -> str:
        """The text that is the answer. Raises ``RequestFailed``."""
        return self._whole("GET", path).decode(errors="replace")

    def read(self, kind: TypeAdapter[_Value], sent: bytes) -> _Value:
        """The value that was sent. Raises ``RequestFailed``."""
        try:
            return kind.validate_json(sent)
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, wrong["loc"])) or "it"
            reason = f"{self._url} sent an answer that this version cannot read: {where}: {wrong['msg']}"
            raise RequestFailed(0, reason) from None

    def lines(self, path: str) -> Iterator[bytes]:
        """The lines of an answer as they arrive. Raises ``RequestFailed``."""
        with self._answer("GET", path, None) as answer:
            while line := answer.readline(_MAX_BYTES):
                yield line.rstrip(b"\r\n")

    def _whole(self, method: str, path: str, content: object = None) -> bytes:
        with self._answer(method, path, content) as answer:
            found = answer.read(_MAX_BYTES + 1)
            if len(found) > _MAX_BYTES:
                raise RequestFailed(0, f"{self._url} sent more than {_MAX_BYTES >> 20} MiB, the maximum of an answer")
            if answer.length:
                raise http.client.IncompleteRead(found, answer.length)
            return found

    @contextmanager
    def _answer(self, method: str, path: str, content: object) -> Iterator[http.client.HTTPResponse]:
        """A successful answer, on a connection that is closed afterwards."""
        head = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        body, doing = None if content is None else json.dumps(content), "cannot be reached"
        try:
            with closing(self._connection()) as connection:
                connection.request(method, f"/api/{path}", body, head)
                answer = connection.getresponse()
                doing = "did not send its whole answer"
                if not 200 <= answer.status < 300:
                    raise _failure(answer.status, answer.read(_MAX_BYTES))
                yield answer
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "verify_message", "") or str(error) or type(error).__name__
            raise RequestFailed(0, f"{self._url} {doing}: {reason}") from None

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
