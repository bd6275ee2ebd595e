"""Engines on the same data."""

from __future__ import annotations

from typing import ClassVar, Literal

from hdbkit.experiment.kind import Kind
from hdbkit.experiment.sides import SidesPlan


class EnginesPlan(SidesPlan):
    """The plan of engines on the same data, on servers or in files of the process that executes it."""

    own_servers: ClassVar[bool] = True

    kind: Literal["engines"] = "engines"
    engines: tuple[str, str]

    @property
    def title(self) -> str:
        return f"the comparison of {' and '.join(self.engines)}"


KIND = Kind(EnginesPlan)
