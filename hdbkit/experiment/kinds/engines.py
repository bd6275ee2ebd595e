"""Engines on the same data, on servers or in files of the process that executes the experiment."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import ClassVar, Literal

from hdbkit.config import Target
from hdbkit.contracts import Capability
from hdbkit.databases import database
from hdbkit.experiment.kind import Kind, Say
from hdbkit.experiment.own_servers import with_schemas
from hdbkit.experiment.sides import SidesPlan
from hdbkit.servers import private_server


class EnginesPlan(SidesPlan):
    """The plan of engines on the same data."""

    own_servers: ClassVar[bool] = True

    kind: Literal["engines"] = "engines"
    engines: tuple[str, str]

    @property
    def title(self) -> str:
        return f"the comparison of {' and '.join(self.engines)}"


class _Engines(Kind[EnginesPlan]):
    @contextmanager
    def servers(self, plan: EnginesPlan, say: Say) -> Iterator[EnginesPlan]:
        with ExitStack() as servers:
            yield with_schemas(plan, [_started(kind, servers) for kind in plan.engines], say)


def _started(kind: str, servers: ExitStack) -> Target:
    """A private server, or a file of an embedded engine."""
    if Capability.SERVER in database(Target(kind=kind, database="data")).capabilities:
        return servers.enter_context(private_server(kind)).target
    folder = servers.enter_context(tempfile.TemporaryDirectory(prefix="hdbkit-demo-"))
    return Target(kind=kind, database=str(Path(folder) / "data"))


KIND = _Engines(EnginesPlan)
