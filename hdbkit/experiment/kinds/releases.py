"""Commits of a server in turn."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from hdbkit.config.model import ConfigModel
from hdbkit.experiment.kind import Kind
from hdbkit.experiment.sides import SidesPlan
from hdbkit.servers.source_builds import short


class Commit(ConfigModel):
    """A commit of a server: as it was named, and its digits."""

    ref: str
    commit: str

    def __str__(self) -> str:
        digits = short(self.commit)
        return digits if self.ref.startswith(digits) else f"{self.ref} ({digits})"


class ReleasesPlan(SidesPlan):
    """The plan of commits of a server, each built from source and started by the process that executes it."""

    own_servers: ClassVar[bool] = True
    builds_programs: ClassVar[bool] = True

    kind: Literal["releases"] = "releases"
    checkout: Path
    database: str
    commits: tuple[Commit, ...]
    configure: tuple[str, ...] = ()
    settings: dict[str, str] = Field(default_factory=dict)
    smallest_effect: float

    @property
    def title(self) -> str:
        return f"the comparison of {' and '.join(map(str, self.commits))}"


KIND = Kind(ReleasesPlan)
