"""The agent on a database host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hdbkit.config import Target
from hdbkit.workspace import BareWorkspace

if TYPE_CHECKING:
    from hdbkit.agent import Started


class AgentVerbs(BareWorkspace):
    """Verbs of a database's host."""

    def serve_agent(
        self,
        target: Target | str,
        say: Callable[[Started], None],
        *,
        listen: str | None = None,
        token_file: Path | None = None,
        certificate: Path | None = None,
        key: Path | None = None,
        client_ca: Path | None = None,
        tls: bool = True,
        state: Path | None = None,
        audit_log: Path | None = None,
        text_setting: Sequence[str] = (),
    ) -> None:
        """Let sweeps on other hosts control the server of ``target``, which is on this host, until SIGINT or SIGTERM.

        Args:
            target: the server as reached from its own host, with its permissions and commands.
            say: called once, when the agent listens, with the address, the certificate's fingerprint and a new token.
            listen: ``host:port``; addresses beyond loopback need TLS.
            token_file: a file with the token; by default ``HDBKIT_AGENT_TOKEN``, else a generated token.
            certificate: a certificate and its ``key`` (PEM); by default the agent creates its own and keeps it.
            key: the key of ``certificate``.
            client_ca: authorities (PEM); clients must then show a certificate of one of them, beside the token.
            tls: whether to use TLS.
            state: the folder for certificate, snapshots and log.
            audit_log: the log file; by default in ``state``.
            text_setting: text settings that the agent may change; their value may name a program or a file.

        Raises:
            InputError: the options are invalid, or the server's settings cannot be changed; the agent does not
                listen.

        Example:
            >>> hdbkit.serve_agent("local", print, listen="0.0.0.0:8443")  # doctest: +SKIP
        """
        from hdbkit.agent import AgentOptions, serve

        given = AgentOptions(
            token_file=token_file,
            certificate=certificate,
            key=key,
            client_ca=client_ca,
            tls=tls,
            state=state,
            audit_log=audit_log,
            text_settings=tuple(text_setting),
            **({"listen": listen} if listen else {}),
        )
        serve(self.target(target), given, say)
