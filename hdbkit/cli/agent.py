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
    token_file: Annotated[Path | None, typer.Option(help="file with the token [default: a new one is told]")] = None,
    certificate: Annotated[Path | None, typer.Option(help="certificate (PEM) [default: one of its own]")] = None,
    key: Annotated[Path | None, typer.Option(help="the certificate's key (PEM)")] = None,
    tls: Annotated[bool, typer.Option("--tls/--no-tls", help="without TLS it listens on this host alone")] = True,
    state: Annotated[Path | None, typer.Option(help="folder for certificate, snapshots and log")] = None,
    audit_log: Annotated[Path | None, typer.Option(help="a line a request [default: in the state folder]")] = None,
    text_setting: Annotated[list[str] | None, typer.Option(help="a setting of text that may be changed")] = None,
    as_json: AsJson = False,
) -> None:
    """Run on a database's host: change its settings, restart it and tell its load, for sweeps that run elsewhere.

    Only the commands of the target are ever run. The token comes from --token-file or HDBKIT_AGENT_TOKEN, else it
    is made and told once. Give the sweep's target the address and the fingerprint under 'control'.
    """

    def say(started: Started) -> None:
        if as_json:
            facts = {name: str(v) if isinstance(v, Path) else v for name, v in vars(started).items() if v is not None}
            show.print_json(facts)
            show.console.file.flush()
            return
        lines = [f"the agent listens at {started.url}; its log is {started.audit_log}"]
        lines += [f"fingerprint: {started.fingerprint}"] if started.fingerprint else []
        lines += [f"token, told only now: {started.token}"] if started.token else []
        for line in lines:
            show.console.print(line, markup=False, soft_wrap=True)

    api.serve_agent(
        target,
        say,
        listen=listen,
        token_file=token_file,
        certificate=certificate,
        key=key,
        tls=tls,
        state=state,
        audit_log=audit_log,
        text_setting=text_setting or (),
    )
