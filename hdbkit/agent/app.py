"""The agent's HTTP API. An hdbkit error is returned with status 409 and its message, an invalid request with 422.

Requests that only read run at any time; requests that change the server run one at a time.

The metrics of the host are those of :mod:`hdbkit.execution.host_counters`, without the loopback interface.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from importlib import metadata
from typing import Annotated, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from hdbkit.agent.server import ControlledServer
from hdbkit.errors import HdbkitError, NoneFree, ServerDown, innermost_reason, is_caused_by
from hdbkit.execution import host
from hdbkit.execution.host_counters import LOOPBACK_INTERFACE, HostReader
from hdbkit.servers.agent_client import AGENT_CAUSE, AGENT_SERVER_DOWN, NONE_FREE
from hdbkit.servers.trial import MAX_TRIED

_Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
_Value = Annotated[str, StringConstraints(max_length=4000)]
_MAX_SETTINGS = 200
SETTINGS = "settings"
"""The key in a request's state with the names of the settings that it changes, for the log."""
_SNAPSHOT = "^[0-9a-f]{64}$"


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Changes(_Request):
    """Settings and their new values."""

    changes: dict[_Name, _Value] = Field(min_length=1, max_length=_MAX_SETTINGS)


class Candidates(_Request):
    """Settings and the values to try for each."""

    changes: dict[_Name, Annotated[list[_Value], Field(max_length=10_000)]] = Field(max_length=_MAX_SETTINGS)


class Configurations(_Request):
    """Configurations to try: settings and their values."""

    configurations: list[Annotated[dict[_Name, _Value], Field(max_length=_MAX_SETTINGS)]] = Field(
        max_length=MAX_TRIED
    )


class Kept(_Request):
    """The name of a snapshot, as the agent returned it."""

    snapshot: str = Field(pattern=_SNAPSHOT)


class Changed(_Request):
    """The settings that will be changed after a snapshot; None: any."""

    changed: list[_Name] | None = Field(default=None, max_length=_MAX_SETTINGS)


class Start(_Request):
    """The name of the snapshot to restore if the server does not start; None: restore nothing."""

    snapshot: str | None = Field(default=None, pattern=_SNAPSHOT)


class _Answer(JSONResponse):
    """A JSON response in ASCII, which can carry any text."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content).encode()


def make_agent_app(server: ControlledServer) -> FastAPI:
    """Create the application; ``Guard`` verifies the token before it."""
    app = FastAPI(
        title="hdbkit agent",
        version=metadata.version("hdbkit"),
        docs_url=None,
        redoc_url=None,
        default_response_class=_Answer,
    )
    app.add_exception_handler(HdbkitError, _failed)
    app.add_exception_handler(RequestValidationError, _invalid)
    _add_questions(app, server)
    _add_settings(app, server)
    _add_orders(app, server)
    return app


def _add_questions(app: FastAPI, server: ControlledServer) -> None:
    reader = HostReader()

    @app.get("/ping")
    async def ping() -> dict[str, str]:
        """Report that the agent is running, with its version."""
        return {"agent": "hdbkit", "version": app.version}

    @app.get("/info")
    def info() -> dict[str, Any]:
        """The controlled server, what the agent may do to it, and the host."""
        return server.info()

    @app.get("/load")
    async def load() -> dict[str, Any]:
        """The load averages of the host, and totals of CPU time and memory."""
        return {"load": list(os.getloadavg()), "totals": asdict(host.load())}

    @app.get("/metrics")
    async def host_metrics() -> dict[str, Any]:
        """Running totals and gauges of the host: name, device, value; of each core where the value is a list."""
        return {"metrics": [one for one in reader.read() if one[1] != LOOPBACK_INTERFACE]}


def _add_settings(app: FastAPI, server: ControlledServer) -> None:
    @app.get("/settings")
    def settings() -> dict[str, Any]:
        """Every setting of the server: value, unit, default, range, and how a change is applied."""
        return {"settings": [asdict(one) for one in server.settings().values()]}

    @app.post("/problems")
    def problems(asked: Candidates) -> dict[str, Any]:
        """The values that the server or the agent would reject; changes nothing."""
        return {"problems": server.problems(asked.changes)}

    @app.post("/refused")
    def refused(asked: Configurations) -> dict[str, Any]:
        """The configurations with which the server would not start, by its own program; starts nothing."""
        return {"refused": server.refused(asked.configurations)}

    @app.post("/snapshot")
    def snapshot(asked: Changed | None = None) -> dict[str, Any]:
        """Keep the server's settings for ``restore``; starts a stopped server if permitted."""
        changed = asked.changed if asked else None
        return {"snapshot": server.snapshot(changed), "messages": server.messages()}

    @app.post("/apply")
    def apply(asked: Changes, request: Request) -> dict[str, Any]:
        """Set the values, reload or restart as needed, and verify; undo the change if it fails."""
        setattr(request.state, SETTINGS, list(asked.changes))
        return asdict(server.apply(asked.changes))

    @app.post("/restore")
    def restore(asked: Kept) -> dict[str, float]:
        """Restore a snapshot, even if the server does not start."""
        return {"took_s": server.restore(asked.snapshot)}


def _add_orders(app: FastAPI, server: ControlledServer) -> None:
    def order(path: str, does: Any, about: str) -> None:
        def run() -> dict[str, Any]:
            return {"took_s": does(), "messages": server.messages()}

        app.post(path, name=path.strip("/"), description=about)(run)

    @app.post("/start")
    def start(asked: Start) -> dict[str, Any]:
        """Start a stopped server; if it does not start, restore the snapshot that the request names, if any."""
        return {"took_s": server.start(asked.snapshot), "messages": server.messages()}

    order("/stop", lambda: server.power("stop"), "Stop the server.")
    order("/restart", lambda: server.power("restart"), "Restart the server with its present settings.")
    order("/maintain", server.maintain, "Remove old row versions, run a checkpoint, wait for background work.")
    order("/data/keep", lambda: server.data("keep"), "Keep a copy of the present data.")
    order("/data/restore", lambda: server.data("restore"), "Restore the kept data.")
    order("/data/drop", lambda: server.data("drop"), "Remove the kept copy.")


async def _failed(_: Request, error: Exception) -> _Answer:
    kinds = {AGENT_SERVER_DOWN: isinstance(error, ServerDown), NONE_FREE: is_caused_by(error, NoneFree)}
    known = {name: True for name, holds in kinds.items() if holds}
    return _Answer({"error": str(error), AGENT_CAUSE: innermost_reason(error), **known}, 409)


async def _invalid(_: Request, error: Exception) -> _Answer:
    """Report which fields are invalid and why, without repeating their content."""
    assert isinstance(error, RequestValidationError)
    found = [f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}" for one in error.errors()]
    return _Answer({"error": "; ".join(found[:10])}, 422)
