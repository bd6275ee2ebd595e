"""A demo that compares two engines on the same data: a file ``params/demo-<name>.yaml``."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from hdbkit.config.load import Load
from hdbkit.config.model import ConfigModel
from hdbkit.config.specs import AnyLoad, AnyWorkload


class EngineDemo(ConfigModel):
    """Two engines, and what both of them execute."""

    noun: ClassVar[str] = "the demo"

    engines: tuple[str, str] = Field(description="kinds of databases, the base first; one without a server is a file")
    blocks: int = Field(default=3, ge=2, le=100, description="runs of each engine, in turn")
    workload: AnyWorkload = Field(description="workload and schema")
    load: AnyLoad = Field(default_factory=lambda: Load(virtual_users=1), description="load of each run")
