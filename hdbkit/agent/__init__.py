"""The agent: ``hdbkit agent`` runs it on a database host, so that sweeps on other hosts can change its server.

The rules that must not break:

* The agent runs only the commands of the target that it was started with, as lists of words and without a shell.
* It changes only settings in the server's own list. Text settings must also be named at the start, since their value
  may name a program or a file.
* It neither receives nor sends the content of a file.
* It answers no request without the token, and beyond loopback it uses TLS only.
* It writes one log line per request.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from hdbkit.agent.server import ControlledServer, Snapshots
from hdbkit.config import Target
from hdbkit.config.control_spec import AGENT_PORT
from hdbkit.config.passwords import TOKEN_VARIABLE, of_variable, read_secret
from hdbkit.errors import InputError
from hdbkit.servers import control
from hdbkit.web.endpoint import EndpointOptions, listening, require_web
from hdbkit.web.guard import Guard, Token, bearer_token, new_token

__all__ = ["AgentOptions", "Started", "serve"]


_ADVICE = "a token is needed: Authorization: Bearer TOKEN, as the agent printed it when it started"
_RESERVED = 64
"""Connections beyond those without a valid token yet, for valid tokens."""


class AgentOptions(EndpointOptions):
    """Options of an agent."""

    listen: str = Field(default=f"127.0.0.1:{AGENT_PORT}", description="address and port; port 0: any free port")
    token_file: Path | None = Field(
        default=None, description="file with the token and nothing else; none: HDBKIT_AGENT_TOKEN, else a new token"
    )
    text_setting: tuple[str, ...] = Field(
        default=(), description="text setting that may be changed; its value may name a program or a file"
    )


@dataclass(frozen=True)
class StartedAgent:
    """What a client needs: the address, the fingerprint (None without TLS), and a newly generated token.

    ``server_down`` states why the server does not answer; None if it does.
    """

    url: str
    fingerprint: str | None
    token: str | None
    audit_log: Path
    server_down: str | None = None


def serve(target: Target, options: AgentOptions, say: Callable[[StartedAgent], None]) -> None:
    """Listen until SIGINT or SIGTERM; ``say`` is called once, when the agent listens.

    Raises:
        InputError: the options are invalid or the address is not available; the agent does not listen.
    """
    require_web("the agent", "agent")
    from hdbkit.agent.app import SETTINGS, make_agent_app

    if target.control.agent:
        raise InputError(f"{target.given} is itself controlled through an agent; give a target of the server itself")
    token, made = _token(options.token_file)
    with listening(options, "agent") as endpoint:
        snapshots = Snapshots(endpoint.state / "snapshots")
        server = ControlledServer(target, control(target), snapshots, options.text_setting)
        guard = Guard(
            make_agent_app(server),
            lambda scope: "agent" if token.is_right(bearer_token(scope)) else None,
            endpoint.audit,
            endpoint.gate,
            advice=_ADVICE,
            logged=(SETTINGS,),
        )
        say(StartedAgent(endpoint.url, endpoint.fingerprint, made, endpoint.audit.path, server.connect_error))
        endpoint.serve(guard, _RESERVED)


def _token(file: Path | None) -> tuple[Token, str | None]:
    """The token, and its text if it was generated here."""
    given = read_secret(file) if file else of_variable(TOKEN_VARIABLE)
    os.environ.pop(TOKEN_VARIABLE, None)
    if given is not None:
        return Token(given), None
    made = new_token()
    return Token(made), made
