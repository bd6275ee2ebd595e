"""The command that runs on a database's host, so that sweeps elsewhere can change its server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hdbkit import api
from hdbkit.cli import show
from hdbkit.cli.schema import AsJson, TargetArgument

if TYPE_CHECKING:
    from hdbkit.agent import Started

_EXAMPLE = "Example: hdbkit agent local --listen 0.0.0.0:8443 --token-file /etc/hdbkit/token"


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command(epilog=_EXAMPLE)(agent)


def agent(
    target: TargetArgument,
    listen: Annotated[str | None, typer.Option(help="address and port [default: 127.0.0.1:8443]")] = None,
    token_file: Annotated[Path | None, typer.Option(help="file with the token [default: a new one]")] = None,
    certificate: Annotated[Path | None, typer.Option(help="certificate (PEM) [default: a self-signed one]")] = None,
    key: Annotated[Path | None, typer.Option(help="the certificate's key (PEM)")] = None,
    client_ca: Annotated[
        Path | None, typer.Option(help="authorities (PEM) whose certificates clients must show, beside the token")
    ] = None,
    tls: Annotated[bool, typer.Option("--tls/--no-tls", help="without TLS: on this host only")] = True,
    state: Annotated[Path | None, typer.Option(help="folder for the certificate, snapshots and the log")] = None,
    audit_log: Annotated[Path | None, typer.Option(help="log of requests [default: in the state folder]")] = None,
    text_setting: Annotated[list[str] | None, typer.Option(help="text setting that may be changed")] = None,
    as_json: AsJson = False,
) -> None:
    """Run the agent on a database's host: it changes settings, restarts the server and reports the host's load.

    The agent runs only the commands of the target. The token comes from --token-file or HDBKIT_AGENT_TOKEN;
    without either, the agent generates one and prints it once. Enter the address and the fingerprint in the
    sweep's target under 'control'.
    """

    def say(started: Started) -> None:
        if as_json:
            facts = {name: str(v) if isinstance(v, Path) else v for name, v in vars(started).items() if v is not None}
            show.print_json(facts)
            show.console.file.flush()
            return
        lines = [f"the agent listens at {started.url}; its log is {started.audit_log}"]
        lines += [f"fingerprint: {started.fingerprint}"] if started.fingerprint else []
        lines += [f"token (shown only once): {started.token}"] if started.token else []
        lines += [f"warning: {started.server_down}"] if started.server_down else []
        for line in lines:
            show.console.print(line, markup=False, soft_wrap=True)

    api.serve_agent(
        target,
        say,
        listen=listen,
        token_file=token_file,
        certificate=certificate,
        key=key,
        client_ca=client_ca,
        tls=tls,
        state=state,
        audit_log=audit_log,
        text_setting=text_setting or (),
    )
