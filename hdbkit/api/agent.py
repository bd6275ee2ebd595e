"""The agent on a database's host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hdbkit.config import Target
from hdbkit.workspace import DEFAULT, Workspace

if TYPE_CHECKING:
    from hdbkit.agent import Started


def serve_agent(
    target: Target | str,
    say: Callable[[Started], None],
    *,
    listen: str | None = None,
    token_file: Path | None = None,
    certificate: Path | None = None,
    key: Path | None = None,
    tls: bool = True,
    state: Path | None = None,
    audit_log: Path | None = None,
    text_setting: Sequence[str] = (),
    workspace: Workspace | None = None,
) -> None:
    """Serve the server of ``target``, on its own host, to sweeps elsewhere; until SIGINT or SIGTERM.

    Args:
        target: the server as seen from its own host, with what may be done to it and the commands that do it.
        say: called once, when it listens, with the address, the certificate's fingerprint and a token made just now.
        listen: ``host:port``; beyond loopback over TLS only.
        token_file: a file with the token; else it is in ``HDBKIT_AGENT_TOKEN``, or is made.
        certificate: a certificate and its ``key`` (PEM); else the agent makes its own and keeps it.
        state: folder for its certificate, snapshots and log.
        text_setting: settings that may be changed although they hold a text, which may name a program or a file.
        workspace: where the target's name is looked up; by default that of this process.

    Raises:
        InputError: it cannot listen so, or the server has no settings that can be changed; nothing listens.

    Example:
        >>> hdbkit.api.serve_agent("local", print, listen="0.0.0.0:8443")  # doctest: +SKIP
    """
    from hdbkit.agent import AgentOptions, serve

    given = AgentOptions(
        token_file=token_file,
        certificate=certificate,
        key=key,
        tls=tls,
        state=state,
        audit_log=audit_log,
        text_settings=tuple(text_setting),
        **({"listen": listen} if listen else {}),
    )
    serve((workspace or DEFAULT).target(target), given, say)
