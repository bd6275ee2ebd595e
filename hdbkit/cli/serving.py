"""Commands that serve until they are stopped, the service and the agent, and the tokens of the service."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from hdbkit import agent as host_agent
from hdbkit import api
from hdbkit.cli import show
from hdbkit.cli.exits import stopped_like_ctrl_c
from hdbkit.cli.options import AsJson, TargetArgument, add_group, model_options
from hdbkit.service import ServiceOptions, StartedService, serve_verbs
from hdbkit.service.tokens import DEFAULT_DAYS, Role, Tokens
from hdbkit.web.endpoint import make_state_folder

_State = Annotated[Path | None, typer.Option(help="folder for tokens, the certificate and the log")]
_AGENT_EXAMPLE = "Example: hdbkit agent local --listen 0.0.0.0:8443 --token-file /etc/hdbkit/token"
_SERVE = """Serve the verbs of hdbkit as jobs by HTTP.

Jobs continue when the service ends, and are listed when it is back.

Requests name targets of the targets file; passwords come from the environment of the service. The first start
prints a token once; make others with: hdbkit token add.
"""
_APP = """Serve the panels of the notebooks to browsers, without code, beside everything that serve offers.

Several people can work at once, each in the workspace of the service or in one of their own. Panels need a token
with the role settings.
"""


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for name, text, panels in (("serve", _SERVE, False), ("app", _APP, True)):
        example = f"Example: hdbkit {name}; hdbkit {name} --listen 0.0.0.0:8448 --certificate cert.pem --key key.pem"
        app.command(name, help=text, epilog=example)(_serving(panels=panels))
    app.command(epilog=_AGENT_EXAMPLE)(agent)
    add_group(
        app,
        "token",
        "Tokens of the service.",
        examples={"add": "nightly --role run --days 30", "remove": "nightly"},
        add=token_add,
        list=token_list,
        remove=token_remove,
    )


def _serving(*, panels: bool) -> Callable[..., None]:
    """The command that serves, with the panels or without."""

    @model_options(ServiceOptions, "panels")
    def command(given: dict[str, Any], as_json: AsJson = False) -> None:
        def say(started: StartedService) -> None:
            line = f"the service listens at {started.url}; results: {started.results}; log: {started.audit_log}"
            _show_started(started, line, [], as_json)

        with stopped_like_ctrl_c():  # so that the panels end with the service
            serve_verbs(ServiceOptions(**given, panels=panels), api.DEFAULT, say, show.notes.print)

    return command


@model_options(host_agent.AgentOptions)
def agent(target: TargetArgument, given: dict[str, Any], as_json: AsJson = False) -> None:
    """Run the agent on a database's host: it changes settings, restarts the server and reports the host's load.

    The agent runs only the commands of the target. The token comes from --token-file or HDBKIT_AGENT_TOKEN;
    without either, the agent generates one and prints it once. Enter the address and the fingerprint in the
    sweep's target under 'control'.
    """

    def say(started: host_agent.StartedAgent) -> None:
        more = [f"warning: {started.server_down}"] if started.server_down else []
        _show_started(started, f"the agent listens at {started.url}; its log is {started.audit_log}", more, as_json)

    api.serve_agent(target, say, host_agent.AgentOptions(**given))


def _show_started(started: Any, line: str, more: list[str], as_json: bool) -> None:
    """Print where a server listens, as one line and what its clients need, or as JSON."""
    if as_json:
        facts = {name: str(v) if isinstance(v, Path) else v for name, v in vars(started).items() if v is not None}
        show.print_json(facts)
        show.console.file.flush()
        return
    needed = {"fingerprint": started.fingerprint, "token (shown only once)": started.token}
    for text in (line, *(f"{name}: {value}" for name, value in needed.items() if value), *more):
        show.console.print(text, markup=False, soft_wrap=True)


def token_add(
    name: Annotated[str, typer.Argument(help="who or what uses it, one word")],
    role: Annotated[
        Role, typer.Option(help="read: lists and results; run: also runs; settings: also changes of servers")
    ] = Role.READ,
    days: Annotated[float, typer.Option(help="days until it expires")] = DEFAULT_DAYS,
    state: _State = None,
    as_json: AsJson = False,
) -> None:
    """Make a token and print it, once; only its hash is kept."""
    token = _tokens(state).add(name, role, days)
    show.answer(as_json, {"name": name, "role": role.value, "token": token}, token)


def token_list(state: _State = None, as_json: AsJson = False) -> None:
    """List the tokens: name, role, expiry."""
    rows = [
        {"name": one.name, "role": one.role.value, "expires": f"{one.expires:%Y-%m-%d %H:%M} UTC"}
        for one in _tokens(state).listed()
    ]
    show.answer(as_json, rows, *(f"{row['name']}  {row['role']}  until {row['expires']}" for row in rows))


def token_remove(
    name: Annotated[str, typer.Argument(help="the token's name")], state: _State = None, as_json: AsJson = False
) -> None:
    """Remove a token; it is invalid at once."""
    _tokens(state).remove(name)
    show.answer(as_json, {"removed": name}, f"removed {name}")


def _tokens(state: Path | None) -> Tokens:
    return Tokens(make_state_folder(state, "service"))
