"""A workspace with all verbs, and the workspace that the names of :mod:`hdbkit` mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hdbkit.api.batch import BatchVerbs
from hdbkit.api.certify import CertifyVerbs
from hdbkit.api.diagnosis import DiagnosisVerbs
from hdbkit.api.engines import EngineVerbs
from hdbkit.api.experiments import ExperimentVerbs
from hdbkit.api.importing import ImportVerbs
from hdbkit.api.planning import PlanningVerbs
from hdbkit.api.site import SiteVerbs
from hdbkit.config import Target
from hdbkit.workspace import default_workspace

if TYPE_CHECKING:
    from hdbkit.agent import AgentOptions, StartedAgent


class Workspace(
    CertifyVerbs, ExperimentVerbs, SiteVerbs, BatchVerbs, PlanningVerbs, DiagnosisVerbs, EngineVerbs, ImportVerbs
):
    """Where runs are kept and named targets are looked up, with every verb that works there.

    Args:
        results: the folder of all results; by default ``$HDBKIT_RESULTS``, else ``results`` of the checkout, else
            ``./results``.
        targets: the file with named targets; by default ``$HDBKIT_TARGETS``, else ``params/targets.yaml``.

    Example:
        >>> lab = hdbkit.Workspace(results="/data/lab", targets="/data/lab/targets.yaml")  # doctest: +SKIP
        >>> lab.run("db1").metric_value  # doctest: +SKIP
    """

    def serve_agent(
        self, target: Target | str, say: Callable[[StartedAgent], None], options: AgentOptions | None = None
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


DEFAULT = default_workspace(Workspace)
"""The workspace of this process with all verbs; ``hdbkit.run`` is ``DEFAULT.run``."""
