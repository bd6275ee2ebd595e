"""The agent on a database host."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hdbkit.config import Target
from hdbkit.workspace import BareWorkspace

if TYPE_CHECKING:
    from hdbkit.agent import AgentOptions, Started


class AgentVerbs(BareWorkspace):
    """Verbs of a database's host."""

    def serve_agent(
        self,
        target: Target | str,
        say: Callable[[Started], None],
        options: AgentOptions | None = None,
    ) -> None:
        """Let sweeps on other hosts control the server of ``target``, which is on this host, until SIGINT or SIGTERM.

        Args:
            target: the server as reached from its own host, with its permissions and commands.
            say: called once, when the agent listens, with the address, the certificate's fingerprint and a new token.
            options: address, certificate, token and what else it is started with; by default on loopback.

        Raises:
            InputError: the options are invalid, or the server's settings cannot be changed; the agent does not
                listen.

        Example:
            >>> hdbkit.serve_agent("local", print, AgentOptions(listen="0.0.0.0:8443"))  # doctest: +SKIP
        """
        from hdbkit.agent import AgentOptions, serve

        serve(self.target(target), options or AgentOptions(), say)
