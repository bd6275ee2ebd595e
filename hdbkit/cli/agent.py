"""The command that runs on a database's host, so that sweeps elsewhere can change its server."""

from __future__ import annotations

from typing import Any

import typer

from hdbkit import api
from hdbkit.agent import AgentOptions, Started
from hdbkit.cli.options import model_options
from hdbkit.cli.schema import AsJson, TargetArgument
from hdbkit.cli.serving import show_started

_EXAMPLE = "Example: hdbkit agent local --listen 0.0.0.0:8443 --token-file /etc/hdbkit/token"


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command(epilog=_EXAMPLE)(agent)


@model_options(AgentOptions)
def agent(target: TargetArgument, given: dict[str, Any], as_json: AsJson = False) -> None:
    """Run the agent on a database's host: it changes settings, restarts the server and reports the host's load.

    The agent runs only the commands of the target. The token comes from --token-file or HDBKIT_AGENT_TOKEN;
    without either, the agent generates one and prints it once. Enter the address and the fingerprint in the
    sweep's target under 'control'.
    """

    def say(started: Started) -> None:
        more = [f"warning: {started.server_down}"] if started.server_down else []
        show_started(started, f"the agent listens at {started.url}; its log is {started.audit_log}", more, as_json)

    api.serve_agent(target, say, AgentOptions(**given))
