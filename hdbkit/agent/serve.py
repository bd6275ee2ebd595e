"""Starts an agent: checks everything before it listens, and reports once what a client needs to connect."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hdbkit.agent.audit import AuditLog
from hdbkit.agent.certificate import (
    Certificate,
    check_authorities,
    given_certificate,
    make_state_folder,
    own_certificate,
)
from hdbkit.agent.gate import MAX_UNVERIFIED, Gate
from hdbkit.agent.guard import Guard
from hdbkit.agent.server import ControlledServer
from hdbkit.agent.snapshots import Snapshots
from hdbkit.agent.tokens import Token, new_token
from hdbkit.config import Target
from hdbkit.config.control_spec import AGENT_PORT
from hdbkit.config.hosts import is_loopback
from hdbkit.config.passwords import TOKEN_VARIABLE, read_secret
from hdbkit.errors import InputError, MissingDriver
from hdbkit.servers import control

_BACKLOG = 64
_RESERVED = 64
"""Connections beyond those without a valid token yet, for valid tokens."""
_GRACE_S = 10


@dataclass(frozen=True)
class AgentOptions:
    """Options of an agent: ``listen`` is ``host:port`` (port 0: any free port); a token file contains only the token.

    Without ``certificate`` and ``key`` the agent creates its own in the folder ``state``, which also contains its
    snapshots and, by default, its log. ``text_settings`` names the text settings that it may change. With
    ``client_ca`` clients must also show a certificate of one of these authorities.
    """

    listen: str = f"127.0.0.1:{AGENT_PORT}"
    token_file: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    client_ca: Path | None = None
    tls: bool = True
    state: Path | None = None
    audit_log: Path | None = None
    text_settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Started:
    """What a client needs: the address, the fingerprint (None without TLS), and a newly generated token.

    ``server_down`` states why the server does not answer; None if it does.
    """

    url: str
    fingerprint: str | None
    token: str | None
    audit_log: Path
    server_down: str | None = None


def serve(target: Target, options: AgentOptions, say: Callable[[Started], None]) -> None:
    """Listen until SIGINT or SIGTERM; ``say`` is called once, when the agent listens.

    Raises:
        InputError: the options are invalid or the address is not available; the agent does not listen.
    """
    uvicorn, make_app = _web()
    if target.control.agent:
        raise InputError(f"{target.given} is itself controlled through an agent; give a target of the server itself")
    host, port = _address(options.listen)
    if not (options.tls or is_loopback(host)):
        raise InputError(f"an agent that listens beyond this host ({host}) needs TLS; omit --no-tls")
    if options.client_ca:
        check_authorities(options.client_ca, options.tls)
    token, made = _token(options.token_file)
    state = make_state_folder(options.state)
    certificate = _certificate(options, state, host)
    audit = AuditLog(options.audit_log or state / "audit.ndjson")
    server = ControlledServer(target, control(target), Snapshots(state / "snapshots"), options.text_settings)
    listening = _listening(host, port)
    tls: dict[str, Any] = {}
    if certificate:
        tls = {"ssl_certfile": str(certificate.file), "ssl_keyfile": str(certificate.key)}
    if options.client_ca:
        tls |= {"ssl_ca_certs": str(options.client_ca), "ssl_cert_reqs": ssl.CERT_REQUIRED}
    config = uvicorn.Config(
        Guard(make_app(server), token, audit, listening),
        loop="asyncio",  # its connections pass the gate
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # what a request states about its client would be believed
        ws="none",
        limit_concurrency=MAX_UNVERIFIED + _RESERVED,
        timeout_graceful_shutdown=_GRACE_S,
        **tls,
    )
    name = f"[{host}]" if ":" in host else host
    url = f"{'https' if certificate else 'http'}://{name}:{listening.getsockname()[1]}"
    try:
        say(Started(url, certificate.fingerprint if certificate else None, made, audit.path, server.connect_error))
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        listening.close()
        audit.close()


def _web() -> tuple[Any, Callable[[ControlledServer], Any]]:
    """The packages of the extra ``agent``. Raises ``MissingDriver``."""
    try:
        import cryptography  # noqa: F401  needed to create a certificate
        import uvicorn

        from hdbkit.agent.app import make_app
    except ImportError as error:
        raise MissingDriver("the agent", error.name or "uvicorn", "agent") from None
    return uvicorn, make_app


def _address(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise InputError(f"--listen must be an address and a port such as 127.0.0.1:{AGENT_PORT}, not '{listen}'")
    return host, int(port)


def _token(file: Path | None) -> tuple[Token, str | None]:
    """The token, and its text if it was generated here."""
    given = read_secret(file) if file else os.environ.pop(TOKEN_VARIABLE, None)
    if given is not None:
        return Token(given), None
    made = new_token()
    return Token(made), made


def _certificate(options: AgentOptions, state: Path, host: str) -> Certificate | None:
    if not options.tls:
        return None
    if (options.certificate is None) != (options.key is None):
        raise InputError("give --certificate and --key both, or neither")
    if options.certificate and options.key:
        return given_certificate(options.certificate, options.key)
    return own_certificate(state, host)


def _listening(host: str, port: int) -> Gate:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return Gate(socket.create_server((address[0], port), family=family, backlog=_BACKLOG))
    except OSError as error:
        raise InputError(f"the agent cannot listen on {host}:{port}: {error.strerror or error}") from None
