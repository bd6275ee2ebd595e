"""A certificate of a server: every examination that hdbkit has, in one signed file.

A server of a vendor whose product hdbkit's authors cannot run is examined by who has one. The signature (Ed25519, RFC
8032) is by a key that follows from the account's: the file is verified anywhere, and files with one fingerprint are
of one account. No address, account name or password of the target is in it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import platform
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, model_validator

from hdbkit.api.connection import Connection, ConnectionVerbs, checks_frame
from hdbkit.api.diagnosis import DiagnosisVerbs
from hdbkit.api.engines import FAILED, EngineVerbs
from hdbkit.api.running import RunVerbs
from hdbkit.config import Target, WorkloadSpec
from hdbkit.config.specs import MODELS
from hdbkit.databases import database
from hdbkit.errors import BuildFailed, HalfBuilt, HdbkitError, InputError, NoAccess, SchemaProblem, TransactionError
from hdbkit.execution import host
from hdbkit.files import replace_file
from hdbkit.later import pandas as pd
from hdbkit.other_tools import file_content
from hdbkit.results.manifest import HostFacts, ServerFacts
from hdbkit.results.seal import require_key
from hdbkit.workloads import workload
from hdbkit.workloads.present import present_schema

_FAULT = "reset network at 3 s"
_PROBLEM = "problem"
_PRIVATE = ("name", "boot_id")


if TYPE_CHECKING:
    _Step = Callable[[], pd.DataFrame]


StepState = Literal["passed", "failed", "error"]


class Step(BaseModel):
    """One examination: ``passed``, ``failed``, or ``error`` if it could not be made; ``rows`` are what it found."""

    name: str
    state: StepState
    took_s: float
    error: str
    rows: list[dict[str, Any]]

    @model_validator(mode="after")
    def _states_what_it_found(self) -> Self:
        if self.state != _state(self.error, self.rows):
            raise ValueError(f"{self.name} is not {self.state}: its rows state otherwise")
        return self


def _state(error: str, rows: list[dict[str, Any]]) -> StepState:
    """What an error or rows state; a row that is neither passed nor undecided, or no row at all, is a failure."""
    if error:
        return "error"
    good = [one.get("passed", False) in (True, None) and one.get("state") not in (_PROBLEM, *FAILED) for one in rows]
    return "passed" if good and all(good) else "failed"


class Examined(BaseModel):
    """What a certificate states."""

    kind: Literal["hdbkit certificate 1"] = "hdbkit certificate 1"
    made: datetime
    software: dict[str, str]
    server: ServerFacts
    notice: str
    host: HostFacts
    steps: list[Step]


@dataclass(frozen=True)
class Certificate:
    """A certificate that was made or verified."""

    path: Path
    content: Examined
    fingerprint: str
    """The SHA-256 of the public key that signed it."""

    @property
    def passed(self) -> bool:
        """Whether there are steps, and all have passed."""
        return all(step.state == "passed" for step in self.content.steps) and bool(self.content.steps)


def verify_certificate(file: Path | str) -> Certificate:
    """Verify the signature of a certificate, on any host.

    Raises:
        InputError: the file is no certificate, was changed after it was signed, or marks a step as other than its
            rows.

    Example:
        >>> hdbkit.verify_certificate("certificate.json").fingerprint  # doctest: +SKIP
    """
    keys, invalid = _keys()
    path = Path(file)
    try:
        sealed = json.loads(file_content(path))
        content, public = sealed["content"], bytes.fromhex(sealed["public_key"])
        keys.Ed25519PublicKey.from_public_bytes(public).verify(bytes.fromhex(sealed["signature"]), _bytes(content))
        examined = Examined.model_validate(content)
        examined.model_dump_json()  # half a pair of surrogates, or what is nested too deep, cannot be shown
    except invalid:
        raise InputError(f"{path} was changed after it was signed; its content counts for nothing") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{path} is not a certificate of hdbkit") from None
    return Certificate(path, examined, hashlib.sha256(public).hexdigest())


class CertifyVerbs(ConnectionVerbs, DiagnosisVerbs, EngineVerbs, RunVerbs):
    """The verb that certifies a server."""

    def certify(
        self,
        target: Target | str,
        file: Path | str = "certificate.json",
        *,
        progress: Callable[[str], None] = lambda _: None,
    ) -> Certificate:
        """Examine a server in every way, and write a signed file of what was found, to attach to an issue.

        Doctor; the rules of engines; of each built-in workload at its smallest scale the build with its checks, the
        answers where it has a reference, a run, and its removal; a run of the default workload with a fault of the
        network. A step that fails does not end the others. It takes a few minutes.

        Args:
            target: a target whose database is empty; its account must be allowed to create tables.
            file: where the certificate is written; there must be none.
            progress: called with the name of each step.

        Raises:
            InputError: there is a file, the server cannot be reached, or a schema of one of the workloads is there;
                nothing was changed.

        Example:
            >>> hdbkit.certify("lab").passed  # doctest: +SKIP
        """
        at, path = self.target(target), Path(file)
        if path.exists():
            raise InputError(f"{path} exists; give another file")
        _keys()
        engine = database(at)
        with closing(engine.connect(at)) as session:
            server = engine.version(session)
        for spec in _specs():
            _require_none(at, spec)
        examined = Examined(
            made=datetime.now(UTC).replace(microsecond=0),
            software={
                "hdbkit": version("hdbkit"),
                "python": platform.python_version(),
                "driver": engine.driver_version(),
            },
            server=ServerFacts(kind=at.kind, title=engine.title, version=server),
            notice=engine.publishing,
            host=HostFacts(**{name: one for name, one in host.this_host_facts().items() if name not in _PRIVATE}),
            steps=[_performed(at, name, work, progress) for name, work in self._steps(at)],
        )
        _write_signed(path, examined)
        return verify_certificate(path)

    def _steps(self, at: Target) -> Iterator[tuple[str, _Step]]:
        """Each step by its name; it returns rows with a column ``passed``."""
        yield "doctor", lambda: self.doctor(at).assign(passed=lambda rows: rows["state"] != _PROBLEM)
        yield "rules", lambda: self.check_engine(at).assign(passed=lambda rows: ~rows["state"].isin(FAILED))
        connection, there = self.connect(at), set[str]()
        for spec in _specs():
            yield f"{spec.kind}: build", partial(_built, connection, spec, there)
            if spec.kind not in there:
                continue  # nothing was changed, and nothing may be removed
            yield f"{spec.kind}: answers", partial(_answered, connection, spec)
            yield f"{spec.kind}: run", partial(self._ran, at, spec)
            if spec.is_default:
                yield f"{spec.kind}: run, {_FAULT}", partial(self._ran, at, spec, fault=_FAULT)
            yield f"{spec.kind}: drop", partial(_dropped, connection, spec)

    def _ran(self, at: Target, spec: WorkloadSpec, **load: Any) -> pd.DataFrame:
        """The result of a run in the first row, and its checks."""
        given = {"duration_s": 10, "rampup_s": 2, **load}
        known = MODELS[spec.kind].load
        found = self.run(at, spec, known(**{name: one for name, one in given.items() if name in known.model_fields}))
        value = "unknown" if found.metric_value is None else found.metric.text(found.metric_value)
        first = {"name": found.metric.name, "passed": found.metric_value is not None, "detail": value}
        return pd.concat([pd.DataFrame([first]), found.checks], ignore_index=True)


def _specs() -> list[WorkloadSpec]:
    """Each built-in workload at its smallest scale."""
    models = [one.spec for one in MODELS.values() if not one.in_folder]
    return [one.model_validate({one.scale_field: _smallest(one)}) for one in models]


def _smallest(model: type[WorkloadSpec]) -> float:
    limits = model.model_fields[model.scale_field].metadata
    return next(float(one.ge) for one in limits if hasattr(one, "ge"))


def _require_none(at: Target, spec: WorkloadSpec) -> None:
    """Raise ``InputError`` if a schema of the workload, or a part of one, is there: it would be removed."""
    try:
        present_schema(at, spec.identity)
    except (HalfBuilt, NoAccess):
        pass
    except SchemaProblem:
        return
    raise InputError(f"{at.url} has a schema of {spec.kind}; give a target whose database is empty")


def _performed(at: Target, name: str, work: _Step, progress: Callable[[str], None]) -> Step:
    progress(name)
    started, error, rows = time.monotonic(), "", pd.DataFrame()
    try:
        rows = work()
    except (HdbkitError, TransactionError) as failure:
        error = _without_address(str(failure), at)
    took_s = round(time.monotonic() - started, 1)
    found = _without_address(json.loads(rows.to_json(orient="records", force_ascii=False)), at)
    return Step(name=name, state=_state(error, found), took_s=took_s, error=error, rows=found)


def _without_address(found: Any, at: Target) -> Any:
    """Texts, or rows of them, without where the target is, and as whom it is reached."""
    if isinstance(found, dict):
        return {name: _without_address(one, at) for name, one in found.items()}
    if isinstance(found, list):
        return [_without_address(one, at) for one in found]
    if not isinstance(found, str):
        return found
    names = sorted(_private(at), key=len, reverse=True)
    return re.sub(rf"(?<!\w)({'|'.join(map(re.escape, names))})(?!\w)", "TARGET", found, flags=re.IGNORECASE)


@cache
def _private(at: Target) -> set[str]:
    """What names the target, its other hosts, their addresses, its account and this host."""
    others = [*at.fallbacks, *(one.partition("/")[0] for one in at.replicas), *at.nodes]
    hosts = {one for one in (at.host, *others, *(each.rpartition(":")[0] for each in others)) if one}
    addresses = set[str]()
    for one in hosts:
        with suppress(OSError, UnicodeError):
            addresses |= {str(found[4][0]) for found in socket.getaddrinfo(one, None)}
    named = at.url, at.given, f"{at.user}@{at.host}:{at.port}", f"{at.host}:{at.port}", at.user, at.secret()
    return {one for one in (*hosts, *addresses, *named, socket.gethostname()) if one}


def _built(connection: Connection, spec: WorkloadSpec, there: set[str]) -> pd.DataFrame:
    try:
        found = connection.build(spec)
    except BuildFailed:
        there.add(spec.kind)
        raise
    there.add(spec.kind)
    return checks_frame(found.checks)


def _answered(connection: Connection, spec: WorkloadSpec) -> pd.DataFrame:
    return connection.check(spec, answers=bool(workload(spec).answers(spec.seed)))


def _dropped(connection: Connection, spec: WorkloadSpec) -> pd.DataFrame:
    return pd.DataFrame([{"name": one, "passed": True} for one in connection.drop(spec).dropped])


def _write_signed(path: Path, examined: Examined) -> None:
    keys, _ = _keys()
    key = keys.Ed25519PrivateKey.from_private_bytes(hmac.digest(require_key(), b"hdbkit certificate", "sha256"))
    content, public = examined.model_dump(mode="json"), key.public_key().public_bytes_raw()
    signed = {"content": content, "public_key": public.hex(), "signature": key.sign(_bytes(content)).hex()}
    replace_file(path, json.dumps(signed, indent=1).encode())


def _keys() -> tuple[Any, type[Exception]]:
    """Ed25519, and the error of a signature that does not fit."""
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise InputError("a certificate needs the package cryptography; run: pip install 'hdbkit[agent]'") from None
    return ed25519, InvalidSignature


def _bytes(content: dict[str, Any]) -> bytes:
    """What is signed."""
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
