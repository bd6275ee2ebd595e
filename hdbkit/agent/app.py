"""The agent's verbs over HTTP. An error of ours is answered with 409 and its sentence, a wrong request with 422.

Questions are answered beside a running order; orders wait for each other.
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

from hdbkit.agent.guard import SETTINGS
from hdbkit.agent.host_metrics import metrics
from hdbkit.agent.server import ControlledServer
from hdbkit.errors import HdbkitError
from hdbkit.execution import host

Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Value = Annotated[str, StringConstraints(max_length=4000)]
_MOST = 200


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Changes(_Request):
    """Settings and the value that each is to have."""

    changes: dict[Name, Value] = Field(min_length=1, max_length=_MOST)


class Candidates(_Request):
    """Settings and the values that are to be tried of each."""

    changes: dict[Name, Annotated[list[Value], Field(max_length=10_000)]] = Field(max_length=_MOST)


class Kept(_Request):
    """The name of a snapshot, as the agent gave it."""

    snapshot: str = Field(pattern="^[0-9a-f]{64}$")


class _Answer(JSONResponse):
    """JSON in ASCII: whatever stands in a text can be sent."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content).encode()


def make_app(server: ControlledServer) -> FastAPI:
    """The application; it asks for no token itself."""
    app = FastAPI(
        title="hdbkit agent",
        version=metadata.version("hdbkit"),
        docs_url=None,
        redoc_url=None,
        default_response_class=_Answer,
    )
    app.add_exception_handler(HdbkitError, _refused)
    app.add_exception_handler(RequestValidationError, _misunderstood)
    _add_questions(app, server)
    _add_settings(app, server)
    _add_orders(app, server)
    return app


def _add_questions(app: FastAPI, server: ControlledServer) -> None:
    @app.get("/ping")
    async def ping() -> dict[str, str]:
        """Whether the agent is there."""
        return {"agent": "hdbkit", "version": app.version}

    @app.get("/info")
    def info() -> dict[str, Any]:
        """What it is for, what it can do, and its host."""
        return server.info()

    @app.get("/load")
    async def load() -> dict[str, Any]:
        """The load averages of the host, and the totals that tell how busy it is."""
        return {"load": list(os.getloadavg()), "totals": asdict(host.load())}

    @app.get("/metrics")
    async def host_metrics() -> dict[str, Any]:
        """Running totals of the host: name, device, value."""
        return {"metrics": metrics()}


def _add_settings(app: FastAPI, server: ControlledServer) -> None:
    @app.get("/settings")
    def settings() -> dict[str, Any]:
        """Every setting of the server: value, unit, default, range, what it takes to change it."""
        return {"settings": [asdict(one) for one in server.settings().values()]}

    @app.post("/problems")
    def problems(asked: Candidates) -> dict[str, Any]:
        """What the server or the agent would refuse; changes nothing."""
        return {"problems": server.problems(asked.changes)}

    @app.post("/snapshot")
    def snapshot() -> dict[str, Any]:
        """Keep what the server is set to, for ``restore``; one that has ended is started for it, where it may be."""
        return {"snapshot": server.snapshot(), "said": server.said()}

    @app.post("/apply")
    def apply(asked: Changes, request: Request) -> dict[str, Any]:
        """Set, reload or restart as needed, verify; undone when it fails."""
        setattr(request.state, SETTINGS, list(asked.changes))
        return asdict(server.apply(asked.changes))

    @app.post("/restore")
    def restore(asked: Kept) -> dict[str, float]:
        """Bring back what a snapshot saw, also of a server that does not start."""
        return {"took_s": server.restore(asked.snapshot)}


def _add_orders(app: FastAPI, server: ControlledServer) -> None:
    def order(path: str, does: Any, about: str) -> None:
        def run() -> dict[str, float]:
            return {"took_s": does()}

        app.post(path, name=path.strip("/"), description=about)(run)

    order("/start", lambda: server.power("start"), "Start the server.")
    order("/stop", lambda: server.power("stop"), "Stop the server.")
    order("/restart", lambda: server.power("restart"), "Restart the server as it is.")
    order("/maintain", server.maintain, "Old row versions removed, a checkpoint, the rest of the clients' work.")
    order("/data/keep", lambda: server.data("keep"), "Keep the present data.")
    order("/data/restore", lambda: server.data("restore"), "Bring the kept data back.")
    order("/data/drop", lambda: server.data("drop"), "Remove the kept copy.")


async def _refused(_: Request, error: Exception) -> _Answer:
    return _Answer({"error": str(error)}, 409)


async def _misunderstood(_: Request, error: Exception) -> _Answer:
    """Where the request is wrong, and how; nothing of it is repeated."""
    assert isinstance(error, RequestValidationError)
    found = [f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}" for one in error.errors()]
    return _Answer({"error": "; ".join(found[:10])}, 422)
